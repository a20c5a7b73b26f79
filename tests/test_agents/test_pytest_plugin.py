"""The pytest plugin, in sessions of their own: the run, the assertion, the failing cases, a light start."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from places import DOCS, REPOSITORY

PLUGIN = "ragtriage.pytest_plugin"
TEST = re.findall(r"^```python\n(.*?)^```", (DOCS / "pytest.md").read_text(), re.DOTALL | re.MULTILINE)[0]
HEAVY = {
    "streamlit",
    "plotly",
    "duckdb",
    "pandas",
    "pyarrow",
    "numpy",
    "pydantic",
    "data",
    "dashboard",
    "metrics",
}


def _write(path: Path, name: str, n: int, unfaithful: int = 0) -> Path:
    """Write a run of n questions with faithfulness 0.95, or 0.1 in the first so many."""
    lines: list[dict[str, Any]] = [{"ragtriage_run": {"name": name, "config": {"name": name}}}]
    lines += [
        {
            "question_id": f"q{at:02d}",
            "question": f"Question {at}? \x1b[31mred",
            "answer": "An answer.",
            "scores": {
                "faithfulness": 0.1 if at < unfaithful else 0.9 + at % 5 / 50,
                "answer_relevancy": 0.9 + at % 3 / 100,
            },
        }
        for at in range(n)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with a test of its own; the plugin is named, so that no installed one is needed."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("RAGTRIAGE_WORKSPACE", raising=False)
    for name in ("CI", "BUILD_NUMBER"):  # there pytest prints each failure twice, in its summary too
        monkeypatch.delenv(name, raising=False)
    pytester.makepyfile(test_version=TEST)
    return pytester


def _run(session: pytest.Pytester, *words: str | Path) -> pytest.RunResult:
    return session.runpytest_subprocess("-p", PLUGIN, "-p", "no:cacheprovider", *words)


def test_a_run_that_holds_passes_and_is_told(session: pytest.Pytester) -> None:
    _write(session.path / "good.jsonl", "good", 40)
    result = _run(session, "--ragtriage-file", "good.jsonl")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*= ragtriage gates =*", "not checked: good (default) without a *, *pass*"])
    assert not (session.path / "ragtriage-workspace").exists()


def test_a_run_that_fails_lists_gates_and_cases(session: pytest.Pytester) -> None:
    _write(session.path / "poor.jsonl", "poor", 40, unfaithful=14)
    result = _run(session, "--ragtriage-file", "poor.jsonl")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "do not ship: poor (default) without a baseline, *",
            "  fails (block): Faithfulness: *below 0.8*",
            "  * gates were not measured",
            "14 bad cases, to fix in this order:",
            "  q00: *: Question 0?*red",
            "  and 4 more; --ragtriage-workspace FOLDER keeps the run, and `ragtriage serve` shows all*",
            "*= ragtriage gates =*",
            "do not ship: poor *test_version.py::test_the_version_holds?",
        ]
    )
    assert sum(line.startswith("  q") for line in result.outlines) == 10
    assert "\x1b[31mred" not in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_newly_failing_cases_come_from_the_baseline(session: pytest.Pytester) -> None:
    both = session.path / "workspace"
    for name, unfaithful in (("released", 2), ("candidate", 9)):
        path = _write(session.path / f"{name}.jsonl", name, 40, unfaithful)
        command = [sys.executable, "-m", "ragtriage.dashboard.cli.main", "-w", str(both), "import", str(path)]
        subprocess.run(command, check=True, capture_output=True, env={"PYTHONPATH": str(REPOSITORY)})
    session.makeini("[pytest]\nragtriage_workspace = workspace\nragtriage_run = candidate\n")
    result = _run(session, "--ragtriage-baseline", "released")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "do not ship: candidate (default) against released, *",
            "7 newly failing cases, to fix in this order:",
        ]
    )
    ids = [line.strip().split(":")[0] for line in result.outlines if line.startswith("  q")]
    assert ids == [f"q{at:02d}" for at in range(2, 9)]


def test_a_sample_that_cannot_tell_passes_unless_strict(session: pytest.Pytester) -> None:
    _write(session.path / "small.jsonl", "small", 12, unfaithful=1)
    result = _run(session, "--ragtriage-file", "small.jsonl")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["not checked: small *"])
    session.makepyfile(test_version=TEST.replace("(ragtriage_run)", "(ragtriage_run, strict=True)"))
    strict = _run(session, "--ragtriage-file", "small.jsonl")
    strict.assert_outcomes(failed=1)
    strict.stdout.fnmatch_lines(["not checked: small *"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "*ragtriage_run: no run is named; accepted: --ragtriage-run NAME or --ragtriage-file FILE*"),
        (
            ("--ragtriage-run", "lost", "--ragtriage-workspace", "nowhere"),
            "*no run 'lost': there are no*",
        ),
        (("--ragtriage-file", "missing.jsonl"), "*missing.jsonl*"),
        (
            ("--ragtriage-file", "two.jsonl", "--ragtriage-run", "x"),
            "*two.jsonl: has no run 'x'; *'two'*",
        ),
        (("--ragtriage-file", "two.jsonl", "--ragtriage-baseline", "lost"), "*assert_gate: no run 'lost'*"),
    ],
)
def test_what_is_missing_is_one_sentence(
    session: pytest.Pytester, words: tuple[str, ...], sentence: str
) -> None:
    _write(session.path / "two.jsonl", "two", 6)
    result = _run(session, *words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines([sentence])
    result.stdout.fnmatch_lines(["*= ragtriage gates =*", "could not be judged  [[]test_version.py*"])
    assert "Traceback" not in result.stdout.str()
    assert not (session.path / "nowhere").exists()


def test_a_missing_file_is_told_from_a_failed_gate(session: pytest.Pytester) -> None:
    _write(session.path / "poor.jsonl", "poor", 40, unfaithful=14)
    session.makepyfile(test_version=f"{TEST}\n\ndef test_of_their_own():\n    assert True\n")
    failed = _run(session, "--ragtriage-file", "poor.jsonl")
    failed.assert_outcomes(failed=1, passed=1)
    assert failed.ret == pytest.ExitCode.TESTS_FAILED
    missing = _run(session, "--ragtriage-file", "lost.jsonl")
    missing.assert_outcomes(errors=1, passed=1)
    assert missing.ret == pytest.ExitCode.USAGE_ERROR
    session.makepyfile(test_version=TEST.replace("(ragtriage_run)", "(ragtriage_run, config='lost.toml')"))
    gates = _run(session, "--ragtriage-file", "poor.jsonl")
    gates.assert_outcomes(failed=1)
    assert gates.ret == pytest.ExitCode.USAGE_ERROR


def test_workers_tell_it_too(session: pytest.Pytester) -> None:
    _write(session.path / "poor.jsonl", "poor", 40, unfaithful=14)
    for file, code in (
        ("lost.jsonl", pytest.ExitCode.USAGE_ERROR),
        ("poor.jsonl", pytest.ExitCode.TESTS_FAILED),
    ):
        assert _run(session, "-p", "xdist", "-n", "1", "--ragtriage-file", file).ret == code


def test_states_that_fail_can_be_set_for_all_tests(session: pytest.Pytester) -> None:
    _write(session.path / "small.jsonl", "small", 12, unfaithful=1)
    assert _run(session, "--ragtriage-file", "small.jsonl").ret == 0
    strict = _run(
        session, "--ragtriage-file", "small.jsonl", "--ragtriage-fail-on", "cannot_tell,not_checked"
    )
    strict.assert_outcomes(failed=1)
    assert strict.ret == pytest.ExitCode.TESTS_FAILED
    session.makeini("[pytest]\nragtriage_fail_on = often\n")
    wrong = _run(session, "--ragtriage-file", "small.jsonl")
    assert wrong.ret == pytest.ExitCode.USAGE_ERROR
    wrong.stdout.fnmatch_lines(["*fail-on 'often'; accepted: do_not_ship, cannot_tell, not_checked*"])


def test_a_session_without_its_fixtures_is_as_it_was(session: pytest.Pytester) -> None:
    session.makepyfile(test_version="def test_nothing():\n    pass\n")
    session.makeconftest(
        "import sys\n"
        f"HEAVY = {HEAVY!r}\n"
        "def pytest_unconfigure():\n"
        "    print('loaded:', sorted(HEAVY & {name.partition('.')[0] for name in sys.modules}))\n"
    )
    result = _run(session, "-W", "error")
    result.assert_outcomes(passed=1)
    assert "ragtriage" not in result.stdout.str()
    result.stdout.fnmatch_lines(["loaded: []"])


def test_pytest_finds_the_plugin_where_the_package_is_installed() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"ragtriage": PLUGIN}


def test_a_file_that_cannot_be_read_is_one_sentence_without_our_source(session: pytest.Pytester) -> None:
    (session.path / "bad.jsonl").write_text('{"question": 1', "utf-8")
    text = _run(session, "--ragtriage-file", "bad.jsonl", "-q").stdout.str()
    report = text.partition("short test summary")[0]
    assert report.count("accepted:") == 1
    assert "ragtriage_run: bad.jsonl" in report
    assert "pytest_plugin.py" not in report
    assert "def " not in report


def test_a_lost_run_of_a_gate_is_one_sentence_without_our_source(session: pytest.Pytester) -> None:
    session.makepyfile(test_version="def test_it(assert_gate):\n    assert_gate('lost')\n")
    report = _run(session, "-q").stdout.str().partition("short test summary")[0]
    assert report.count("assert_gate: ") == 1
    assert report.count("no run 'lost'") == 1
    assert "pytest_plugin.py" not in report
