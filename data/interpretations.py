"""What a run's means say in words: the same text on the pages, in the command and in reports."""

from __future__ import annotations

from data.summaries import Aggregate
from metrics.catalogue import declared, title_of
from metrics.interpretation import Interpretation, interpret

__all__ = ["interpretation_of"]


def interpretation_of(name: str, one: Aggregate) -> Interpretation:
    """Say what a metric's mean means; of a metric that nobody declared only the number."""
    metric, title = declared(name), title_of(name)
    title = title if title[1:2].isupper() else title[:1].upper() + title[1:]
    if metric is not None:
        return interpret(metric, title, one.mean, one.low, one.high, one.n_scored)
    told = "was not measured" if one.mean is None else f"is {one.mean:.2f} over {one.n_scored:,} questions"
    return Interpretation(None, False, f"{title} {told}.", "a score of the imported file; nobody declared it")
