"""What documents that do not help do to an answer: noise beside the gold, no gold, altered gold.

Source: Chen et al. 2024, "Benchmarking large language models in retrieval-augmented generation" (RGB; AAAI).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, MetricsError
from ragtriage.metrics.statistics.intervals import Interval, mean_over_questions
from ragtriage.metrics.statistics.paired import SIGNIFICANCE
from ragtriage.metrics.statistics.repeated_measures import ConditionTest, PairTest, cochran_q, pair_tests

NoiseVerdict = Literal["falls", "rises", "differs", "cannot tell", "not measured"]
Outcome = Literal["context", "own knowledge", "both", "refused", "neither"]
OUTCOMES: tuple[Outcome, ...] = ("context", "own knowledge", "both", "refused", "neither")


@dataclass(frozen=True)
class NoiseEffect:
    """The effect of the share of noise on quality."""

    levels: tuple[float, ...]  # share of noise, the lowest first
    means: tuple[Interval, ...]  # quality at each, with its interval
    test: ConditionTest  # whether the share matters at all
    pairs: tuple[PairTest, ...]  # each further level (second) against the lowest (first), Holm over all
    verdict: NoiseVerdict  # by the tests: "falls" or "rises" where a level differs from the lowest so
    from_level: float  # the lowest level that is worse; NaN where none is


def noise_effect(levels: Sequence[float], values: FloatArray, seed: int = 0) -> NoiseEffect:
    """Return what the share of noise does to quality, paired on the question.

    Args:
        levels: (c,) shares of noise, rising, two or more.
        values: (q, c) quality of each question at each level, NaN where not measured.
        seed: of permutations and drawn signs.

    Raises:
        MetricsError: there are fewer than two levels, or the columns are not theirs.
    """
    if len(levels) < 2 or values.shape[1:] != (len(levels),):
        raise MetricsError(f"noise_effect takes 2 or more levels with a column each, not {values.shape}")
    means = tuple(mean_over_questions(values[:, at]) for at in range(len(levels)))
    test = cochran_q(values, seed)
    pairs = tuple(pair_tests(values, [0], list(range(1, len(levels))), seed))
    lower = [pair for pair in pairs if pair.adjusted_p < SIGNIFICANCE and pair.difference < 0]
    higher = [pair for pair in pairs if pair.adjusted_p < SIGNIFICANCE and pair.difference > 0]
    start = float(levels[lower[0].second]) if lower else float("nan")
    return NoiseEffect(tuple(levels), means, test, pairs, _verdict(test, bool(lower), bool(higher)), start)


def _verdict(test: ConditionTest, lower: bool, higher: bool) -> NoiseVerdict:
    if not test.n:
        return "not measured"
    if not test.p < SIGNIFICANCE:
        return "cannot tell"
    if lower != higher:
        return "falls" if lower else "rises"
    return "differs"


def outcome_of(has_altered: bool, has_right: bool, refused: bool) -> Outcome:
    """Return what an answer from an altered document follows; one that names an answer is not a refusal."""
    if has_altered and has_right:
        return "both"
    if has_altered:
        return "context"
    if has_right:
        return "own knowledge"
    return "refused" if refused else "neither"


def shares_of(outcomes: Sequence[Outcome]) -> dict[Outcome, Interval]:
    """Return the share of each outcome over the answers, with Wilson's interval."""
    values = np.array(outcomes)
    return {kind: mean_over_questions((values == kind).astype(np.float64)) for kind in OUTCOMES}
