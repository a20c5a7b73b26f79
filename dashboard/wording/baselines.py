"""The baseline of a run, and changes of the baseline, as text."""

from collections.abc import Mapping

from ragtriage.data.gates.baseline import Baseline
from ragtriage.data.store.versions import BaselineMove
from ragtriage.data.store.workspace import Run


def baseline_text(found: Baseline, previous: Run | None, labels: Mapping[str, str]) -> str:
    """Return what a run is compared with, and how that was found, as plain text.

    Args:
        found: its baseline.
        previous: the run that stands in where there is no baseline.
        labels: name of each run by id.
    """
    if found.run is not None:
        return f"{labels[found.run.run_id]} ({found.note})"
    if found.itself or previous is None:
        return f"none: {found.note}"
    return f"none ({found.note}); changes are since {labels[previous.run_id]}, the run before"


def baseline_move_text(move: BaselineMove, labels: Mapping[str, str]) -> str:
    """Return one change of the baseline as a line of plain text, not escaped.

    Args:
        move: the change.
        labels: label of each run that still exists, by id.
    """
    by = f"by {move.who}" if move.who else "by an unnamed user"
    when = f"{move.at[:16].replace('T', ' ')} UTC"
    if not move.run_id:
        return f"none, removed {by}, {when}"
    return f"{labels.get(move.run_id, f'{move.run_id}, which no longer exists')}, set {by}, {when}"
