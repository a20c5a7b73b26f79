"""Names of runs as people see them, made different where names repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from data.store.versions import BaselineMove
from data.store.workspace import Run

__all__ = [
    "moved_text",
    "told_apart",
]


def told_apart(runs: Sequence[Run], names: Mapping[str, str]) -> dict[str, str]:
    """Name each run by its id: its name, with its time where names repeat, with its id where times do too.

    Args:
        runs: the runs that stand beside each other.
        names: display name of each, by id.
    """
    dated = {run.run_id: f"{names[run.run_id]} · {run.created_at:%Y-%m-%d %H:%M}" for run in runs}
    often = Counter(names[run_id] for run_id in dated)
    twice = Counter(dated.values())
    return {run_id: _name(names[run_id], text, run_id, often, twice) for run_id, text in dated.items()}


def _name(name: str, dated: str, run_id: str, often: Counter[str], twice: Counter[str]) -> str:
    if often[name] == 1:
        return name
    return dated if twice[dated] == 1 else f"{dated} · {run_id[:6]}"


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
