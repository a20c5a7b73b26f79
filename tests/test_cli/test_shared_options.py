"""Options that every command takes, before its name or after it."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from command_line import Answer

from ragtriage import __version__
from ragtriage.dashboard.cli.main import COMMANDS, main
from ragtriage.data.api import add_run

Capture = pytest.CaptureFixture[str]


def called(capsys: Capture, *words: str) -> Answer:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    out, err = capsys.readouterr()
    return Answer(int(ended.value.code or 0), out, err)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    add_run([{"question": "why?"}], "one", workspace=str(tmp_path / "mine"))
    return str(tmp_path / "mine")


def test_every_command_takes_them_after_its_name(capsys: Capture) -> None:
    for command in COMMANDS:
        for name in ("-h", "--help"):
            answer = called(capsys, command, name)
            assert answer.code == 0, command
            assert "-w, --workspace" in answer.out, command
            assert "--version" in answer.out, command
        assert called(capsys, command, "--version").out == f"ragtriage, version {__version__}\n", command


@pytest.mark.parametrize(
    "words",
    [
        ("--workspace", "{}", "runs"),
        ("-w", "{}", "runs"),
        ("runs", "--workspace", "{}"),
        ("runs", "--workspace={}"),
        ("runs", "--json", "-w", "{}"),
        ("show", "one", "-w", "{}"),
        ("show", "-w", "{}", "one"),
        ("-w", "elsewhere", "runs", "-w", "{}"),  # the later one is meant
    ],
)
def test_the_workspace_stands_before_or_after_the_command(
    capsys: Capture, folder: str, words: tuple[str, ...]
) -> None:
    answer = called(capsys, *(word.format(folder) for word in words))
    assert answer.code == 0, answer.err
    assert "one" in answer.out


def test_the_environment_gives_way_to_the_option(
    capsys: Capture, folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(tmp_path / "other"))
    assert "one" in called(capsys, "runs", "-w", folder).out
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", folder)
    assert "one" in called(capsys, "runs").out


def test_an_option_of_a_command_before_its_name_says_where_it_belongs(capsys: Capture) -> None:
    answer = called(capsys, "--port", "8600", "demo")
    assert answer.code == 2
    assert "ragtriage COMMAND --port" in answer.err
    mistyped = called(capsys, "--workspce", "x", "runs")
    assert mistyped.code == 2
    assert "--workspace" in mistyped.err


def test_the_demo_takes_workspace_port_and_no_browser_after_its_name(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[Any] = []
    monkeypatch.setattr("ragtriage.data.demo.load_samples", lambda *_: [])
    monkeypatch.setattr("ragtriage.data.demo.samples_are_missing", lambda _: False)
    monkeypatch.setattr("ragtriage.dashboard.cli.serve.run_dashboard", lambda *words: started.append(words))
    monkeypatch.setattr("ragtriage.dashboard.cli.serve.claimed_port", nullcontext)
    root = tmp_path / "demo"
    answer = called(capsys, "demo", "--workspace", str(root), "--port", "8600", "--no-browser")
    assert answer.code == 0, answer.err
    assert started == [(str(root), 8600, False, "")]
