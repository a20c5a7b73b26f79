"""Which questions to label first: refused or disliked, their context complete, asked most."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from ragtriage.data.live.calls import Calls
from ragtriage.data.live.feedback.records import DISLIKES
from ragtriage.data.live.production.buckets import over
from ragtriage.data.live.production.scores import KeptCalls
from ragtriage.data.text.tokens import folded_question
from ragtriage.metrics.schema.scores import FloatArray, IntArray

MOST = 200  # questions that are looked at
_REFUSED = (
    "SELECT question, count(*) AS n FROM calls WHERE time >= ? AND time < ? AND question IS NOT NULL"
    " AND refused = 1 AND coalesce(answerable, 1) = 1 GROUP BY question ORDER BY n DESC, question LIMIT ?"
)
_DISLIKED = (  # constant text
    "SELECT question, count(DISTINCT calls.trace_id) AS n FROM calls JOIN feedback USING (trace_id)"  # noqa: S608
    " WHERE calls.time >= ? AND calls.time < ? AND question IS NOT NULL AND coalesce(refused, 0) = 0"
    f" AND {DISLIKES}"
    " GROUP BY question ORDER BY n DESC, question LIMIT ?"
)


@dataclass(frozen=True)
class ToLabel:
    """A question whose answers somebody should look at."""

    question: str
    calls: int  # refused or disliked
    refused: int  # of them, refused
    context_complete: bool | None  # whether their context holds all of the answer; None: not known
    before: float  # score of the earlier part; NaN where it has none
    trace_id: str  # of a kept call to open; "" where none is kept


def to_label(
    calls: Calls, first: float, last: float, kept: KeptCalls, metric: str | None
) -> tuple[ToLabel, ...]:
    """Return the questions to label first: context complete before not known before incomplete, by calls.

    Args:
        calls: the live traffic.
        first: begin of the later part.
        last: its end.
        kept: kept calls of both parts.
        metric: score whose mean before is shown beside; None for none.
    """
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    written: dict[str, str] = {}
    with calls.open() as connection:
        for query, is_refused in ((_REFUSED, True), (_DISLIKED, False)):
            for question, n in connection.execute(over(calls, query, first, last), (first, last, MOST)):
                key = folded_question(question)
                written.setdefault(key, question)
                counts[key][0] += n
                counts[key][1] += n if is_refused else 0
    rows: dict[str, list[int]] = defaultdict(list)
    for at, question in enumerate(kept.question):
        if question is not None and (key := folded_question(question)) in counts:
            rows[key].append(at)
    scores = kept.values.get(metric or "")
    found = [
        _row(written[key], n, refused, np.array(rows[key], dtype=np.int64), kept, scores, first)
        for key, (n, refused) in counts.items()
    ]
    order = {True: 0, None: 1, False: 2}
    return tuple(sorted(found, key=lambda row: (order[row.context_complete], -row.calls, row.question)))


def _row(
    question: str,
    n: int,
    refused: int,
    at: IntArray,
    kept: KeptCalls,
    scores: FloatArray | None,
    first: float,
) -> ToLabel:
    later = at[kept.time[at] >= first]
    context = kept.context[later][np.isfinite(kept.context[later])]
    earlier = np.zeros(0) if scores is None else scores[at[kept.time[at] < first]]
    earlier = earlier[np.isfinite(earlier)]
    bad = [row for row in later.tolist() if kept.refused[row] == 1] or later.tolist()
    return ToLabel(
        question,
        n,
        refused,
        bool(context.mean() > 0.5) if len(context) else None,
        float(earlier.mean()) if len(earlier) else float("nan"),
        kept.trace_id[bad[-1]] if bad else "",
    )
