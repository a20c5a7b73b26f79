"""Display names of runs, and changes of the baseline as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from data.store.versions import BaselineMove
from data.store.workspace import Run

__all__ = [
    "baseline_move_text",
    "distinct_labels",
]


def distinct_labels(runs: Sequence[Run], names: Mapping[str, str]) -> dict[str, str]:
    """Return the label of each run by id: its name, with its time or its id where names repeat.

    Args:
        runs: the runs that are shown together.
        names: display name of each, by id.
    """
    dated = {run.run_id: f"{names[run.run_id]} · {run.created_at:%Y-%m-%d %H:%M}" for run in runs}
    name_counts = Counter(names[run_id] for run_id in dated)
    dated_counts = Counter(dated.values())
    labels = {}
    for run_id, label in dated.items():
        if name_counts[names[run_id]] == 1:
            labels[run_id] = names[run_id]
        else:
            labels[run_id] = label if dated_counts[label] == 1 else f"{label} · {run_id[:6]}"
    return labels


def baseline_move_text(move: BaselineMove, labels: Mapping[str, str]) -> str:
    """Return one change of the baseline as a line of plain text, not escaped.

    Args:
        move: the change.
        labels: label of each run that still exists, by id.
    """
    by = f"by {move.who}" if move.who else "by someone who gave no name"
    when = f"{move.at[:16].replace('T', ' ')} UTC"
    if not move.run_id:
        return f"none, removed {by}, {when}"
    return f"{labels.get(move.run_id, f'{move.run_id}, which no longer exists')}, set {by}, {when}"
