"""Ratings on a scale of the user's own: how many answers stand at its worse end."""

from dataclasses import dataclass

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.metric_registry import imported_declarations, ordered
from ragtriage.metrics.statistics.intervals import question_means

FEWEST_STEPS = 3  # a scale with fewer between its ends is a verdict rather than a rating
FEWEST_LOW, SHARE_LOW = 5, 0.1  # ratings at the worse end from which on they are said


@dataclass(frozen=True)
class LowRating:
    """The worst third of a declared or recognised scale."""

    metric: str  # name of the score
    n: int  # questions whose rating lies there
    of: int  # questions with a rating
    end: float  # the last rating that lies there
    scale: tuple[float, float]  # its least and greatest rating
    above: bool  # whether higher ratings are the worse ones


def low_ratings(scored: ScoredRun) -> list[LowRating]:
    """List the scores of one's own with many ratings in the worst third of their scale."""
    found = []
    for metric in ordered(tuple(set(scored.metrics) & set(imported_declarations()))):
        declaration = imported_declarations()[metric]
        low, high = declaration.bounds
        if declaration.higher_is_better is None or not FEWEST_STEPS <= high - low < np.inf:
            continue
        means = question_means(scored.values(metric), scored.question)[0]
        known, above = means[np.isfinite(means)], not declaration.higher_is_better
        end = np.ceil(high - (high - low) / 3) if above else np.floor(low + (high - low) / 3)
        n = int((known >= end if above else known <= end).sum())
        if n >= max(FEWEST_LOW, SHARE_LOW * len(known)):
            found.append(LowRating(metric, n, len(known), float(end), (low, high), above))
    return found
