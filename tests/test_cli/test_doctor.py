"""`ragtriage doctor`: each check in its states, and a report that gives nothing away."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import Answer, run
from places import REPOSITORY

from ragtriage.dashboard.cli.doctor import ENVIRONMENT, PACKAGES
from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore

Capture = pytest.CaptureFixture[str]
SECRET, PERSON, QUESTION = "sk-ant-0123456789", "jane.doe", "What does the contract with Umbrella say?"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a run, in the home folder of a person, with a key in the environment."""
    home = tmp_path / PERSON
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    add_run([{"question": QUESTION, "answer": "Nothing."}], "one", workspace=str(home / "workspace"))
    return home / "workspace"


def _checks(answer: Answer, subject: str) -> list[tuple[str, str]]:
    return [(check["state"], check["text"]) for check in answer.json["checks"] if check["subject"] == subject]


def _as_if_installed(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    """Let libraries have another version; "" for one that is not installed."""
    real = metadata.version

    def version(name: str) -> str:
        if versions.get(name) == "":
            raise metadata.PackageNotFoundError(name)
        return versions.get(name) or real(name)

    monkeypatch.setattr(metadata, "version", version)


def test_a_sound_installation_ends_with_0(capsys: Capture, root: Path) -> None:
    answer = run(capsys, root, "doctor", "--json")
    assert (answer.code, answer.json["problems"]) == (0, 0)
    assert _checks(answer, "runs") == [("ok", "1 run in 1 project")]
    assert _checks(answer, "workspace") == [("ok", "~/workspace can be read and written")]
    (environment,) = _checks(answer, "environment")
    assert "ANTHROPIC_API_KEY" in environment[1]
    text = run(capsys, root, "doctor")
    assert text.code == 0
    assert "No problems, " in text.out
    assert "doctor --report" in text.out
    report = run(capsys, root, "doctor", "--report").out
    assert report.strip() == run(capsys, root, "doctor", "--json").json["report"]
    assert report.splitlines()[0].startswith("ragtriage ")


def test_nothing_private_is_printed(capsys: Capture, root: Path) -> None:
    (root / "catalogue.sqlite").write_bytes(b"no database" * 100)
    for words in (("doctor",), ("doctor", "--json"), ("doctor", "--report")):
        answer = run(capsys, root, *words)
        for private in (SECRET, PERSON, QUESTION, "Umbrella"):
            assert private not in answer.out + answer.err
    report = run(capsys, root, "doctor", "--json").json["report"]
    assert "workspace: can be read" in report
    assert "~" not in report
    assert str(root) not in report


def test_a_workspace_that_is_not_there_is_no_problem_and_not_made(capsys: Capture, tmp_path: Path) -> None:
    answer = run(capsys, tmp_path / "nothing", "doctor", "--json")
    assert answer.code == 0
    assert _checks(answer, "workspace")[0][0] == "ok"
    assert not (tmp_path / "nothing").exists()


def test_a_library_that_is_too_old_or_missing_is_a_problem(
    capsys: Capture, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as_if_installed(monkeypatch, duckdb="1.4.0", semchunk="")
    answer = run(capsys, root, "doctor", "--json")
    assert (answer.code, answer.json["problems"]) == (1, 2)
    (old, missing) = [text for _, text in _checks(answer, "libraries")]
    assert old.startswith("duckdb 1.4.0, asked for ")
    assert 'pip install "duckdb' in old
    assert missing.startswith("semchunk is missing; ")
    assert "pip install " in missing
    assert "2 problems, " in run(capsys, root, "doctor").out


def test_an_extra_that_is_missing_says_what_it_is_for(
    capsys: Capture, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as_if_installed(monkeypatch, kaleido="")
    answer = run(capsys, root, "doctor", "--json")
    assert answer.code == 0
    (text,) = [text for _, text in _checks(answer, "extras") if text.startswith("images")]
    assert text.startswith("images is not installed (optional, for pictures of charts); ")
    assert text.endswith('pip install "ragtriage[images]" adds it')


def test_a_copy_that_is_not_installed_is_a_warning(
    capsys: Capture, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "metadata", missing)
    monkeypatch.setattr(metadata, "requires", missing)
    answer = run(capsys, root, "doctor", "--json")
    assert answer.code == 0
    assert _checks(answer, "libraries")[0][0] == "warning"
    assert "pip install" in _checks(answer, "libraries")[0][1]


def test_damage_is_found_and_not_mended(capsys: Capture, root: Path) -> None:
    index, ledger = root / "catalogue.sqlite", root / "ledger.sqlite"
    for path in (index, ledger):
        path.write_bytes(b"no database" * 1000)
    (run_folder,) = [path for path in (root / "runs").iterdir() if path.is_dir()]
    (run_folder / "run.json").write_text("{", encoding="utf-8")
    answer = run(capsys, root, "doctor", "--json")
    assert answer.code == 1
    assert _checks(answer, "annotations")[0][0] == "problem"
    assert "move the file aside" in _checks(answer, "annotations")[0][1]
    assert _checks(answer, "index")[0][0] == "warning"
    assert ("problem", True) in [(state, "run.json" in text) for state, text in _checks(answer, "runs")]
    assert ledger.read_bytes() == b"no database" * 1000


def test_damaged_samples_are_a_problem(capsys: Capture, root: Path) -> None:
    (path,) = root.glob("runs/*/samples.parquet")
    whole = path.read_bytes()
    assert [state for state, _ in _checks(run(capsys, root, "doctor", "--json"), "runs")] == ["ok"]
    for position in (len(whole) // 5, len(whole) // 20):  # a bit of the compressed values
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 4]) + whole[position + 1 :])
        answer = run(capsys, root, "doctor", "--json")
        assert answer.code == 1
        assert ("problem", True) in [(state, "is damaged" in text) for state, text in _checks(answer, "runs")]
    path.unlink()
    assert "is missing" in _checks(run(capsys, root, "doctor", "--json"), "runs")[1][1]


@pytest.mark.parametrize(("free", "state"), [(10**6, "problem"), (5 * 10**8, "warning"), (10**10, "ok")])
def test_disk_space(
    capsys: Capture, root: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=10**12, used=0, free=free))
    answer = run(capsys, root, "doctor", "--json")
    assert [found for found, _ in _checks(answer, "disk")] == [state]
    assert answer.code == (1 if state == "problem" else 0)


def test_a_mistyped_variable_is_a_warning(
    capsys: Capture, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPCE", "/somewhere")
    answer = run(capsys, root, "doctor", "--json")
    warnings = [text for state, text in _checks(answer, "environment") if state == "warning"]
    assert len(warnings) == 1
    assert warnings[0].startswith("RAGTRIAGE_WORKSPCE is not read by ragtriage; accepted: RAG")
    assert "/somewhere" not in json.dumps(answer.json)


def test_it_knows_every_variable_that_is_read() -> None:
    handed_on = {"RAGTRIAGE_PROJECT", "RAGTRIAGE_RUN", "RAGTRIAGE_VERDICT"}  # to what a watch starts
    sources = [path.read_text("utf-8") for name in PACKAGES for path in (REPOSITORY / name).rglob("*.py")]
    read = {variable for source in sources for variable in re.findall(r'"(RAGTRIAGE_[A-Z_]+[A-Z])"', source)}
    assert read >= {"RAGTRIAGE_CACHE_MB", "RAGTRIAGE_WORKSPACE"}
    assert read - handed_on <= set(ENVIRONMENT)


def test_a_check_that_breaks_is_a_problem_and_the_others_go_on(
    capsys: Capture, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: RunStore, project: Any = None) -> None:
        raise ZeroDivisionError(QUESTION)

    monkeypatch.setattr(RunStore, "runs", broken)
    answer = run(capsys, root, "doctor", "--json")
    assert answer.code == 1
    assert QUESTION not in answer.json["report"]
    assert _checks(answer, "environment")


@pytest.mark.parametrize("library", ["duckdb", "numpy", "pyarrow", "streamlit"])
def test_it_works_where_a_library_does_not(root: Path, library: str) -> None:
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from ragtriage.dashboard.cli.main import main\n"
        f"main(['-w', {str(root)!r}, 'doctor'])"
    )
    environment = {"PYTHONPATH": str(REPOSITORY), "PATH": "", "HOME": str(root.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == (0 if library == "streamlit" else 1), done.stderr
    assert "For a bug report" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_bad_usage_ends_with_2(capsys: Capture, root: Path) -> None:
    assert run(capsys, root, "doctor", "--fix").code == 2


@pytest.mark.parametrize(
    ("file", "text", "state", "said"),
    [
        ("metrics.toml", 'primary = "faithfulness"', "ok", "metrics.toml can be read"),
        (
            "metrics.toml",
            '[metric.faithfulness]\ndirection = "lower"',
            "problem",
            "but higher is better in Faith",
        ),
        ("metrics.toml", 'primary = "faithfulnes"', "problem", "did you mean 'faithfulness'?"),
        ("metrics.toml", "primary = ", "problem", "cannot be read"),
        (
            "gates.toml",
            "[[gate]]\nkind = 'regression'\nmetric = 'headline'\nseverity = 'warn'\nreason = 'x'\ndrop = 5",
            "problem",
            "allows every loss",
        ),
        ("gates.toml", "[[gate]]\nmetric = 3", "problem", "accepted: a text in quotes"),
    ],
)
def test_the_files_that_a_user_writes_are_read(
    root: Path, capsys: Capture, file: str, text: str, state: str, said: str
) -> None:
    (root / file).write_text(text, "utf-8")
    ((found, shown),) = _checks(run(capsys, root, "doctor", "--json"), "settings")
    assert (found, said in shown) == (state, True), shown
    assert PERSON not in shown
