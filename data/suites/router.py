"""The suite Router: which routes are mixed up, beside constant routers, with what wrong routes cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.check_table import CheckTable, check_table
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import Interval, intervals, mean_over_questions
from ragtriage.metrics.statistics.question_means import question_means
from ragtriage.metrics.suites.routing import (
    RouteScores,
    confusion_matrix,
    expected_cost,
    macro_f1_interval,
    route_scores,
)

OUT_OF_SCOPE = (
    *("oos", "out of scope", "out-of-scope", "out_of_scope", "fallback", "none", "refuse", "refusal"),
    *("unknown",),
)  # routes of questions that the system has no answer for
FALLBACKS = (*OUT_OF_SCOPE, "offline", "local", "weak", "small")  # and those that cost little
USUAL_NAMES = ("route", "router", "routing")
MOST_ROUTES = 400  # more are no routes but free text


@dataclass(frozen=True)
class Decisions:
    """The decided routes of one name of check.

    Attributes:
        name: of the checks.
        routes: the routes, those that most questions should take first.
        sample: (m,) row of the sample of each decision.
        expected: (m,) code of the expected route.
        actual: (m,) code of the route that was taken.
        fallback: code of the route that stands for no answer or the cheap one; None where no name says so.
    """

    name: str
    routes: tuple[str, ...]
    sample: IntArray
    expected: IntArray
    actual: IntArray
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
    """Wrong routes by direction.

    Attributes:
        refused: sent to the fallback though another route was right.
        added: sent to another route though the fallback was right.
        mixed_up: sent to a wrong one of the other routes.
    """

    refused: int
    added: int
    mixed_up: int


@dataclass(frozen=True)
class RouterScores:
    """How well one name of checks is routed.

    Attributes:
        decisions: what was decided.
        scores: of each route.
        accuracy: mean over questions.
        in_scope: the same where the right route is not out of scope; None where no route is.
        out_of_scope: the same where it is: out-of-scope recall.
        precision: of each route, mean over questions sent there.
        recall: of each route, mean over questions that should go there.
        macro_f1: mean F1 over the routes with the ends of its interval.
        wrong: wrong routes by direction.
    """

    decisions: Decisions
    scores: RouteScores
    accuracy: Interval
    in_scope: Interval | None
    out_of_scope: Interval | None
    precision: tuple[Interval, ...]
    recall: tuple[Interval, ...]
    macro_f1: tuple[float, float, float]
    wrong: WrongRoutes

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
    mine = checks.of("router") & checks.decided
    names = [name for name, _ in checks.name.counts(mine, 20)]
    ordered = sorted(names, key=lambda name: name.casefold() not in USUAL_NAMES)
    found = [_decisions(checks, name, mine & checks.name.equal(name)) for name in ordered]
    return [one for one in found if one is not None]


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


def router_scores(scored: ScoredRun) -> list[RouterScores]:
    """Return the scores of a run's router, for each name of its checks."""
    checks = check_table(scored)
    return [] if checks is None else [_scores(scored, one) for one in decisions(checks)]


def _scores(scored: ScoredRun, made: Decisions) -> RouterScores:
    confusion, fallback = made.confusion, made.fallback
    right = (made.expected == made.actual).astype(np.float64)
    scores = route_scores(confusion)
    outside = made.expected == (-1 if fallback is None else fallback)
    low, high = macro_f1_interval(
        made.expected, made.actual, scored.clusters[scored.question[made.sample]], len(made.routes)
    )
    refused = 0 if fallback is None else int(confusion[:, fallback].sum() - confusion[fallback, fallback])
    added = 0 if fallback is None else int(confusion[fallback].sum() - confusion[fallback, fallback])
    return RouterScores(
        made,
        scores,
        _rate(scored, made, right, np.ones(len(right), dtype=np.bool_)),
        _rate(scored, made, right, ~outside) if made.out_of_scope else None,
        _rate(scored, made, right, outside) if made.out_of_scope else None,
        _by_route(scored, made, right, made.actual),
        _by_route(scored, made, right, made.expected),
        (scores.macro_f1, low, high),
        WrongRoutes(refused, added, int(len(right) - right.sum()) - refused - added),
    )


def _means(scored: ScoredRun, made: Decisions, right: FloatArray, chosen: BoolArray) -> FloatArray:
    """(q,) share of a question's chosen decisions that are right; NaN where it has none."""
    sample = made.sample[chosen]
    total = np.bincount(sample, minlength=scored.n)
    hits = np.bincount(sample, right[chosen], minlength=scored.n)
    shares = np.divide(hits, total, out=np.full(scored.n, np.nan), where=total > 0)
    return question_means(shares, scored.question)[0]


def _rate(scored: ScoredRun, made: Decisions, right: FloatArray, chosen: BoolArray) -> Interval:
    return mean_over_questions(_means(scored, made, right, chosen), scored.clusters)


def _by_route(scored: ScoredRun, made: Decisions, right: FloatArray, codes: IntArray) -> tuple[Interval, ...]:
    matrix = np.array([_means(scored, made, right, codes == code) for code in range(len(made.routes))]).T
    known = np.isfinite(matrix).sum(axis=0).tolist()
    return tuple(intervals(matrix, scored.clusters, known, [True] * len(made.routes)))
