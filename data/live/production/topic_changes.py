"""How much of a change each topic of questions brings: by its own rate, and by how often it is asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragtriage.data.live.production.buckets import SHARES, Buckets
from ragtriage.metrics.live.change import difference_between
from ragtriage.metrics.live.mix import MixChange, mix_change, rate_change
from ragtriage.metrics.schema.scores import FloatArray


@dataclass(frozen=True)
class TopicRow:
    """One topic, before and since."""

    name: str
    before: float  # share of its calls; NaN without any
    since: float
    calls_before: int  # that the share is of
    calls_since: int
    adds: float  # to the change of the share of all calls
    is_change: bool  # whether its own share changed beyond chance

    @property
    def change(self) -> float:
        """Since less before; NaN where either is not known."""
        return self.since - self.before


@dataclass(frozen=True)
class TopicChanges:
    """All topics, those that add most first."""

    rows: tuple[TopicRow, ...]
    change: float  # of the share of all calls with a topic
    by_rate: float  # of it, what the topics' own shares bring
    by_mix: float  # what another mix of topics brings
    mix: MixChange  # whether the mix is another beyond chance


def topic_changes(buckets: Buckets, name: str) -> TopicChanges | None:
    """Return the change of a share of SHARES by topic; None where no topic is known, or one part is empty."""
    hits, of = SHARES[name]
    topics = sorted({topic for topic in buckets.topic if topic is not None})
    code = {topic: at for at, topic in enumerate(topics)}
    rows = np.array([topic is not None for topic in buckets.topic], dtype=np.bool_)
    codes = np.array([code[topic] for topic in buckets.topic if topic is not None], dtype=np.int64)
    sums, counts = list[FloatArray](), list[FloatArray]()
    for side in (False, True):
        inside = buckets.later[rows] == side
        part = buckets.sums.part(rows)
        for found, column in ((sums, getattr(part, hits)), (counts, getattr(part, of))):
            found.append(np.bincount(codes[inside], column[inside], len(topics)).astype(np.float64))
    if not topics or not all(count.sum() for count in counts):
        return None
    change = rate_change((sums[0], counts[0]), (sums[1], counts[1]))
    adds = change.rate_parts + change.mix_parts
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = [side / count for side, count in zip(sums, counts, strict=True)]
    asked = [at for at in range(len(topics)) if counts[0][at] or counts[1][at]]
    order = sorted(asked, key=lambda at: (-abs(adds[at]), topics[at]))
    return TopicChanges(
        tuple(
            TopicRow(
                topics[at],
                float(shares[0][at]),
                float(shares[1][at]),
                int(counts[0][at]),
                int(counts[1][at]),
                float(adds[at]),
                _is_change(buckets, name, topics[at]),
            )
            for at in order
        ),
        change.change,
        float(change.rate_parts.sum()),
        float(change.mix_parts.sum()),
        mix_change([int(n) for n in counts[0]], [int(n) for n in counts[1]]),
    )


def _is_change(buckets: Buckets, name: str, topic: str) -> bool:
    own = np.array([each == topic for each in buckets.topic], dtype=np.bool_)
    before, since = (buckets.share(name, own & (buckets.later == side)) for side in (False, True))
    change = difference_between(before, since)
    return change is not None and change.is_change
