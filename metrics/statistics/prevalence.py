"""How often a binary evaluator finds a failure, compared with human labels and corrected for its errors.

Positive means "the failure is present" throughout: the true positive rate is the share of the cases labelled
with the failure in which the evaluator finds it.
"""

from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, MetricsError
from ragtriage.metrics.statistics.agreement import (
    Agreement,
    Confusion,
    binary_agreement,
    confusion,
    rate_intervals,
)
from ragtriage.metrics.statistics.intervals import FEW_CLUSTERS, Interval, interval, question_means

LEAST_LABELS = 20  # with fewer labelled cases the rate of an evaluator is not shown
MOST_UNDEFINED = 0.05  # share of draws without a corrected rate above which no interval is given
_ALPHA = 0.05


@dataclass(frozen=True)
class CorrectedRate:
    """A rate corrected for the errors of the evaluator."""

    value: float  # share of questions with the failure; NaN where the evaluator does no better than chance
    low: float  # lower end of its 95 % interval; NaN where there is none
    high: float  # upper end; NaN likewise


@dataclass(frozen=True)
class EvaluatorAccuracy:
    """An evaluator's results compared with human labels of the same cases."""

    # share of questions in which the failure was found, repeats averaged first; not to be shown unless
    # `enough`
    rate: Interval
    pairs: Confusion  # cases with both: tp failure found and labelled, fp found but labelled absent
    labelled: int  # cases labelled one way or the other, judged or not
    true_positive: Interval  # share of the labelled failures that are found, with its interval
    true_negative: Interval  # share of the cases labelled without the failure in which none is found
    kappa: Agreement  # Cohen's, beyond chance
    corrected: CorrectedRate  # the rate corrected for both

    @property
    def positives(self) -> int:
        """Judged cases labelled with the failure."""
        return self.pairs.tp + self.pairs.fn

    @property
    def negatives(self) -> int:
        """Judged cases labelled without the failure."""
        return self.pairs.tn + self.pairs.fp

    @property
    def enough(self) -> bool:
        """Return whether there are enough labels of both kinds to show the rate."""
        return self.pairs.n >= LEAST_LABELS and self.positives > 0 and self.negatives > 0


def rogan_gladen(rate: float, true_positive: float, true_negative: float) -> float:
    """Correct the rate at which a test is positive: (rate + TNR - 1) / (TPR + TNR - 1), within [0, 1].

    Rogan and Gladen 1978, "Estimating prevalence from the results of a screening test", Am J Epidemiol 107.

    Args:
        rate: share of positives that the test gives.
        true_positive: its sensitivity.
        true_negative: its specificity.

    Returns:
        The corrected rate; NaN where the two sum to at most 1, a test no better than chance, or one is NaN.
    """
    informed = true_positive + true_negative - 1.0
    if not informed > 0:
        return np.nan
    return float(np.clip((rate + true_negative - 1.0) / informed, 0.0, 1.0))


def corrected_rate(
    rate: tuple[float, int],
    true_positive: tuple[float, int],
    true_negative: tuple[float, int],
    seed: int = 0,
    draws: int = 10_000,
) -> CorrectedRate:
    """Correct a rate, with a 95 % interval that reflects the uncertainty of all three shares.

    A parametric bootstrap: each share is drawn from its Jeffreys posterior Beta(share n + 1/2, (1 - share) n
    + 1/2) (Brown, Cai, DasGupta 2001), where n is its number of independent groups, and each draw is
    corrected. Unlike resampling the cases, it does not treat a TPR of 1 on five cases as certain. The three
    are drawn independently; where the labelled cases are among the judged ones that widens the interval.

    Args:
        rate: share of positives that the evaluator gives, and the independent groups behind it.
        true_positive: its sensitivity, likewise.
        true_negative: its specificity, likewise.
        seed: of the draws.
        draws: number of them.

    Returns:
        No interval with fewer than 10 groups behind the rate, none behind another share, or where more than
        5 % of the draws are no better than chance.
    """
    shares = (rate, true_positive, true_negative)
    value = rogan_gladen(*(share for share, _ in shares))
    if np.isnan(value) or rate[1] < FEW_CLUSTERS or min(n for _, n in shares) < 1:
        return CorrectedRate(value, np.nan, np.nan)
    rng = np.random.default_rng(seed)
    positives, tpr, tnr = (
        rng.beta(share * n + 0.5, (1 - share) * n + 0.5, size=draws) for share, n in shares
    )
    informed = tpr + tnr - 1.0
    usable = informed > 0
    if np.count_nonzero(~usable) > MOST_UNDEFINED * draws:
        return CorrectedRate(value, np.nan, np.nan)
    drawn = np.clip((positives + tnr - 1.0)[usable] / informed[usable], 0.0, 1.0)
    low, high = np.quantile(drawn, [_ALPHA / 2, 1 - _ALPHA / 2])
    return CorrectedRate(value, min(float(low), value), max(float(high), value))


def evaluator_accuracy(
    detected: FloatArray,
    truth: FloatArray,
    question: IntArray,
    clusters: IntArray,
    applicable: BoolArray | None = None,
    weights: FloatArray | None = None,
) -> EvaluatorAccuracy:
    """Compare an evaluator's results with human labels of the same cases.

    Args:
        detected: (n,) 1 where the evaluator finds the failure, 0 where not, NaN where it was not scored.
        truth: (n,) 1 where the case is labelled with the failure, 0 without, NaN where not labelled.
        question: (n,) code of each case's question.
        clusters: (q,) code of each question's independent group.
        applicable: (n,) False where the question does not apply or cannot be judged; all by default.
        weights: (q,) of each question, in the rate; None where all weigh alike.

    Raises:
        MetricsError: where the lengths differ.
    """
    if not len(detected) == len(truth) == len(question):
        raise MetricsError(
            f"arrays of an evaluator differ in length: {len(detected)}, {len(truth)}, {len(question)}"
        )
    means, _ = question_means(detected, question)
    asked = len(means) if applicable is None else len(np.unique(question[applicable]))
    binary = bool(np.isin(means[np.isfinite(means)], (0, 1)).all())
    rate = interval(means, clusters, asked, binary, weights=weights)
    both = np.isfinite(detected) & np.isfinite(truth)
    judge, human, groups = detected[both] == 1, truth[both] == 1, clusters[question[both]]
    positive, negative = rate_intervals(judge, human, groups)
    kappa = next(row for row in binary_agreement(judge, human, groups) if row.name == "kappa")
    return EvaluatorAccuracy(
        rate=rate,
        pairs=confusion(judge, human),
        labelled=int(np.isfinite(truth).sum()),
        true_positive=positive,
        true_negative=negative,
        kappa=kappa,
        corrected=corrected_rate(
            (rate.mean, rate.n_clusters if rate.n_effective is None else int(rate.n_effective)),
            (positive.mean, positive.n_clusters),
            (negative.mean, negative.n_clusters),
        ),
    )
