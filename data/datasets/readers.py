"""What the readers of a dataset did: who read how much, how much they kept, how far two of them agree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from ragtriage.data.datasets.review import REASONS, Draft, DraftItem, Event, events_of
from ragtriage.metrics.number_text import count, interval_text, number
from ragtriage.metrics.statistics.agreement import Agreement
from ragtriage.metrics.statistics.class_agreement import class_agreement
from ragtriage.metrics.statistics.intervals import Interval, interval


@dataclass(frozen=True)
class ReaderAgreement:
    """How far the two readers with most decisions agree on what to keep; each was blind to the other."""

    readers: tuple[str, str]
    n: int  # items that both decided on
    same: int  # of them, those that both keep or both reject
    n_kept: int  # of them, those that both keep
    kappa: Agreement  # Cohen's, with a bootstrap interval

    @property
    def kappa_number(self) -> str:
        """Cohen's kappa with its interval, where it has one; "" where it is not defined."""
        if not isfinite(self.kappa.value):
            return ""
        ends = f" {interval_text(self.kappa.low, self.kappa.high)}" if isfinite(self.kappa.low) else ""
        return f"{number(self.kappa.value)}{ends}"

    @property
    def kappa_text(self) -> str:
        """Cohen's kappa with its interval, or why there is none."""
        if not self.n:
            return "kappa not defined: no item was read by both"
        if not self.kappa_number:
            return f"kappa not defined: both {'kept' if self.n_kept else 'rejected'} all"
        return f"kappa {self.kappa_number}"

    def sentence(self, shown: Callable[[str], str]) -> str:
        """Return it in a sentence, the names as `shown` escapes them."""
        names = " and ".join(map(shown, self.readers))
        return f"{names} agree on {self.same:,} of {count(self.n, 'item')}: {self.kappa_text}."


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
    same, n_kept = int((kept[0] == kept[1]).sum()), int((kept[0] * kept[1]).sum())
    return ReaderAgreement((first, second), len(both), same, n_kept, kappa)


def reader_rows(draft: Draft) -> list[dict[str, Any]]:
    """Return what each reader did, the one with most decisions first."""
    rows = []
    for who in draft.readers:
        events = [each.decisions[who] for each in draft.items if who in each.decisions]
        actions = Counter(event.action for event in events)
        reasons = Counter(REASONS[event.reason] for event in events if event.action == "reject")
        rows.append(
            {
                "reader": who,
                "read": len(events),
                "accepted": actions["accept"],
                "edited": actions["edit"],
                "rejected": actions["reject"],
                "reasons": ", ".join(f"{reason} {n}" for reason, n in reasons.most_common()),
            }
        )
    return rows


def draft_at(draft: Draft, at: str) -> Draft:
    """Return a draft as it was at a time, ISO in UTC: without later batches and decisions."""
    early = {batch.batch_id for batch in draft.dataset.batches() if batch.made_at <= at}
    by_item = defaultdict[str, list[Event]](list)
    for event in events_of(draft.dataset):
        if event.at <= at and (event.undone_at is None or event.undone_at > at):
            by_item[event.question_id].append(event)
    items = (
        DraftItem.of(each.made, each.batch_id, by_item[each.item.question_id])
        for each in draft.items
        if each.batch_id in early
    )
    return Draft(draft.dataset, tuple(items))


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
