"""Giving freed memory back to the system, which the C library would otherwise keep."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from ragtriage.data.read_costs import ReadCosts

MANY_ROWS = 50_000  # read in one rerun: less leaves little behind


def give_back_memory(costs: ReadCosts) -> None:
    """Return freed memory to the system after a rerun that read much; does nothing without glibc.

    Arrays of 100,000 samples come and go by the dozen: a server held 930 MB, of which it used 670.
    """
    trim = _trim()
    if trim is not None and (costs.made or costs.rows >= MANY_ROWS):
        trim(0)


@cache
def _trim() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # another C library
        return None
