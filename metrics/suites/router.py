"""What a router decides: confusion matrix, accuracy by route, constant routers, oracle, expected cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, MetricsError
from ragtriage.metrics.statistics.distributions import t_quantile, welch_freedom

RESAMPLES, SEED = 500, 0


@dataclass(frozen=True)
class RouteScores:
    """The scores of R routes, each (R,)."""

    support: IntArray  # questions that should take the route
    sent: IntArray  # questions that took it
    precision: FloatArray  # share of those sent that should be there; NaN where none was sent
    recall: FloatArray  # share of those that should be there that were sent; NaN where none should
    f1: FloatArray  # 2 right / (support + sent); NaN for a route that neither occurs nor was taken
    constant: FloatArray  # accuracy of a router that always takes this route

    @property
    def macro_f1(self) -> float:
        """Mean F1 over the routes that occur or were taken; NaN without any."""
        known = self.f1[np.isfinite(self.f1)]
        return float(known.mean()) if len(known) else float("nan")


@dataclass(frozen=True)
class Added:
    """How much more the answers of one route take than those of another.

    Attributes:
        mean: difference of the means.
        low, high: its 95 % interval by Welch; NaN with fewer than two values on a side.
        median: difference of the medians.
        n_costly, n_cheap: values on each side.
    """

    mean: float
    low: float
    high: float
    median: float
    n_costly: int
    n_cheap: int


def confusion_matrix(expected: IntArray, actual: IntArray, routes: int) -> IntArray:
    """Return (R, R) counts: rows the expected route, columns the one taken.

    Args:
        expected: (m,) code of the expected route.
        actual: (m,) code of the route that was taken.
        routes: R.

    Raises:
        MetricsError: the arrays differ in length.
    """
    if len(expected) != len(actual):
        raise MetricsError(f"{len(expected)} expected and {len(actual)} actual routes; accepted: as many")
    cells = np.bincount(expected * routes + actual, minlength=routes * routes)
    return cells.reshape(routes, routes).astype(np.int64)


def route_scores(confusion: NDArray[Any]) -> RouteScores:
    """Return precision, recall and F1 of each route of a confusion matrix.

    Source: Larson et al. 2019, "An Evaluation Dataset for Intent Classification and Out-of-Scope Prediction"
    (in-scope accuracy and out-of-scope recall are recalls of these rows); the constant routers are the
    baseline that any accuracy is read against.
    """
    right, support, sent = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    total = confusion.sum()
    return RouteScores(
        support.astype(np.int64),
        sent.astype(np.int64),
        _ratio(right, sent),
        _ratio(right, support),
        _ratio(2 * right, support + sent),
        _ratio(support, np.full(len(support), total)),
    )


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> FloatArray:
    share: FloatArray = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return share


def macro_f1_interval(
    expected: IntArray, actual: IntArray, clusters: IntArray, routes: int, weights: FloatArray | None = None
) -> tuple[float, float]:
    """Return the 95 % interval of the macro F1, by a bootstrap over clusters with Poisson(1) weights.

    Args:
        expected: (m,) codes.
        actual: (m,) codes.
        clusters: (m,) code of the independent group of each check, from 0.
        routes: R.
        weights: (m,) of each check; None where all weigh alike.

    Source of the resampling weights: Chamandy et al. 2012, "Estimating uncertainty for massive data streams".
    """
    if not len(expected):
        return float("nan"), float("nan")
    generator, cell = np.random.default_rng(SEED), expected * routes + actual
    size, values = int(clusters.max()) + 1, np.empty(RESAMPLES)
    for at in range(RESAMPLES):
        drawn = generator.poisson(1.0, size).astype(np.float64)[clusters]
        drawn = drawn if weights is None else drawn * weights
        counts = np.bincount(cell, drawn, minlength=routes * routes).reshape(routes, routes)
        values[at] = route_scores(counts).macro_f1
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return float(low), float(high)


def expected_cost(confusion: IntArray, weights: FloatArray) -> float:
    """Return the mean cost of a decision: sum of weights times counts over all decisions; NaN without any.

    Args:
        confusion: (R, R) counts, rows expected.
        weights: (R, R) cost of taking the column's route where the row's is right; 0 on the diagonal.
    """
    total = int(confusion.sum())
    return float((confusion * weights).sum() / total) if total else float("nan")


def oracle_routes(quality: FloatArray, cheapest_first: IntArray) -> IntArray:
    """Return (n,) the route of the best answer to each question; of equal ones the cheaper.

    Args:
        quality: (n, R) quality of each route's answer, NaN where it is not known.
        cheapest_first: (R,) the routes from the cheapest to the dearest.

    Returns:
        Codes of routes, -1 where a quality of the question is not known.

    Source: Ong et al. 2024, "RouteLLM" (arXiv 2406.18665); the tie rule is ours.
    """
    ordered = quality[:, cheapest_first]
    best = cheapest_first[np.argmax(np.where(np.isnan(ordered), -np.inf, ordered), axis=1)]
    return np.where(np.isnan(quality).any(axis=1), -1, best).astype(np.int64)


def gap_recovered(quality: float, weak: float, strong: float) -> float:
    """Return the performance gap recovered: (q - q_weak) / (q_strong - q_weak); NaN where there is no gap.

    Source: Ong et al. 2024, "RouteLLM" (arXiv 2406.18665).
    """
    return (quality - weak) / (strong - weak) if strong > weak else float("nan")


def added_by(values: FloatArray, costly: BoolArray, cheap: BoolArray) -> Added | None:
    """Return how much more one side takes, as latency or cost; None where a side has no value.

    Args:
        values: (n,) latency or cost, NaN where not recorded.
        costly: (n,) True for the answers of the dearer route.
        cheap: (n,) True for those of the cheaper one.
    """
    known = np.isfinite(values)
    more, less = values[costly & known], values[cheap & known]
    if not len(more) or not len(less):
        return None
    difference = float(more.mean() - less.mean())
    reach = _welch(more, less)
    return Added(
        difference,
        difference - reach,
        difference + reach,
        float(np.median(more) - np.median(less)),
        len(more),
        len(less),
    )


def _welch(first: FloatArray, second: FloatArray) -> float:
    """Return half the width of Welch's 95 % interval; NaN with fewer than two values on a side."""
    if len(first) < 2 or len(second) < 2:
        return float("nan")
    parts = [float(side.var(ddof=1)) / len(side) for side in (first, second)]
    variance = sum(parts)
    if not variance:
        return 0.0
    freedom = welch_freedom(parts, (len(first), len(second)))
    return t_quantile(0.975, freedom) * float(variance**0.5)
