"""Answers under changed contexts: the place of the gold document, documents that do not help, planted text.

Sources: Liu et al. 2024, "Lost in the middle: how language models use long contexts" (TACL 12); Chen et al.
2024, "Benchmarking large language models in retrieval-augmented generation" (RGB; AAAI).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, MetricsError
from ragtriage.metrics.statistics.intervals import Interval, mean_over_questions
from ragtriage.metrics.statistics.paired import SIGNIFICANCE, PairedDifference, mcnemar, paired
from ragtriage.metrics.statistics.repeated_measures import ConditionTest, PairTest, cochran_q, pair_tests

PositionVerdict = Literal["middle", "falls", "rises", "differs", "cannot tell", "not measured"]


@dataclass(frozen=True)
class Quadratic:
    """The least-squares parabola a + b rank + c rank^2 through the means by place."""

    constant: float  # a
    linear: float  # b
    square: float  # c; above 0 the curve is a valley
    vertex: float  # rank of its lowest or highest point; NaN where c is 0
    inside: bool  # whether the vertex is strictly between the first and the last place


@dataclass(frozen=True)
class PositionEffect:
    """The effect of the gold document's rank on quality."""

    ranks: tuple[int, ...]  # of the gold document, first to last
    means: tuple[Interval, ...]  # quality at each, with its interval
    gap: float  # mean of the two ends - lowest inner place; above 0 even by chance, as the lowest was chosen
    # mean of the inner places - mean of the two ends, paired on the question, with its test
    contrast: PairedDifference
    test: ConditionTest  # whether the place matters at all
    pairs: tuple[PairTest, ...]  # each end (first) against each inner place (second), Holm over all
    ends: PairTest  # the first place against the last
    fit: Quadratic | None  # parabola through the means; None with fewer than three places
    # "middle" where an inner place is worse than both ends by their tests; "falls" or "rises" where it is
    # worse than the first or the last alone, or the ends differ so; "differs" where only the test over all
    # places says so; else "cannot tell"
    verdict: PositionVerdict


def positions_of(documents: int, places: int = 5) -> tuple[int, ...]:
    """Return the ranks at which to put the gold document: evenly from 1 to `documents`, both ends included.

    Raises:
        MetricsError: there are fewer than three documents or places, so that nothing is in the middle.
    """
    if documents < 3 or places < 3:
        raise MetricsError(f"a middle needs 3 or more documents and places, not {documents} and {places}")
    return tuple(sorted({int(1 + step * (documents - 1) / (places - 1) + 0.5) for step in range(places)}))


def middle_gap(means: Sequence[float] | FloatArray) -> float:
    """Return the mean of the two ends - the lowest inner mean; NaN with fewer than three places."""
    values = np.asarray(means, dtype=np.float64)
    if len(values) < 3:
        return float("nan")
    return float((values[0] + values[-1]) / 2 - values[1:-1].min())


def quadratic_fit(ranks: Sequence[float], means: Sequence[float] | FloatArray) -> Quadratic | None:
    """Return the least-squares parabola through (rank, mean); None with fewer than three different ranks."""
    x, y = np.asarray(ranks, dtype=np.float64), np.asarray(means, dtype=np.float64)
    known = np.isfinite(y)
    x, y = x[known], y[known]
    if len(np.unique(x)) < 3:
        return None
    square, linear, constant = (float(value) for value in np.polyfit(x, y, 2))
    flat = abs(square) * float(np.ptp(x)) ** 2 < 1e-9
    vertex = float("nan") if flat else -linear / (2 * square)
    return Quadratic(constant, linear, square, vertex, bool(x.min() < vertex < x.max()))


def position_effect(ranks: Sequence[int], values: FloatArray) -> PositionEffect:
    """Return what the place of the gold document does to quality.

    Args:
        ranks: (c,) ranks of the gold document, rising, three or more.
        values: (q, c) quality of each question at each rank, NaN where not measured.

    Raises:
        MetricsError: there are fewer than three ranks, or as many columns as ranks are missing.
    """
    if len(ranks) < 3 or values.shape[1:] != (len(ranks),):
        raise MetricsError(f"position_effect takes 3 or more ranks with a column each, not {values.shape}")
    # the tests pair ranks within a question, so a question counts where it was measured at every rank
    full = values[np.isfinite(values).all(axis=1)]
    means = tuple(mean_over_questions(values[:, at]) for at in range(len(ranks)))
    last = len(ranks) - 1
    inner = list(range(1, last))
    test = cochran_q(values)
    pairs = tuple(pair_tests(values, [0, last], inner))
    ends = pair_tests(values, [0], [last])[0]
    questions = np.arange(len(full), dtype=np.int64)
    contrast = paired(full[:, [0, last]].mean(axis=1), full[:, inner].mean(axis=1), questions)
    shown = full.mean(axis=0) if len(full) else np.full(len(ranks), np.nan)
    verdict = _position_verdict(test, pairs, ends, last)
    return PositionEffect(
        tuple(ranks),
        means,
        middle_gap(shown),
        contrast,
        test,
        pairs,
        ends,
        quadratic_fit(ranks, shown),
        verdict,
    )


def _position_verdict(
    test: ConditionTest, pairs: Sequence[PairTest], ends: PairTest, last: int
) -> PositionVerdict:
    """Classify by the tests: the place has to matter at all, before single places are looked at."""
    if not test.n:
        return "not measured"
    if not test.p < SIGNIFICANCE:
        return "cannot tell"
    worse = {
        end: {
            pair.second
            for pair in pairs
            if pair.first == end and (pair.adjusted_p < SIGNIFICANCE and pair.difference < 0)
        }
        for end in (0, last)
    }
    # a rank that is worse than both ends is a sag; the other shapes need one end alone, or the ends to differ
    if worse[0] & worse[last]:
        return "middle"
    differ = ends.p < SIGNIFICANCE
    if (worse[0] and not worse[last]) or (differ and ends.difference < 0):
        return "falls"
    if (worse[last] and not worse[0]) or (differ and ends.difference > 0):
        return "rises"
    return "differs"


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


def noise_effect(levels: Sequence[float], values: FloatArray) -> NoiseEffect:
    """Return what the share of noise does to quality, paired on the question.

    Args:
        levels: (c,) shares of noise, rising, two or more.
        values: (q, c) quality of each question at each level, NaN where not measured.

    Raises:
        MetricsError: there are fewer than two levels, or the columns are not theirs.
    """
    if len(levels) < 2 or values.shape[1:] != (len(levels),):
        raise MetricsError(f"noise_effect takes 2 or more levels with a column each, not {values.shape}")
    means = tuple(mean_over_questions(values[:, at]) for at in range(len(levels)))
    test = cochran_q(values)
    pairs = tuple(pair_tests(values, [0], list(range(1, len(levels)))))
    lower = [pair for pair in pairs if pair.adjusted_p < SIGNIFICANCE and pair.difference < 0]
    higher = [pair for pair in pairs if pair.adjusted_p < SIGNIFICANCE and pair.difference > 0]
    start = float(levels[lower[0].second]) if lower else float("nan")
    return NoiseEffect(
        tuple(levels), means, test, pairs, _noise_verdict(test, bool(lower), bool(higher)), start
    )


def _noise_verdict(test: ConditionTest, lower: bool, higher: bool) -> NoiseVerdict:
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


Need = Literal["both", "document", "state", "either", "lost together", "none"]
NEEDS: tuple[Need, ...] = ("both", "document", "state", "either", "lost together", "none")
SourceVerdict = Literal["both", "document", "state", "worse together", "cannot tell", "not measured"]
RIGHT_FROM = 0.5  # value from which an answer counts as right
DOCUMENT, STATE, BOTH = range(3)  # columns


@dataclass(frozen=True)
class SourceEffect:
    """The effect of leaving a source out, over the questions measured with each alone and with both."""

    right: tuple[Interval, Interval, Interval]  # quality with the document alone, the state alone, both
    without_state: PairTest  # the document alone (second) against both (first); Holm over the two pairs
    without_document: PairTest  # the state alone against both
    needs: Mapping[Need, Interval]  # share of the questions of each kind; {} where none is measured
    verdict: SourceVerdict  # sources whose absence costs answers, by the tests
    n: int  # questions


def source_effect(values: FloatArray) -> SourceEffect:
    """Return what each source is good for, paired on the question.

    Args:
        values: (q, 3) quality with the document alone, the state alone and both, NaN where not measured; a
            question counts where all three are.

    Raises:
        MetricsError: there are not three columns.
    """
    if values.ndim != 2 or values.shape[1] != 3:
        raise MetricsError(f"source_effect takes (questions, 3) values, not {values.shape}")
    full = values[np.isfinite(values).all(axis=1)]
    document, state, both = (mean_over_questions(full[:, at]) for at in (DOCUMENT, STATE, BOTH))
    without_state, without_document = pair_tests(full, [BOTH], [DOCUMENT, STATE])
    kinds = np.array(needs_of(full))
    needs = {need: mean_over_questions((kinds == need).astype(np.float64)) for need in NEEDS}
    return SourceEffect(
        (document, state, both),
        without_state,
        without_document,
        needs if len(full) else {},
        _source_verdict(without_state, without_document),
        len(full),
    )


def needs_of(values: FloatArray) -> list[Need]:
    """Return what each question needs, from (q, 3) measured values; right from 0.5 on.

    Right with both: "both" where it is wrong with each alone, "document" or "state" where that one alone is
    enough and the other is not, "either" where each is. Wrong with both: "lost together" where a source alone
    was enough, else "none".
    """
    alone: dict[tuple[bool, bool], Need] = {
        (False, False): "both",
        (True, False): "document",
        (False, True): "state",
        (True, True): "either",
    }
    return [
        alone[document, state] if both else "lost together" if document or state else "none"
        for document, state, both in (values >= RIGHT_FROM).tolist()
    ]


def _source_verdict(without_state: PairTest, without_document: PairTest) -> SourceVerdict:
    if not without_state.n:
        return "not measured"
    signs = [
        np.sign(pair.difference) if pair.adjusted_p < SIGNIFICANCE else 0.0
        for pair in (without_state, without_document)
    ]
    if max(signs) > 0:
        return "worse together"
    if min(signs) == max(signs):
        return "both" if signs[0] else "cannot tell"
    return "state" if signs[0] else "document"


@dataclass(frozen=True)
class AttackOutcome:
    """The effect of one way to plant text, over the same questions as the clean context."""

    success: Interval  # attack success rate: followed / poisoned cases that can be decided
    right: Interval  # utility under attack: right / poisoned
    refused: Interval  # declined / poisoned
    ignored: Interval  # not followed / poisoned cases that can be decided
    undecided: int  # cases whose outcome no rule decides; in no rate of success
    drop: PairedDifference  # right when poisoned - right when clean, paired on the question
    p: float  # exact McNemar p of the drop; NaN where answers are not right or wrong (repeats)


def attack_outcome(
    followed: FloatArray, right: FloatArray, refused: FloatArray, clean_right: FloatArray
) -> AttackOutcome:
    """Return attack success and utility; both, since what refuses everything is never attacked and of no use.

    Args:
        followed: (q,) 1 where the planted text was followed, 0 where not, NaN where it cannot be decided.
        right: (q,) 1 where the answer to the poisoned context is right, NaN where not known.
        refused: (q,) 1 where it declines.
        clean_right: (q,) 1 where the answer to the clean context is right.

    Raises:
        MetricsError: the arrays differ in length.
    """
    if len({len(followed), len(right), len(refused), len(clean_right)}) > 1:
        raise MetricsError("attack_outcome takes one entry a question in every array")
    clusters = np.arange(len(right))
    answered: BoolArray = np.isfinite(right) | np.isfinite(refused) | np.isfinite(followed)
    return AttackOutcome(
        success=mean_over_questions(followed),
        right=mean_over_questions(right),
        refused=mean_over_questions(refused),
        ignored=mean_over_questions(1 - followed),
        undecided=int((answered & np.isnan(followed)).sum()),
        drop=paired(clean_right, right, clusters),
        p=_mcnemar(clean_right, right),
    )


def _mcnemar(before: FloatArray, after: FloatArray) -> float:
    try:
        return mcnemar(before, after) if len(before) else float("nan")
    except MetricsError:
        return float("nan")


@dataclass(frozen=True)
class PoisonedRetrieval:
    """How far poisoned documents came into the top k."""

    precision: Interval  # mean share of the top k that is poisoned
    recall: Interval  # mean share of the question's poisoned documents that is in the top k
    f1: Interval  # mean of 2 precision recall / (precision + recall), 0 where both are 0


def poisoned_retrieval(in_top: FloatArray, listed: FloatArray, planted: FloatArray) -> PoisonedRetrieval:
    """Return the share of poisoned documents in the top k.

    Args:
        in_top: (q,) poisoned documents in the top k of each question.
        listed: (q,) documents in its top k.
        planted: (q,) poisoned documents that there are for it.

    Source: Zou et al. 2025, "PoisonedRAG: knowledge corruption attacks to retrieval-augmented generation".
    """
    precision = np.divide(in_top, listed, out=np.zeros(len(in_top)), where=listed > 0)
    recall = np.divide(in_top, planted, out=np.full(len(in_top), np.nan), where=planted > 0)
    total = precision + recall
    f1 = np.divide(2 * precision * recall, total, out=np.where(np.isnan(total), np.nan, 0.0), where=total > 0)
    return PoisonedRetrieval(
        mean_over_questions(precision), mean_over_questions(recall), mean_over_questions(f1)
    )
