"""Scores of the kept calls: those of the runs of their windows, each with the time and rate of its call."""

from __future__ import annotations

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.live.alerts.rules import Scored
from ragtriage.data.live.alerts.states import JUDGED
from ragtriage.data.live.calls import Calls, Window
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.metric_registry import bounds_of
from ragtriage.metrics.schema.scores import FloatArray, Source, Status

_KEPT = (
    "SELECT time, rate, user_id, refused FROM calls WHERE kept AND sample IS NOT NULL"
    " AND time >= ? AND time < ? ORDER BY time, trace_id"  # the order of the samples in the run of a window
)


class LiveScores:
    """Reads scores of kept calls; a window whose run is not published, or not anew, has none yet."""

    def __init__(self, store: RunStore, calls: Calls) -> None:
        self.store, self.calls = store, calls

    def __call__(self, metric: str, first: float, last: float) -> Scored | None:
        """Return a metric of the kept calls of a time, `last` excluded; None where no run has it.

        For JUDGED the value is 1 where the judge scored the call by any metric; calls without an answer are
        left out.
        """
        windows = [
            it for it in self.calls.windows() if not it.release and it.last > first and it.first < last
        ]
        begin = min([first, *(window.first for window in windows)])
        end = max([last, *(window.last for window in windows)])
        with self.calls.open() as connection:
            rows = connection.execute(_KEPT, (begin, end)).fetchall()
        time = np.array([row[0] for row in rows], dtype=np.float64)
        values = np.full(len(rows), np.nan)
        known = metric == JUDGED
        for window in windows:
            part = slice(*np.searchsorted(time, (window.first, window.last)).tolist())
            found = self._values(window, metric)
            known |= found is not None
            if found is not None and len(found) == part.stop - part.start:
                values[part] = found
        answered = np.array([row[3] is not None for row in rows], dtype=np.bool_)
        at = np.flatnonzero((time >= first) & (time < last) & (answered | (metric != JUDGED)))
        rate = np.array([row[1] for row in rows], dtype=np.float64)
        users = [rows[place][2] for place in at.tolist()]
        bounds = (0.0, 1.0) if metric == JUDGED else bounds_of(metric)
        return Scored(time[at], values[at], rate[at], users, bounds) if known else None

    def _values(self, window: Window, metric: str) -> FloatArray | None:
        """Return a score of the run of a window; None where it has none, or cannot be read."""
        try:
            run = self.store.workspace.read_run(window.run_id)
            scored = self.store.scored(run)
        except (DataError, OSError):
            return None
        if metric != JUDGED:
            column = scored.column(metric)
            return None if column is None else column.values
        judged = np.full(run.n, np.nan)
        for name, sources in scored.sources.items():
            column = scored.column(name, Source.JUDGED) if Source.JUDGED in sources else None
            if column is not None:
                judged[column.status == Status.SCORED] = 1.0
        return judged
