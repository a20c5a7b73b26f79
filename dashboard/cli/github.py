"""The two steps of the GitHub action, judging a run and reporting it on the pull request.

`python -m ragtriage.dashboard.cli.github gate|report` is what action.yml calls.
"""

import hashlib
import io
import json
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from ragtriage.dashboard.cli.github_comments import CommentError, Comments
from ragtriage.dashboard.cli.main import main
from ragtriage.dashboard.cli.results.gate import junit_xml, markdown_summary, report_text
from ragtriage.dashboard.cli.terminal import error_text
from ragtriage.data import api
from ragtriage.data.errors import DataError
from ragtriage.data.gates.conclusion import failing_states
from ragtriage.data.store.stored_file import write_file
from ragtriage.data.store.workspace import Run
from ragtriage.data.text.printable import printable

Level = Literal["error", "warning", "notice"]
LONGEST = 1_000  # characters of a message
MOST_CASES = 10  # annotations of one level that a runner shows for a step
MOST_NAMES = 30  # names of runs in an error
# what a file's only run is called, by the input for its name
FIRST = {"run": "candidate", "baseline": "baseline"}
RESULT, SUMMARY, JUNIT = "result.json", "gate.md", "gate.xml"
LARGEST_FILE = 100_000_000  # bytes of results in which lines are looked for
PERMISSION = "accepted: `permissions: pull-requests: write` in the job; its summary has the same text"
_CALLS = re.compile(r"[@#](?=\w)")  # would notify a person or link an issue


def _data(text: str) -> str:
    """Escape a message; a line end would begin a command of its own."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def annotation(level: Level, message: str, title: str = "", file: str = "", line: int | None = None) -> str:
    """Return the command that shows a message in the log, and beside a line of a file where one is named."""
    values = {"title": printable(title), "file": file, "line": "" if line is None else str(line)}
    properties = ",".join(  # a comma or a colon would end a value
        f"{name}={_data(value).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in values.items()
        if value
    )
    text = "\n".join(map(printable, message.splitlines()))
    return f"::{level}{' ' if properties else ''}{properties}::{_data(text[:LONGEST])}"


@contextmanager
def commands_stopped() -> Iterator[None]:
    """Let the runner take no line that is printed here for a command."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)  # noqa: T201 -- the runner reads standard output
    try:
        yield
    finally:
        print(f"::{token}::", flush=True)  # noqa: T201 -- as above


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
    def of(cls, environment: Mapping[str, str]) -> Self:
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
        write_file(summary, _summary(folder, result.error).encode("utf-8"), append=True)
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


def _summary(folder: Path, error: str) -> str:
    if not error:
        return (folder / SUMMARY).read_text(encoding="utf-8")
    indented = "\n".join(f"    {line}" for line in error.splitlines())
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


def report(environment: Mapping[str, str]) -> int:
    """Print the annotations and write the comment; what cannot be written is a notice and fails no job."""
    folder = Path(environment.get("RESULT_FOLDER", ""))
    if not environment.get("RESULT_FOLDER") or not (folder / RESULT).is_file():
        return 0  # the step before was cancelled, and says so itself
    result = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    for line in _annotations(result, environment):
        print(line)  # noqa: T201 -- the runner reads standard output
    wanted = environment.get("INPUT_COMMENT", "true").strip().lower() == "true"
    if wanted and (said := _comment(folder, result, environment)):
        print(annotation("notice", said, "ragtriage"))  # noqa: T201 -- as above
    return 0


def _annotations(result: Mapping[str, Any], environment: Mapping[str, str]) -> list[str]:
    """Return the commands: why nothing was judged, or the failing cases beside their lines of the file."""
    file = _in_checkout(result["file"], environment.get("GITHUB_WORKSPACE", ""))
    if result["error"]:
        return [annotation("error", result["error"], "ragtriage: nothing could be judged")]
    level: Level = "error" if result["code"] else "warning"
    cases = result["cases"][:MOST_CASES]
    lines = _lines(Path(result["file"]), {case["question_id"]: case["question"] for case in cases})
    commands = [
        annotation(
            level,
            f"{case['question_id']}: {' '.join(case['question'].split())}",
            f"{result['kind']}: {case['stage'] or 'not attributed'}",
            file,
            lines.get(case["question_id"]) if file else None,
        )
        for case in cases
    ]
    if (rest := result["total"] - len(cases)) > 0:
        more = (
            f"{rest:,} more {result['kind']} {'case' if rest == 1 else 'cases'}; the summary has the counts"
        )
        commands.append(annotation("notice", more, "ragtriage"))
    return commands


def _in_checkout(file: str, root: str) -> str:
    """Return the path of a file from the root of the checkout; "" where it lies outside."""
    try:
        path = Path(file).resolve()
        return path.relative_to(Path(root).resolve()).as_posix() if root and path.is_file() else ""
    except (OSError, ValueError):
        return ""


def _lines(file: Path, questions: Mapping[str, str]) -> dict[str, int]:
    """Return question id -> its line in a file of JSON lines; of other files none."""
    found: dict[str, int] = {}
    if file.suffix != ".jsonl" or not file.is_file() or file.stat().st_size > LARGEST_FILE:
        return found
    by_question = {question: question_id for question_id, question in questions.items()}
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            for value in record.values() if isinstance(record, dict) else ():
                if not isinstance(value, str):
                    continue
                name = value if value in questions else by_question.get(value, "")
                if name:
                    found.setdefault(name, number)
    return found


def _comment(folder: Path, result: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Write the comment; return why it was not written, "" where it was or nobody could want it."""
    number, commit = _pull_request(environment.get("GITHUB_EVENT_PATH", ""))
    if number is None:
        return ""
    token = environment.get("INPUT_TOKEN", "")
    if not token:
        return f"No comment was written: the job has no token; {PERMISSION}."
    api = environment.get("GITHUB_API_URL") or "https://api.github.com"
    try:
        comments = Comments(api, environment.get("GITHUB_REPOSITORY", ""), number, token)
        comments.write(_marker(environment), _body(folder, result, commit))
    except CommentError as error:
        return f"No comment was written: {error}; {PERMISSION}."
    return ""


def _pull_request(path: str) -> tuple[int | None, str]:
    """Return number and commit of the pull request that a workflow runs for; None for any other event."""
    try:
        entry = json.loads(Path(path).read_text(encoding="utf-8"))["pull_request"]
        return int(entry["number"]), str(entry["head"]["sha"])
    except (OSError, ValueError, KeyError, TypeError):
        return None, ""


def _marker(environment: Mapping[str, str]) -> str:
    """Return the line by which the comment is found again: one for each job, project and file."""
    names = ("GITHUB_WORKFLOW", "GITHUB_JOB", "INPUT_PROJECT", "INPUT_FILE")
    parts = "\x1f".join(environment.get(name, "") for name in names)
    return f"<!-- ragtriage gate {hashlib.sha256(parts.encode()).hexdigest()[:16]} -->"


def _body(folder: Path, result: Mapping[str, Any], commit: str) -> str:
    """Return the text of the comment: the summary of the job, in which nobody is called."""
    text = _summary(folder, result["error"])
    below = f"\nCommit {commit[:12]}.\n" if commit.isalnum() else ""
    return _CALLS.sub("\\g<0>\u200b", text) + below


STEPS = {"gate": judge, "report": report}

if __name__ == "__main__":
    words = sys.argv[1:]
    if len(words) != 1 or words[0] not in STEPS:
        sys.stderr.write(f"error: {' '.join(words)[:60]!r}; accepted: {' or '.join(STEPS)}\n")
        sys.exit(2)
    sys.exit(STEPS[words[0]](os.environ))
