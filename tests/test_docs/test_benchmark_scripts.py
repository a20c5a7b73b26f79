"""Every benchmark says how it is used, and the page on benchmarks names every one."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
from places import REPOSITORY

FOLDER = REPOSITORY / "benchmarks"
COMMANDS = sorted(path for path in FOLDER.glob("*.py") if "argparse" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_help_is_printed(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert ended.value.code == 0
    assert f"usage: {path.name}" in capsys.readouterr().out


def test_the_page_names_every_script() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in FOLDER.glob("*.py") if path.name not in page] == []
