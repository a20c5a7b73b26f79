"""A lock between processes on an open file; a killed process leaves none behind."""

from __future__ import annotations

import sys
from typing import IO


def lock_file(file: IO[bytes], wait: bool) -> bool:
    """Lock a file until it is closed.

    Args:
        file: open for writing.
        wait: whether to wait for the process that has it.

    Returns:
        True; without waiting, False where another process has it.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if wait:
            raise
        return False
    return True
