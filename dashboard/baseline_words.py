"""The baseline's moves in words, the same on the page and in the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from data.baselines import BaselineMove

__all__ = ["moved_text"]


def moved_text(one: BaselineMove, labels: Mapping[str, str]) -> str:
    """Write one change of the baseline as a line of plain text, not escaped.

    Args:
        one: the change.
        labels: name of each run that is there, by id.
    """
    by = f"by {one.who}" if one.who else "by someone who gave no name"
    when = f"{one.at[:16].replace('T', ' ')} UTC"
    if not one.run_id:
        return f"none, taken away {by}, {when}"
    return f"{labels.get(one.run_id, f'{one.run_id}, which is not there any more')}, set {by}, {when}"
