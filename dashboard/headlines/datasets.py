"""What the Datasets page concludes: whether a test set can be trusted, how far its review is."""

from __future__ import annotations

from dataclasses import dataclass

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.metrics.number_text import count
from ragtriage.metrics.statistics.intervals import Interval

FEWEST_READ, TOLERATED = 10, 0.2  # decisions, and the share rejected, from which on items are made anew
EMPTY = Headline(
    "empty",
    "Make a first test set",
    "`ragtriage dataset make CORPUS -n 100` writes questions from your documents with their answers; "
    "`ragtriage dataset from-questions FILE CORPUS` takes questions that you have.",
)


@dataclass(frozen=True)
class ReviewCounts:
    """How far a review is, over the items that are offered to one reader, or to all where none is named."""

    total: int  # items in the queue
    read: int  # of them, those with a decision
    kept: int  # read and kept, edited ones included
    rejected: int  # read and rejected
    listed: int  # items that the filter keeps
    rate: Interval | None = None  # share kept of those read


def review_headline(counts: ReviewCounts) -> Headline:
    """Return how far the review of a dataset is, and whether its questions are worth reading on."""
    left = counts.total - counts.read
    progress = f"{counts.read:,} of {counts.total:,} read, {left:,} to go"
    if not counts.listed:
        return Headline("empty", "Nothing to read with this filter", progress)
    surely_bad = counts.rate is not None and 1 - counts.rate.high > TOLERATED
    if counts.read >= FEWEST_READ and surely_bad:
        return Headline("bad", f"{counts.rejected:,} of {counts.read:,} rejected: make them anew", progress)
    if not left:
        return Headline("good", f"All {counts.total:,} read, {counts.kept:,} kept")
    return Headline("cannot tell", progress, f"{count(left, 'question')} without a decision")
