"""Running the command line in a test."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ragtriage.dashboard.cli.main import main

__all__ = ["Answer", "run"]


@dataclass(frozen=True)
class Answer:
    """What a command gave: its exit code, standard output and error output."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(capsys: pytest.CaptureFixture[str], workspace: Path, *words: str) -> Answer:
    """Run a command on a workspace."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["--workspace", str(workspace), *words])
    out, err = capsys.readouterr()
    return Answer(int(ended.value.code or 0), out, err)
