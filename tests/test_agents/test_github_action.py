"""action.yml: its steps are run as a runner runs them, with inputs as values that no shell reads."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from places import DOCS, REPOSITORY

ACTION: dict[str, Any] = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}
EXPRESSION = re.compile(r"\$\{\{ inputs\.([a-z-]+) \}\}")


@dataclass(frozen=True)
class Done:
    """How the step ended, what it printed, its outputs and the summary of the job."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A checkout, and a command `ragtriage` on the path, as the step Install leaves it."""
    command = tmp_path / "bin" / "ragtriage"
    command.parent.mkdir()
    command.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m ragtriage.dashboard.cli.main "$@"\n', encoding="utf-8"
    )
    command.chmod(0o755)
    return tmp_path


def _write(path: Path, level: float, question: str = "Question", name: str = "") -> None:
    lines: list[dict[str, Any]] = [{"ragtriage_run": {"name": name}}] if name else []
    lines += [
        {
            "question_id": f"{question} {at}" if question.startswith("::") else f"q{at:02d}",
            "question": f"{question} {at}?",
            "answer": "An answer.",
            "scores": {
                "faithfulness": level - at % 5 / 100,
                "answer_relevancy": 0.9 + at % 3 / 100,
                "correctness": 1 - at % 2 / 10,
            },
        }
        for at in range(40)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")


def _gate(job: Path, **inputs: str) -> Done:
    """Run the step Gate as a runner does: the script in a file, inputs by the environment alone."""
    given = {name: str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    step = STEPS["Gate"]
    values = {name: EXPRESSION.sub(lambda found: given[found[1]], text) for name, text in step["env"].items()}
    script, output, summary = job / "step.sh", job / "output.txt", job / "summary.md"
    script.write_text(step["run"], encoding="utf-8")
    output.write_text("", encoding="utf-8")
    environment = {
        "PATH": f"{job / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY),
        "HOME": str(job),
        "RUNNER_TEMP": str(job),
        "GITHUB_SHA": "0123abc",
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(summary),
        **values,
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=job,
        env=environment,
        capture_output=True,
        text=True,
    )
    outputs = dict(line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
    written = summary.read_text(encoding="utf-8") if summary.exists() else ""
    return Done(done.returncode, done.stdout + done.stderr, outputs, written)


@pytest.mark.parametrize(
    ("level", "code", "verdict", "words"),
    [(0.95, 0, "PASS", "ready to ship"), (0.60, 1, "FAIL", "do not ship")],
)
def test_the_step_ends_as_the_gate_says(job: Path, level: float, code: int, verdict: str, words: str) -> None:
    _write(job / "baseline.jsonl", 0.95)
    _write(job / "results.jsonl", level)
    done = _gate(job, file="results.jsonl", baseline_file="baseline.jsonl", project="shop")
    assert done.code == code, done.log
    assert (done.outputs["verdict"], done.outputs["exit-code"]) == (verdict, str(code))
    assert done.summary.splitlines()[0].endswith(f"candidate: {words}")
    assert "against baseline" in done.summary
    assert (int(ET.parse(done.outputs["junit"]).getroot().attrib["failures"]) > 0) == bool(code)


def test_a_run_of_several_is_named_and_gates_of_one_s_own_are_used(job: Path) -> None:
    _write(job / "results.jsonl", 0.86, name="v2")
    gates = '[[gate]]\nmetric = "faithfulness"\nat_least = 0.7\nseverity = "block"\nreason = "ours"\n'
    (job / "gates.toml").write_text(gates, encoding="utf-8")
    done = _gate(job, file="results.jsonl", run="v2", gates="gates.toml", strict="true")
    assert (done.code, done.outputs["verdict"]) == (0, "PASS"), done.log
    assert "v2: ready to ship" in done.summary


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({"file": "missing.jsonl"}, "missing.jsonl"),
        ({"file": "results.jsonl", "gates": "missing.toml"}, "missing.toml"),
        ({"file": "results.jsonl", "baseline": "lost"}, "no run 'lost'"),
        ({"file": "results.jsonl", "run": "lost"}, "no run 'lost'"),
    ],
)
def test_what_cannot_be_read_ends_with_2_and_one_sentence(
    job: Path, inputs: dict[str, str], sentence: str
) -> None:
    _write(job / "results.jsonl", 0.95)
    done = _gate(job, **inputs)
    assert (done.code, done.outputs["exit-code"], done.outputs["verdict"]) == (2, "2", "")
    assert sentence in done.log
    assert "Traceback" not in done.log


def test_no_input_is_run(job: Path) -> None:
    hostile = "$(touch hacked)`touch hacked`\"; touch hacked; '\n--help"
    _write(job / hostile.replace("/", ""), 0.95)
    names = ("file", "run", "baseline_file", "baseline", "project", "gates", "strict")
    for name in names:
        _write(job / "results.jsonl", 0.95)
        done = _gate(job, **{"file": "results.jsonl", name: hostile})
        assert not (job / "hacked").exists(), name
        assert set(done.outputs) == {"verdict", "exit-code", "junit"}
    assert _gate(job, file="--help").code == 2


def test_texts_of_a_run_are_no_commands_of_the_workflow(job: Path) -> None:
    _write(job / "baseline.jsonl", 0.95, "::error::hacked")
    _write(job / "results.jsonl", 0.20, "::error::hacked")
    log = _gate(job, file="results.jsonl", baseline_file="baseline.jsonl").log
    first, *lines = log.splitlines()
    token = first.removeprefix("::stop-commands::")
    assert re.fullmatch("[0-9a-f]{32}", token)
    end = lines.index(f"::{token}::")
    commands = [at for at, line in enumerate(lines) if line.strip().startswith("::") and at != end]
    assert commands
    assert max(commands) < end


def test_no_script_holds_an_expression() -> None:
    for step in STEPS.values():
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
    used = EXPRESSION.findall(json.dumps(STEPS["Gate"]["env"]))
    assert sorted(used) == sorted(ACTION["inputs"])


def test_the_documentation_names_every_input_and_output() -> None:
    text = (DOCS / "ci.md").read_text(encoding="utf-8")
    for name in (*ACTION["inputs"], *ACTION["outputs"]):
        assert f"`{name}`" in text
    (workflow,) = re.findall(r"^```yml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    step = yaml.safe_load(workflow)["jobs"]["gate"]["steps"][-1]
    assert set(step["with"]) <= set(ACTION["inputs"])
