"""What the readers of a dataset did: who read how much, how much they kept, how far two of them agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.data.datasets.review import Draft, DraftItem
from ragtriage.metrics.statistics.agreement import Agreement
from ragtriage.metrics.statistics.class_agreement import class_agreement
from ragtriage.metrics.statistics.intervals import Interval, interval


@dataclass(frozen=True)
class ReaderAgreement:
    """How far the two readers with most decisions agree on what to keep; each was blind to the other."""

    readers: tuple[str, str]
    n: int  # items that both decided on
    same: int  # of them, those that both keep or both reject
    kappa: Agreement  # Cohen's, with a bootstrap interval


def reader_agreement(draft: Draft) -> ReaderAgreement | None:
    """Return the agreement of the two readers who decided most; None with fewer than two."""
    if len(draft.readers) < 2:
        return None
    first, second = draft.readers[:2]
    both = [each.decisions for each in draft.items if {first, second} <= each.decisions.keys()]
    kept = [
        np.array([decisions[who].action != "reject" for decisions in both], dtype=np.int64)
        for who in (first, second)
    ]
    statistics = class_agreement(kept[0], kept[1], 2, np.arange(len(both)))
    kappa = next(each for each in statistics if each.name == "kappa")
    return ReaderAgreement((first, second), len(both), int((kept[0] == kept[1]).sum()), kappa)


def share_kept(items: Sequence[DraftItem], who: str = "") -> Interval | None:
    """Return the share that is kept of the items that were decided on; None where none was.

    Args:
        items: of a draft.
        who: whose decisions count; "" for those of all readers together.
    """
    states = [each.state_for(who) if who else each.state for each in items]
    kept = [float(state != "rejected") for state in states if state in ("kept", "edited", "rejected")]
    if not kept:
        return None
    return interval(np.array(kept), np.arange(len(kept)), len(kept), binary=True)
