"""The examples of docs/ci.md are run as they stand there: the shell commands, and the pytest file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from places import REPOSITORY

ROOT = REPOSITORY
TEXT = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


def _block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    return str(found)


def _step(name: str) -> str:
    """Give the commands of a step of the workflow."""
    found = re.search(rf"- name: {name}\n +run: \|\n((?: {{10,}}.*\n)+)", _block("yaml"))
    assert found is not None
    return textwrap.dedent(found[1])


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A checkout with results, and a command `ragtriage` on the path."""
    command = tmp_path / "bin" / "ragtriage"
    command.parent.mkdir()
    command.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m ragtriage.dashboard.cli.main "$@"\n', encoding="utf-8"
    )
    command.chmod(0o755)
    _write(tmp_path / "eval" / "baseline.jsonl", 0.95)
    return tmp_path


def _write(path: Path, level: float) -> None:
    path.parent.mkdir(exist_ok=True)
    lines = [
        json.dumps(
            {
                "question": f"Question {at}?",
                "answer": "An answer.",
                "scores": {
                    "faithfulness": level - at % 5 / 100,
                    "answer_relevancy": 0.9 + at % 3 / 100,
                    "correctness": 1 - at % 2 / 10,
                },
            }
        )
        for at in range(40)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")


def _environment(job: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{job / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "RAGTRIAGE_WORKSPACE": str(job / "ragtriage-workspace"),
        "GITHUB_SHA": "0123abc",
        "GITHUB_STEP_SUMMARY": str(job / "summary.md"),
    }


@pytest.mark.parametrize(("level", "code", "verdict"), [(0.95, 0, "ready to ship"), (0.60, 1, "do not ship")])
def test_the_workflow_ends_as_the_gate_says(job: Path, level: float, code: int, verdict: str) -> None:
    _write(job / "results.jsonl", level)
    commands = _step("Gate")
    assert commands.count("ragtriage ") == 3
    done = subprocess.run(
        ["bash", "-e", "-c", commands], cwd=job, env=_environment(job), capture_output=True, text=True
    )
    assert done.returncode == code, done.stdout + done.stderr
    summary = (job / "summary.md").read_text(encoding="utf-8")
    assert summary.splitlines()[0].endswith(f"candidate: {verdict}")
    suite = ET.parse(job / "gate.xml").getroot()
    assert (int(suite.attrib["failures"]) > 0) == bool(code)


@pytest.mark.parametrize(("level", "code"), [(0.95, 0), (0.60, 1)])
def test_the_pytest_example_ends_as_the_gate_says(job: Path, level: float, code: int) -> None:
    _write(job / "results.jsonl", level)
    (job / "test_version.py").write_text(_block("python"), encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(job),
            "test_version.py",
        ],
        cwd=job,
        env=_environment(job),
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stdout + done.stderr
    if code:
        assert "the whole interval is below 0.85" in done.stdout


def test_an_audit_without_an_index_is_skipped_with_a_sentence() -> None:
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    audit = subprocess.run(
        [str(REPOSITORY / ".ci" / "audit"), sys.executable],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert audit.returncode == 0
    assert audit.stdout == (
        "Dependencies were not audited: pip-audit cannot be installed, no package index is reachable.\n"
    )


@pytest.mark.parametrize("coverage", ["", "1"])
@pytest.mark.parametrize(("ends", "code"), [(0, 0), (1, 2)])
def test_make_test_ends_as_its_tests_do(tmp_path: Path, coverage: str, ends: int, code: int) -> None:
    """CI ends as `make test` does, after everything that it runs."""
    for name in ("ruff", "mypy", "lint-imports", "pytest", "coverage"):
        command = tmp_path / name
        command.write_text(f"#!/bin/sh\nexit {ends if name == 'pytest' else 0}\n", encoding="utf-8")
        command.chmod(0o700)
    installed = tmp_path / "installed"
    installed.touch()
    settings = [f"BIN={tmp_path}", f"READY={installed}", f"TESTED={installed}", f"COVERAGE={coverage}"]
    done = subprocess.run(
        ["make", "-C", str(ROOT), "test", *settings], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert ("Branches and lines reached in per cent:" in done.stdout) == bool(coverage and not ends)
