"""The help of a command is shown from a file, which says what the command itself would say."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from doc_reference import command_help
from places import REPOSITORY

from ragtriage.dashboard.cli.main import COMMANDS, HELP_FILE, app, stored_help

NAMES = ("-h", "--help")
HEAVY = {"anthropic", "duckdb", "jinja2", "numpy", "pandas", "plotly", "pyarrow", "pydantic", "streamlit"}
OF_OURS = {"ragtriage.data", "ragtriage.metrics"}
PROBE = """
import contextlib, io, sys
from ragtriage.dashboard.cli.main import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(" ".join(sys.modules))
"""


def _loaded(*words: str) -> set[str]:
    """Run a command in a fresh interpreter and return the modules that it loaded."""
    answer = subprocess.run(
        [sys.executable, "-c", PROBE, *words], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    return set(answer.stdout.split())


def _chain(command: click.Command, *names: str) -> click.Context:
    """Return the context in which a command shows its help."""
    context = click.Context(app, info_name="ragtriage", **app.context_settings)
    for name in names:
        context = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group) and len(names) > 1:
            command = command.commands.get(names[-1], command)
    return context


def test_the_file_is_up_to_date() -> None:
    assert HELP_FILE.read_text(encoding="utf-8") == command_help(), "renew it: python docs/doc_reference.py"


@pytest.mark.parametrize("width", [40, 80, 100])
def test_the_stored_help_is_the_help_of_the_command(width: int) -> None:
    for name in COMMANDS:
        real, stored = app.get_command(click.Context(app), name), stored_help(name, ["--help"], NAMES)
        assert real is not None
        assert stored is not None
        below = list(real.commands) if isinstance(real, click.Group) else []
        for names in ([name], *([name, inner] for inner in below)):
            expected, shown = _chain(real, *names), _chain(stored, *names)
            expected.terminal_width = shown.terminal_width = width
            assert shown.get_help() == expected.get_help()


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["metrics", "-h"],
        ["import", "--help"],
        ["report", "--help"],
        ["-w", "elsewhere", "serve", "--help"],
        ["experiment", "flips", "-h"],
    ],
)
def test_help_loads_neither_the_libraries_nor_the_commands(words: list[str]) -> None:
    assert not _loaded(*words) & (HEAVY | OF_OURS)


def test_light_commands_load_no_heavy_library() -> None:
    assert not _loaded("--version") & (HEAVY | OF_OURS)
    assert not _loaded("metrics", "--version") & {"streamlit", "pandas", "plotly", "anthropic", "jinja2"}
    assert not _loaded("runs", "-w", "nowhere") & {"streamlit", "pandas", "plotly", "anthropic", "jinja2"}


@pytest.mark.parametrize(
    "words", [[], ["one"], ["--name", "--help"], ["experiment", "--help"], ["one", "-h"]]
)
def test_whatever_else_is_asked_goes_to_the_command_itself(words: list[str]) -> None:
    assert stored_help("metrics", words, NAMES) is None


def test_a_command_whose_help_is_not_stored_shows_its_own() -> None:
    assert stored_help("not-yet-stored", ["--help"], NAMES) is None
