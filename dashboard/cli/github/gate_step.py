"""The step that judges: it imports the files of a job, picks the runs and applies the gates."""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ragtriage.dashboard.cli.github.commands import commands_stopped
from ragtriage.dashboard.cli.main import main
from ragtriage.dashboard.cli.results.ci_files import junit_xml, markdown_summary
from ragtriage.dashboard.cli.results.gate import report_text
from ragtriage.dashboard.cli.terminal import error_text
from ragtriage.data import api
from ragtriage.data.errors import DataError
from ragtriage.data.gates.conclusion import failing_states
from ragtriage.data.store.stored_file import write_file
from ragtriage.data.store.workspace import Run

MOST_CASES = 10  # annotations of one level that a runner shows for a step
MOST_NAMES = 30  # names of runs in an error
FIRST = {
    "run": "candidate",
    "baseline": "baseline",
}  # what a file's only run is called, by the input for its name
RESULT, SUMMARY, JUNIT = "result.json", "gate.md", "gate.xml"


@dataclass(frozen=True)
class Inputs:
    """The inputs of the action, by the variables INPUT_NAME of the environment."""

    file: str
    run: str
    baseline_file: str
    baseline: str
    project: str
    gates: str
    fail_on: str
    strict: bool
    version: str  # commit of the job

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Inputs:
        """Read them."""

        def text(name: str) -> str:
            return environment.get(f"INPUT_{name}", "")

        return cls(
            file=text("FILE"),
            run=text("RUN"),
            baseline_file=text("BASELINE_FILE"),
            baseline=text("BASELINE"),
            project=text("PROJECT"),
            gates=text("GATES"),
            fail_on=text("FAIL_ON"),
            strict=text("STRICT").strip().lower() == "true",
            version=environment.get("GITHUB_SHA", ""),
        )


@dataclass
class GateResult:
    """What the step found, as the file result.json has it for the step that reports."""

    code: int = 2
    verdict: str = ""  # PASS, FAIL, INCONCLUSIVE or UNMEASURED; "" where nothing could be judged
    conclusion: str = ""  # ship, do_not_ship, cannot_tell or not_checked; "" where nothing could be judged
    run: str = ""  # name of the run
    file: str = ""  # input of the action
    error: str = ""  # why nothing could be judged
    kind: str = ""  # of the cases: newly failing, or bad
    total: int = 0  # failing cases
    cases: list[dict[str, Any]] = field(default_factory=list)  # the first of them


def judge(environment: Mapping[str, str]) -> int:
    """Judge the run of a job; return the exit code of `ragtriage gate`.

    Outputs and summary go to the files that the runner names; all else is kept in a new folder.
    """
    inputs = Inputs.of(environment)
    folder = Path(tempfile.mkdtemp(prefix="ragtriage-", dir=environment.get("RUNNER_TEMP")))
    result = GateResult(file=inputs.file)
    try:
        with commands_stopped():  # what is printed may hold texts of the runs
            _judge(inputs, folder, result)
    except Exception as error:  # noqa: BLE001 -- a job ends with a sentence, whatever happened
        result.error = error_text(error)
        sys.stderr.write(f"error: {result.error}\n")
    (folder / RESULT).write_text(json.dumps(asdict(result)), encoding="utf-8")
    if summary := environment.get("GITHUB_STEP_SUMMARY"):
        write_file(summary, _summary(folder, result).encode("utf-8"), append=True)
    if output := environment.get("GITHUB_OUTPUT"):
        values = {
            "verdict": result.verdict,
            "conclusion": result.conclusion,
            "exit-code": result.code,
            "junit": folder / JUNIT,
            "folder": folder,
        }
        lines = "".join(f"{name}={value}\n" for name, value in values.items())
        write_file(output, lines.encode("utf-8"), append=True)
    return result.code


def _summary(folder: Path, result: GateResult) -> str:
    if not result.error:
        return (folder / SUMMARY).read_text(encoding="utf-8")
    indented = "\n".join(f"    {line}" for line in result.error.splitlines())
    return f"## ❔ Nothing could be judged\n\n{indented}\n"


def _judge(inputs: Inputs, folder: Path, result: GateResult) -> None:
    workspace = str(folder / "workspace")
    strict, fail_on = inputs.strict, failing_states(inputs.fail_on.strip() or None)
    if not inputs.file.strip():
        raise DataError("input file is empty; accepted: the path of what an evaluation wrote")
    base = ""
    if inputs.baseline_file:
        runs = _imported(inputs, inputs.baseline_file, "baseline", inputs.baseline, workspace)
        base = _chosen(runs, inputs.baseline_file, "baseline", inputs.baseline).run_id
    runs = _imported(inputs, inputs.file, "run", inputs.run, workspace)
    run = _chosen(runs, inputs.file, "run", inputs.run)
    report = api.gate(run.run_id, base or inputs.baseline, inputs.gates or None, workspace)
    code = report.exit_code(strict, fail_on)
    write_file(str(folder / JUNIT), junit_xml(report, strict).encode("utf-8"))
    write_file(str(folder / SUMMARY), markdown_summary(report, strict).encode("utf-8"))
    print(report_text(report, strict, code))  # noqa: T201 -- the log of the job
    cases = api.failing_cases_answer(api.open_store(workspace), report.run, report.baseline.run, MOST_CASES)
    result.cases, result.total, result.kind = cases["cases"], cases["total"], cases["kind"]
    result.run, result.verdict = report.name, report.verdict_under(strict)
    result.conclusion, result.code = report.conclusion(strict).state, code


def _imported(inputs: Inputs, file: str, option: str, wanted: str, workspace: str) -> Sequence[Run]:
    """Import a file as the command does; return the runs that it brought.

    Raises:
        DataError: it cannot be read; the message is that of the command.
    """
    before = {run.run_id for run in api.open_store(workspace, create=True).runs()}
    version = inputs.version if option == "run" else option
    words = ["-w", workspace, "import", "--project", inputs.project, "--config", f"version={version}"]
    code: int | str | None = 0
    with redirect_stderr(io.StringIO()) as errors:
        try:
            main([*words, *([] if wanted else ["--name", FIRST[option]]), "--", file])
        except SystemExit as ended:
            code = ended.code
    if code:
        raise DataError(errors.getvalue().strip().removeprefix("error: "))
    sys.stderr.write(errors.getvalue())
    return [run for run in api.open_store(workspace).runs() if run.run_id not in before]


def _chosen(runs: Sequence[Run], file: str, option: str, wanted: str) -> Run:
    """Return the run of a file that an input names; its only one where none is named.

    Raises:
        DataError: it is not there, or the file holds several; the message lists them.
    """
    if not runs:
        raise DataError(f"{file}: brought no new run; accepted: answers, retrieved documents or scores")
    named = [run for run in runs if wanted in ("", run.name, run.run_id)]
    if len(named) == 1:
        return named[0]
    # a file's several runs bear the name given to its only one before their own
    names = ", ".join(
        repr(run.name.removeprefix("" if wanted else f"{FIRST[option]} ")) for run in runs[:MOST_NAMES]
    )
    more = f" and {len(runs) - MOST_NAMES:,} more" if len(runs) > MOST_NAMES else ""
    fault = f"has no run {wanted!r}" if wanted and not named else f"holds {len(named):,} runs"
    raise DataError(f"{file}: {fault}; accepted for the input `{option}`: one of {names}{more}")
