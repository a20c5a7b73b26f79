"""The suite Router: which routes are mixed up, beside constant routers, with what wrong routes cost."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import numpy as np

from ragtriage.data.suites.check_table import (
    CheckedRun,
    CheckTable,
    check_table,
    question_shares,
    rate_values,
)
from ragtriage.data.suites.suite import Suite
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Source
from ragtriage.metrics.statistics.intervals import (
    Interval,
    interval,
    intervals,
    mean_over_questions,
    question_means,
)
from ragtriage.metrics.suites.router import (
    Added,
    RouteScores,
    added_by,
    confusion_matrix,
    expected_cost,
    gap_recovered,
    macro_f1_interval,
    oracle_routes,
    route_scores,
)

OUT_OF_SCOPE = (
    *("oos", "out of scope", "out-of-scope", "out_of_scope", "fallback", "none", "refuse", "refusal"),
    *("unknown",),
)  # routes of questions that the system has no answer for
FALLBACKS = (*OUT_OF_SCOPE, "offline", "local", "weak", "small")  # and those that cost little
KEY = "router"
USUAL_NAMES = ("route", "router", "routing")
MOST_ROUTES = 400  # more are not routes but free text


@dataclass(frozen=True)
class Decisions:
    """The decided routes of one name of check."""

    name: str  # of the checks
    routes: tuple[str, ...]  # the routes, those that most questions should take first
    sample: IntArray  # (m,) row of the sample of each decision
    expected: IntArray  # (m,) code of the expected route
    actual: IntArray  # (m,) code of the route that was taken
    # code of the route that stands for no answer or the cheap one; None where no name says so
    fallback: int | None

    @property
    def out_of_scope(self) -> bool:
        """Whether the fallback stands for questions that the system has no answer for."""
        return self.fallback is not None and self.routes[self.fallback].casefold() in OUT_OF_SCOPE

    @property
    def confusion(self) -> IntArray:
        """(R, R) counts, rows the expected route."""
        return confusion_matrix(self.expected, self.actual, len(self.routes))


@dataclass(frozen=True)
class WrongRoutes:
    """Wrong routes by direction."""

    refused: int  # sent to the fallback though another route was right
    added: int  # sent to another route though the fallback was right
    mixed_up: int  # sent to a wrong one of the other routes


@dataclass(frozen=True)
class RouterScores:
    """How well one name of checks is routed."""

    decisions: Decisions  # what was decided
    scores: RouteScores  # of each route
    accuracy: Interval  # mean over questions
    in_scope: Interval | None  # the same where the right route is not out of scope; None where no route is
    out_of_scope: Interval | None  # the same where it is: out-of-scope recall
    precision: tuple[Interval, ...]  # of each route, mean over questions sent there
    recall: tuple[Interval, ...]  # of each route, mean over questions that should go there
    macro_f1: tuple[float, float, float]  # mean F1 over the routes with the ends of its interval
    wrong: WrongRoutes  # wrong routes by direction

    @property
    def best_constant(self) -> tuple[str, float]:
        """The route that a constant router does best with, and its accuracy."""
        best = int(np.nanargmax(self.scores.constant))
        return self.decisions.routes[best], float(self.scores.constant[best])

    def weights(self, refused: float = 1.0, added: float = 1.0, mixed_up: float = 1.0) -> FloatArray:
        """(R, R) cost of each wrong route by its direction."""
        size, fallback = len(self.decisions.routes), self.decisions.fallback
        costs = np.full((size, size), mixed_up)
        if fallback is not None:
            costs[:, fallback], costs[fallback, :] = refused, added
        np.fill_diagonal(costs, 0.0)
        return costs

    def cost(self, refused: float = 1.0, added: float = 1.0, mixed_up: float = 1.0) -> float:
        """Return the mean cost of a decision of this router."""
        return expected_cost(self.decisions.confusion, self.weights(refused, added, mixed_up))

    def constant_cost(
        self, route: int, refused: float = 1.0, added: float = 1.0, mixed_up: float = 1.0
    ) -> float:
        """Return the mean cost of a decision of a router that always takes one route."""
        constant = np.zeros_like(self.decisions.confusion)
        constant[:, route] = self.scores.support
        return expected_cost(constant, self.weights(refused, added, mixed_up))


def route_text(value: Any) -> str:
    """Return a route as text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def decisions(checks: CheckTable) -> list[Decisions]:
    """Return the decided routes by name of the check, the usual names first."""
    mine = checks.of(KEY) & checks.decided
    names = [name for name, _ in checks.name.counts(mine, 20)]
    ordered = sorted(names, key=lambda name: name.casefold() not in USUAL_NAMES)
    by_name = [_decisions(checks, name, mine & checks.name.equal(name)) for name in ordered]
    return [decided for decided in by_name if decided is not None]


def _decisions(checks: CheckTable, name: str, chosen: BoolArray) -> Decisions | None:
    """Return the decisions of one name; None where a value is missing throughout or routes are free text."""
    at = np.flatnonzero(chosen)
    sides = [checks.values(side, at) for side in ("expected", "actual")]
    both = [number for number, pair in enumerate(zip(*sides, strict=True)) if None not in pair]
    expected, actual = ([route_text(side[number]) for number in both] for side in sides)
    totals: dict[str, int] = dict.fromkeys([*expected, *actual], 0)
    for route in expected:
        totals[route] += 1
    if not both or len(totals) > MOST_ROUTES:
        return None
    routes = tuple(sorted(totals, key=lambda route: (-totals[route], route)))
    codes = {route: code for code, route in enumerate(routes)}
    return Decisions(
        name,
        routes,
        checks.sample[at[both]],
        np.array([codes[route] for route in expected], dtype=np.int64),
        np.array([codes[route] for route in actual], dtype=np.int64),
        _fallback(routes),
    )


def _fallback(routes: Sequence[str]) -> int | None:
    folded = [route.casefold() for route in routes]
    return next((folded.index(name) for name in FALLBACKS if name in folded), None)


def router_scores(run: CheckedRun) -> list[RouterScores]:
    """Return the scores of a run's router, for each name of its checks."""
    checks = check_table(run)
    return [] if checks is None else [_scores(run, decided) for decided in decisions(checks)]


def _scores(run: CheckedRun, decided: Decisions) -> RouterScores:
    confusion, fallback = decided.confusion, decided.fallback
    right = (decided.expected == decided.actual).astype(np.float64)
    weights = None if run.question_weights is None else run.question_weights[run.question[decided.sample]]
    scores = route_scores(confusion) if weights is None else _weighed(decided, weights)
    outside = decided.expected == (-1 if fallback is None else fallback)
    low, high = macro_f1_interval(
        *(decided.expected, decided.actual, run.clusters[run.question[decided.sample]], len(decided.routes)),
        weights,
    )
    refused = 0 if fallback is None else int(confusion[:, fallback].sum() - confusion[fallback, fallback])
    added = 0 if fallback is None else int(confusion[fallback].sum() - confusion[fallback, fallback])
    return RouterScores(
        decided,
        scores,
        _rate(run, decided, right, np.ones(len(right), dtype=np.bool_)),
        _rate(run, decided, right, ~outside) if decided.out_of_scope else None,
        _rate(run, decided, right, outside) if decided.out_of_scope else None,
        _by_route(run, decided, right, decided.actual),
        _by_route(run, decided, right, decided.expected),
        (scores.macro_f1, low, high),
        WrongRoutes(refused, added, int(len(right) - right.sum()) - refused - added),
    )


def _weighed(decided: Decisions, weights: FloatArray) -> RouteScores:
    """Return the scores of weighted decisions; how many there are of each route stays counted."""
    size, cell = len(decided.routes), decided.expected * len(decided.routes) + decided.actual
    weighed = route_scores(np.bincount(cell, weights, minlength=size * size).reshape(size, size))
    counted = route_scores(decided.confusion)
    return replace(weighed, support=counted.support, sent=counted.sent)


def _means(run: CheckedRun, decided: Decisions, right: FloatArray, chosen: BoolArray) -> FloatArray:
    """(q,) share of a question's chosen decisions that are right; NaN where it has none."""
    return question_shares(run, decided.sample, np.where(chosen, right, 0.0), chosen)


def _rate(run: CheckedRun, decided: Decisions, right: FloatArray, chosen: BoolArray) -> Interval:
    return mean_over_questions(_means(run, decided, right, chosen), run.clusters, run.question_weights)


def _by_route(
    run: CheckedRun, decided: Decisions, right: FloatArray, codes: IntArray
) -> tuple[Interval, ...]:
    matrix = np.array([_means(run, decided, right, codes == code) for code in range(len(decided.routes))]).T
    known = np.isfinite(matrix).sum(axis=0).tolist()
    return tuple(
        intervals(matrix, run.clusters, known, [True] * len(decided.routes), weights=run.question_weights)
    )


FIGURES = ("latency_ms", "cost_usd")
PARTS = ("score", "quality")


@dataclass(frozen=True)
class RouteQuality:
    """The quality of the answers of two routes, and of what a router made of them.

    Attributes:
        weak, strong: the routes, by their mean quality.
        means: what is measured -> its mean over questions: the two routes, "as routed", and other scores of
            quality that the run has.
        recovered: the same names but the routes -> performance gap recovered.
        oracle: share of the questions whose best answer, the cheaper of equal ones, is the strong route's.
        oracle_n: questions with both qualities.
        agrees: share of them that the router sends as the oracle would.
    """

    weak: str
    strong: str
    means: Mapping[str, Interval]
    recovered: Mapping[str, float]
    oracle: float
    oracle_n: int
    agrees: float


def added_figures(run: CheckedRun, decided: Decisions) -> dict[str, dict[str, Added]]:
    """Return latency and cost beyond the fallback's of each route that questions took in its place.

    Returns:
        route -> "latency_ms" or "cost_usd", where the run records it -> how much more its answers take.
    """
    if decided.fallback is None:
        return {}
    taken = _taken(run, decided)
    missed = decided.actual[(decided.expected == decided.fallback) & (decided.actual != decided.fallback)]
    by_route = {}
    for code in np.unique(missed).tolist():
        figures = {
            name: added_by(run.values(name), taken == code, taken == decided.fallback)
            for name in FIGURES
            if name in run.sources
        }
        by_route[decided.routes[code]] = {name: added for name, added in figures.items() if added is not None}
    return by_route


def _taken(run: CheckedRun, decided: Decisions) -> IntArray:
    """(n,) code of the route that each sample took; -1 where none was decided."""
    taken = np.full(run.n, -1, dtype=np.int64)
    taken[decided.sample] = decided.actual
    return taken


def route_quality(run: CheckedRun, decided: Decisions) -> RouteQuality | None:
    """Return the quality by route where a run has imported scores of both of two routes."""
    columns = _quality_columns(run, decided.routes)
    if len(decided.routes) != 2 or len(columns) != 2:
        return None
    by_route = np.stack([run.values(columns[route]) for route in decided.routes], axis=1)
    overall = [_mean(run, by_route[:, code]).mean for code in range(2)]
    if not np.isfinite(overall).all():
        return None
    weak, strong = (0, 1) if overall[0] <= overall[1] else (1, 0)
    cheapest_first = np.array([weak, strong])
    taken, best = _taken(run, decided), oracle_routes(by_route, cheapest_first)
    routed = np.where(taken >= 0, by_route[np.arange(run.n), np.maximum(taken, 0)], np.nan)
    others = {name: run.values(name) for name in _other_qualities(run, columns)}
    means = {"as routed": _mean(run, routed)} | {name: _mean(run, values) for name, values in others.items()}
    known, both = best >= 0, (best >= 0) & (taken >= 0)
    return RouteQuality(
        decided.routes[weak],
        decided.routes[strong],
        {
            decided.routes[weak]: _mean(run, by_route[:, weak]),
            decided.routes[strong]: _mean(run, by_route[:, strong]),
            **means,
        },
        {name: gap_recovered(mean.mean, overall[weak], overall[strong]) for name, mean in means.items()},
        float((best[known] == strong).mean()) if known.any() else float("nan"),
        int(known.sum()),
        float((best[both] == taken[both]).mean()) if both.any() else float("nan"),
    )


def _quality_columns(run: CheckedRun, routes: tuple[str, ...]) -> dict[str, str]:
    """Return route -> the imported score of its answers, as score_strong or strong_quality."""
    imported = [name for name, sources in run.sources.items() if Source.IMPORTED in sources]
    columns = {}
    for route in routes:
        plain = "_".join(route.casefold().split())
        names = [name for part in PARTS for name in (f"{part}_{plain}", f"{plain}_{part}")]
        mine = next((name for name in names if name in imported), None)
        if mine is not None:
            columns[route] = mine
    return columns


def _other_qualities(run: CheckedRun, columns: Mapping[str, str]) -> list[str]:
    """Return further imported scores whose name says that they are of the same kind."""
    return [
        name
        for name, sources in run.sources.items()
        if Source.IMPORTED in sources
        and name not in columns.values()
        and any(name.startswith(f"{part}_") or name.endswith(f"_{part}") for part in PARTS)
    ]


def _mean(run: CheckedRun, values: FloatArray) -> Interval:
    """Return the mean over questions; the scale of the scores is not known."""
    means = question_means(values, run.question)[0]
    n = int(np.isfinite(means).sum())
    return interval(means, run.clusters, n, bounds=(-np.inf, np.inf), weights=run.question_weights)


LONGEST_VALUE = 1200  # characters of a cohort's value


def route_cohort(expected: str, actual: str) -> str:
    """Return the cohort of the cases that should take one route and took another, or the same.

    Routes that are too long for an address give the cohort of the whole suite.
    """
    value = f"{quote(expected, safe='')}>{quote(actual, safe='')}"
    return f"route:{value}" if len(value) <= LONGEST_VALUE else "suite:router"


@dataclass(frozen=True)
class RouterFindings:
    """What a router's checks amount to."""

    scores: tuple[RouterScores, ...]  # for each name of check, the usual names first
    # latency and cost beyond the fallback's, by the route that was taken in its place
    added: Mapping[str, Mapping[str, Added]]
    quality: RouteQuality | None  # by route, where the run has imported scores of both of two routes
    refusals: int  # of the questions wrongly sent to the fallback, those whose answer reads as a refusal

    @property
    def main(self) -> RouterScores:
        """The scores of the first name of check."""
        return self.scores[0]

    def to_dict(self) -> dict[str, Any]:
        """Return its numbers as JSON values."""
        return {
            "checks": [_scores_dict(scores) for scores in self.scores],
            "added": {
                route: {key: _added_dict(added) for key, added in figures.items()}
                for route, figures in self.added.items()
            },
            "refusals": self.refusals,
            "quality": None
            if self.quality is None
            else {
                "weak": self.quality.weak,
                "strong": self.quality.strong,
                "means": {name: rate_values(mean) for name, mean in self.quality.means.items()},
                "gap_recovered": {name: _known(value) for name, value in self.quality.recovered.items()},
                "oracle_share_strong": _known(self.quality.oracle),
                "n": self.quality.oracle_n,
                "agrees_with_oracle": _known(self.quality.agrees),
            },
        }


def _findings(run: CheckedRun) -> RouterFindings | None:
    """Return what a run's router checks tell; None where no route was decided."""
    scores = router_scores(run)
    if not scores:
        return None
    decided = scores[0].decisions
    return RouterFindings(
        tuple(scores), added_figures(run, decided), route_quality(run, decided), _refusals(run, decided)
    )


def _refusals(run: CheckedRun, decided: Decisions) -> int:
    if decided.fallback is None:
        return 0
    wrong = (decided.actual == decided.fallback) & (decided.expected != decided.fallback)
    return int((run.stage_features["refused"][decided.sample[wrong]] == 1).sum())


def wrong_routes(decided: Decisions) -> list[tuple[str, str, int]]:
    """Return the wrong routes as (expected, actual, questions), the most frequent first."""
    wrong = decided.confusion.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")
    pairs = ((int(at) // len(decided.routes), int(at) % len(decided.routes)) for at in order)
    return [
        (decided.routes[row], decided.routes[column], int(wrong[row, column]))
        for row, column in pairs
        if wrong[row, column]
    ]


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _optional(rate: Interval | None) -> dict[str, Any] | None:
    return None if rate is None else rate_values(rate)


def _scores_dict(scores_of: RouterScores) -> dict[str, Any]:
    decided, scores = scores_of.decisions, scores_of.scores
    mean, low, high = (_known(value) for value in scores_of.macro_f1)
    return {
        "check": decided.name,
        "routes": list(decided.routes),
        "confusion": decided.confusion.tolist() if len(decided.routes) <= 50 else None,
        "accuracy": rate_values(scores_of.accuracy),
        "in_scope": _optional(scores_of.in_scope),
        "out_of_scope_recall": _optional(scores_of.out_of_scope),
        "macro_f1": {"value": mean, "low": low, "high": high},
        "cost_of_a_decision": _known(scores_of.cost()),
        "wrong": [
            {"expected": first, "taken": other, "n": n} for first, other, n in wrong_routes(decided)[:100]
        ],
        "sent_to_fallback": scores_of.wrong.refused,
        "missed_fallback": scores_of.wrong.added,
        "between_others": scores_of.wrong.mixed_up,
        "by_route": [
            {
                "route": route,
                "support": int(scores.support[code]),
                "sent": int(scores.sent[code]),
                "precision": rate_values(scores_of.precision[code]),
                "recall": rate_values(scores_of.recall[code]),
                "f1": _known(float(scores.f1[code])),
                "always": _known(float(scores.constant[code])),
            }
            for code, route in enumerate(decided.routes)
        ],
    }


def _added_dict(added: Added) -> dict[str, Any]:
    return {
        "mean": added.mean,
        "low": _known(added.low),
        "high": _known(added.high),
        "median": added.median,
        "n_costly": added.n_costly,
        "n_cheap": added.n_cheap,
    }


ROUTER_SUITE = Suite(KEY, _findings)
