"""A copy of a workspace that other test processes read meanwhile."""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = ["copied"]


def copied(root: Path, to: Path) -> Path:
    """Copy a workspace without the files that SQLite keeps only while a ledger is open."""
    return shutil.copytree(root, to, ignore=shutil.ignore_patterns("*-wal", "*-shm"))
