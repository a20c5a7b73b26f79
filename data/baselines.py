"""The baseline of a project over time: which run it was, who moved it, and when."""

from __future__ import annotations

from dataclasses import dataclass

from data.ledger import Ledger

__all__ = ["BaselineMove", "baseline_history", "clear_baseline"]


@dataclass(frozen=True)
class BaselineMove:
    """One change of a project's baseline.

    Attributes:
        run_id: the run that became the baseline; "" where it was taken away.
        who: name of the person, "" where nobody gave one.
        at: when, ISO time in UTC.
    """

    run_id: str
    who: str
    at: str


def baseline_history(ledger: Ledger, project: str) -> list[BaselineMove]:
    """List the changes of a project's baseline, the newest first; the first one is what holds."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        rows = connection.execute(
            "SELECT run_id, who, at FROM baselines WHERE project = ? ORDER BY rowid DESC", (project,)
        )
        return [BaselineMove(*row) for row in rows]


def clear_baseline(ledger: Ledger, project: str, who: str) -> bool:
    """Take a project's baseline away; what it was stays in the history. False where there was none."""
    if not ledger.baselines().get(project):
        return False
    ledger.set_baseline(project, "", who)
    return True
