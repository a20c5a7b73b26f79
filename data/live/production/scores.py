"""Kept calls of a time with the scores that the runs of their windows have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.live.alerts.rules import Scored, mean_of_kept
from ragtriage.data.live.alerts.states import JUDGED, Scores
from ragtriage.data.live.calls import Calls, user_codes
from ragtriage.data.live.production.buckets import over
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.metric_registry import bounds_of
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Source, Status
from ragtriage.metrics.statistics.intervals import Interval

ANSWER_SCORES = (*CORRECTNESS, "faithfulness", "answer_relevancy", "completeness", "ignored_top_ranked")
JUDGING = (Source.HUMAN, Source.JUDGED, Source.IMPORTED)  # sources of a score that somebody gave
CONTEXT = "context holds all of the answer"
_KEPT = (
    "SELECT trace_id, time, rate, user_id, stratum, question, topic, refused, answerable FROM calls"
    " WHERE kept AND time >= ? AND time < ? ORDER BY time, trace_id"
)


@dataclass(frozen=True)
class KeptCalls:
    """The kept calls of a time, in its order, with their scores."""

    trace_id: tuple[str, ...]
    time: FloatArray  # (n,) seconds since 1970
    rate: FloatArray  # (n,) at which each was kept
    user: IntArray  # (n,) code of its user; a call of nobody known has one of its own
    stratum: tuple[str, ...]
    question: tuple[str | None, ...]
    topic: tuple[str | None, ...]
    refused: FloatArray  # (n,) 1, 0 or NaN
    answerable: FloatArray  # (n,) 1, 0 or NaN
    values: Mapping[str, FloatArray]  # metric -> (n,) NaN where a call has no score of it
    by_judge: BoolArray  # (n,) whether the judge scored it
    judged: BoolArray  # (n,) whether somebody scored its answer: a judge, people, or the tool it came from
    context: FloatArray  # (n,) 1 where the context holds all of the answer, 0 where not, NaN: not known
    published: BoolArray  # (n,) whether it is in a run

    def mean(self, metric: str, rows: BoolArray) -> Interval:
        """Return the mean of a score over some calls with its interval, weighted by 1 / rate."""
        return mean_of_kept(self.values[metric][rows], self.user[rows], self.rate[rows], bounds_of(metric))

    def scored(self, metric: str, first: float, last: float) -> Scored | None:
        """Return a score of the calls of a time for the rules of alerts; None where no call has it.

        Of JUDGED the value is 1 where the judge scored a call; those without an answer are left out.
        """
        rows = self.between(first, last)
        if metric == JUDGED:
            rows &= np.isfinite(self.refused)
            values, bounds = np.where(self.by_judge, 1.0, np.nan), (0.0, 1.0)
        elif metric in self.values:
            values, bounds = self.values[metric], bounds_of(metric)
        else:
            return None
        return Scored(self.time[rows], values[rows], self.rate[rows], self.user[rows], bounds)

    def between(self, first: float, last: float) -> BoolArray:
        """Return which of the calls are of a time."""
        mask: BoolArray = (self.time >= first) & (self.time < last)
        return mask


def kept_calls(
    store: RunStore, calls: Calls, first: float, last: float, watched: Sequence[str] = ()
) -> KeptCalls:
    """Return the kept calls of a time with their scores.

    Where several runs hold a call, the first that has a score of it gives it, those of long windows before
    those of short ones.

    Args:
        store: the runs of the workspace.
        calls: the live traffic.
        first: begin, seconds since 1970.
        last: end, excluded.
        watched: metrics beside ANSWER_SCORES, such as those of the alerts.
    """
    with calls.open() as connection:
        rows = connection.execute(over(calls, _KEPT, first, last), (first, last)).fetchall()
    columns: list[tuple[Any, ...]] = list(zip(*rows, strict=True)) if rows else [()] * 9
    trace_id, time, rate, user, stratum, question, topic, refused, answerable = columns
    place = {trace: at for at, trace in enumerate(trace_id)}
    n, names = len(rows), tuple(dict.fromkeys([*watched, *ANSWER_SCORES]))
    values = {name: np.full(n, np.nan) for name in names}
    by_judge, judged, published = (np.zeros(n, dtype=np.bool_) for _ in range(3))
    context = np.full(n, np.nan)
    for run in _runs(store, calls, first, last):
        scored = store.scored(run)
        ids = scored.question_ids[scored.question]
        at = np.array([place.get(trace, -1) for trace in ids.tolist()], dtype=np.int64)
        inside = at >= 0
        at = at[inside]
        published[at] = True
        _fill(context, at, _context_of(scored)[inside])
        by_judge[at] |= _is_judged(scored)[inside]
        for name in names:
            column = scored.column(name)
            if column is None:
                continue
            _fill(values[name], at, column.values[inside])
            if name in ANSWER_SCORES:
                given = np.isin(column.source[inside], JUDGING) & np.isfinite(column.values[inside])
                judged[at] |= given
    known = {name: column for name, column in values.items() if np.isfinite(column).any()}
    return KeptCalls(
        trace_id, np.array(time, dtype=np.float64), np.array(rate, dtype=np.float64), user_codes(user),
        stratum, question, topic, np.array(refused, dtype=np.float64), np.array(answerable, dtype=np.float64),
        known, by_judge, judged, context, published,
    )  # fmt: skip


def scores_of(store: RunStore, calls: Calls) -> Scores:
    """Return what reads a score of kept calls, from the runs of their windows, for the rules of alerts."""

    def scores(metric: str, first: float, last: float) -> Scored | None:
        return kept_calls(store, calls, first, last, () if metric == JUDGED else (metric,)).scored(
            metric, first, last
        )

    return scores


def _runs(store: RunStore, calls: Calls, first: float, last: float) -> Iterable[Run]:
    """Yield the runs whose windows share calls with a time, those of the longest windows first."""
    there = store.workspace.run_ids()
    windows = [each for each in calls.windows() if each.first < last and each.last > first]
    windows.sort(key=lambda each: (bool(each.release), each.first - each.last, each.first))
    for run_id in dict.fromkeys(window.run_id for window in windows):
        if run_id in there:
            try:
                yield store.workspace.read_run(run_id)
            except WorkspaceError:
                continue  # Runs says what is wrong with it


def _fill(known: FloatArray, at: IntArray, values: FloatArray) -> None:
    """Put values where none is known yet."""
    known[at] = np.where(np.isnan(known[at]), values, known[at])


def _context_of(scored: ScoredRun) -> FloatArray:
    """Return whether each context holds all of the gold, else all claims of the reference."""
    gold = scored.stage_features["gold_in_context"]
    known = np.where(np.isfinite(gold), gold, scored.values("context_recall"))
    return np.where(np.isfinite(known), known >= 1, np.nan).astype(np.float64)


def _is_judged(scored: ScoredRun) -> BoolArray:
    """Return which samples the judge scored by any metric."""
    judged = np.zeros(scored.n, dtype=np.bool_)
    for name, sources in scored.sources.items():
        column = scored.column(name, Source.JUDGED) if Source.JUDGED in sources else None
        if column is not None:
            judged |= column.status == Status.SCORED
    return judged
