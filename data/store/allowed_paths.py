"""Which files of this machine pages may be asked to read by their path.

Whoever reaches the dashboard can type a path. On this machine alone that is its user; where others reach it,
they may name files below the folders that `ragtriage serve --files` lists, and no others.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ragtriage.data.errors import DataError

ALLOWED_PATHS = "RAGTRIAGE_ALLOWED_PATHS"  # set by `ragtriage serve`: folders, as PATH has them; unset: any


def allowed_folders() -> tuple[Path, ...] | None:
    """Return the folders below which pages may read, none perhaps; None where they may read anywhere."""
    listed = os.environ.get(ALLOWED_PATHS)
    if listed is None:
        return None
    return tuple(Path(folder) for folder in listed.split(os.pathsep) if folder)


def limit_paths(folders: Sequence[Path]) -> None:
    """Let the pages of this process read below some folders alone."""
    os.environ[ALLOWED_PATHS] = os.pathsep.join(str(folder.resolve()) for folder in folders)


def allowed_path(text: str) -> Path:
    """Return the path that was typed on a page, with its links followed.

    Raises:
        DataError: it is not below one of the folders; whether there is such a file is not said.
    """
    folders = allowed_folders()
    try:
        path = Path(text.strip()).expanduser()
        if folders is None:
            return path
        resolved = path.resolve()
    except (OSError, ValueError, RuntimeError) as error:  # a NUL, a ring of links, an unknown home folder
        raise DataError(f"{text!r} is not a path; accepted: that of a file or folder") from error
    if any(resolved.is_relative_to(folder) for folder in folders):
        return resolved
    accepted = ", ".join(f"a file in {folder}" for folder in folders) or "uploaded files"
    raise DataError(f"{text.strip()}: others reach this dashboard, so it is not read; accepted: {accepted}")
