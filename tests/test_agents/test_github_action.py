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
OUTPUTS = {"verdict", "conclusion", "exit-code", "junit", "folder"}
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
    """A checkout, and the environment that the step Install leaves."""
    python = tmp_path / "ragtriage-venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
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
    summary.unlink(missing_ok=True)
    environment = {
        "PATH": os.environ["PATH"],
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
        assert set(done.outputs) == OUTPUTS
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
    scripts = [step for step in STEPS.values() if "run" in step]
    assert {step["name"] for step in scripts} == {"Key", "Install", "Gate", "Report"}
    for step in scripts:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
    assert set(EXPRESSION.findall(json.dumps(STEPS))) | {"artifact"} == set(ACTION["inputs"])


def test_the_token_is_known_to_the_step_that_comments_alone() -> None:
    with_token = [name for name, step in STEPS.items() if "inputs.token" in json.dumps(step)]
    assert with_token == ["Report"]


def test_it_installs_python_keeps_what_pip_loads_and_uploads_the_junit_file() -> None:
    used = {name: step["uses"] for name, step in STEPS.items() if "uses" in step}
    assert used == {
        "Python": "actions/setup-python@v5",
        "Cache": "actions/cache@v4",
        "JUnit": "actions/upload-artifact@v4",
    }
    assert STEPS["JUnit"]["with"]["path"] == ACTION["outputs"]["junit"]["value"]
    assert all(STEPS[name]["if"].startswith("${{ always()") for name in ("Report", "JUnit"))


def test_the_cache_is_named_after_what_is_installed(job: Path) -> None:
    def key() -> str:
        output = job / "output.txt"
        output.write_text("", encoding="utf-8")
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHON": sys.executable,
            "VERSION": "3.12.1",
            "RUNNER_OS": "Linux",
            "RUNNER_ARCH": "X64",
            "RUNNER_TEMP": str(job),
            "GITHUB_ACTION_PATH": str(job / "action"),
            "GITHUB_OUTPUT": str(output),
        }
        script = job / "key.sh"
        script.write_text(STEPS["Key"]["run"], encoding="utf-8")
        subprocess.run(["bash", "-eo", "pipefail", str(script)], env=environment, check=True)
        return output.read_text(encoding="utf-8").splitlines()[0]

    (job / "action" / "ragtriage-ci").mkdir(parents=True)
    for name in ("constraints.txt", "ragtriage-ci/pyproject.toml"):
        (job / "action" / name).write_text("one", encoding="utf-8")
    first = key()
    assert re.fullmatch("key=ragtriage-Linux-X64-3.12.1-[0-9a-f]{64}", first)
    assert key() == first
    (job / "action" / "constraints.txt").write_text("two", encoding="utf-8")
    assert key() != first


def test_a_file_with_several_runs_asks_for_one_of_them(job: Path) -> None:
    source = REPOSITORY / "tests" / "fixtures" / "iris_vector_rag" / "detailed_small.csv"
    (job / "several.csv").write_bytes(source.read_bytes())
    done = _gate(job, file="several.csv")
    assert (done.code, done.outputs["verdict"], done.outputs["conclusion"]) == (2, "", "")
    sentence = "several.csv: holds 3 runs; accepted for the input `run`: one of 'basic', 'hyde', 'colbert'"
    assert sentence in done.log
    assert sentence in done.summary
    lost = _gate(job, file="several.csv", run="lost")
    assert "several.csv: has no run 'lost'; accepted for the input `run`: one of 'basic', " in lost.log
    named = _gate(job, file="several.csv", run="hyde")
    assert named.code in (0, 1, 3), named.log
    assert "hyde" in named.summary.splitlines()[0]
    based = _gate(job, file="several.csv", run="hyde", baseline="basic")
    assert "against basic" in based.summary
    several = _gate(job, file="several.csv", run="hyde", baseline_file="several.csv")
    assert "accepted for the input `baseline`: one of 'basic', 'hyde', 'colbert'" in several.log


@pytest.mark.parametrize(
    ("fail_on", "code"),
    [("", 0), ("do_not_ship", 0), ("cannot_tell", 3), ("do not ship, cannot tell", 3)],
)
def test_a_run_that_is_too_small_fails_where_its_state_is_named(job: Path, fail_on: str, code: int) -> None:
    _write(job / "results.jsonl", 0.86)
    (job / "gates.toml").write_text(
        '[[gate]]\nmetric = "faithfulness"\nat_least = 0.85\nseverity = "block"\nreason = "ours"\n',
        encoding="utf-8",
    )
    done = _gate(job, file="results.jsonl", gates="gates.toml", fail_on=fail_on)
    assert (done.code, done.outputs["conclusion"]) == (code, "cannot_tell"), done.log


def test_a_state_that_is_none_is_one_sentence(job: Path) -> None:
    _write(job / "results.jsonl", 0.95)
    done = _gate(job, file="results.jsonl", fail_on="fails")
    assert done.code == 2
    assert "fail-on 'fails'; accepted: do_not_ship, cannot_tell, not_checked, joined by commas" in done.log


def test_the_documentation_names_every_input_and_output() -> None:
    text = (DOCS / "ci.md").read_text(encoding="utf-8")
    for name in (*ACTION["inputs"], *ACTION["outputs"]):
        assert f"`{name}`" in text
    (workflow,) = re.findall(r"^```yml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    step = yaml.safe_load(workflow)["jobs"]["gate"]["steps"][-1]
    assert set(step["with"]) <= set(ACTION["inputs"])
