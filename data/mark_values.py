"""What the marks of views may name: a rank."""

from __future__ import annotations

__all__ = ["rank_named"]

HIGHEST_RANK = 10**6


def rank_named(value: str) -> int:
    """Read the rank that a mark names.

    Raises:
        ValueError: it names none.
    """
    if not value.isdecimal() or not 1 <= int(value) <= HIGHEST_RANK:
        raise ValueError(f"{value[:20]!r}; accepted: a rank of 1 or more")
    return int(value)
