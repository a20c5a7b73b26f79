"""What the suite Router tells: its accuracy beside constant routers, wrong routes, what they cost and win."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.router import Decisions, RouterScores, router_scores
from ragtriage.data.suites.router_costs import RouteQuality, added_figures, route_quality
from ragtriage.data.suites.summary import rate_values
from ragtriage.metrics.number_text import percent
from ragtriage.metrics.result_table import Cell, ResultTable
from ragtriage.metrics.statistics.intervals import Interval
from ragtriage.metrics.suites.routing import Added

MOST_ROWS = 20
LONGEST_VALUE = 1200  # characters of a cohort's value
CHEAP = ("weak", "small")  # routes that answer all the same
UNITS = {"latency_ms": ("latency", "ms"), "cost_usd": ("cost", "USD")}


def route_cohort(expected: str, actual: str) -> str:
    """Return the cohort of the cases that should take one route and took another, or the same.

    Routes that are too long for an address give the cohort of the whole suite.
    """
    value = f"{quote(expected, safe='')}>{quote(actual, safe='')}"
    return f"route:{value}" if len(value) <= LONGEST_VALUE else "suite:router"


@dataclass(frozen=True)
class RouterDetail:
    """What a router's checks tell; see ragtriage.data.suites.detail.

    Attributes:
        scores: for each name of check, the usual names first.
        added: latency and cost that other routes take beyond the fallback.
        quality: by route, where the run has imported scores of both of two routes.
        refusals: of the questions wrongly sent to the fallback, those whose answer reads as a refusal.
    """

    scores: tuple[RouterScores, ...]
    added: Mapping[str, Added]
    quality: RouteQuality | None
    refusals: int

    @property
    def main(self) -> RouterScores:
        """The scores of the first name of check."""
        return self.scores[0]

    @property
    def statement(self) -> str:
        """What a person would say of the router."""
        main = self.main
        route, constant = main.best_constant
        beats = "more than" if main.accuracy.low > constant else "no better than"
        beats = "fewer than" if main.accuracy.high < constant else beats
        text = (
            f"{percent(main.accuracy.mean)} of {main.accuracy.n_scored:,} questions take the right route, "
            f"{beats} the {percent(constant)} of always “{route[:40]}”."
        )
        if main.in_scope is not None and main.out_of_scope is not None and main.out_of_scope.n_scored:
            text += (
                f" In scope {percent(main.in_scope.mean)}; of the questions out of scope "
                f"{percent(main.out_of_scope.mean)} are recognised."
            )
        return f"{text} {_directions(main)}".strip()

    @property
    def tables(self) -> tuple[ResultTable, ...]:
        """Routers side by side, routes, wrong routes, quality, other names."""
        tables = [self._routers(), self._routes(), _wrong(self.main.decisions), self._costs()]
        if self.quality is not None:
            tables.append(_qualities(self.quality))
        if len(self.scores) > 1:
            tables.append(self._names())
        return tuple(table for table in tables if table.rows)

    def _routers(self) -> ResultTable:
        main = self.main
        rows: list[Mapping[str, Cell]] = [
            {"Router": "this one", "Accuracy": main.accuracy, "Cost of a decision": main.cost()}
        ]
        best = np.argsort(-main.scores.constant, kind="stable")[:3]
        n = int(main.scores.support.sum())
        rows += [
            {
                "Router": f"always “{main.decisions.routes[code][:40]}”",
                "Accuracy": f"{percent(float(main.scores.constant[code]))} of {n:,}",
                "Cost of a decision": main.constant_cost(int(code)),
            }
            for code in best
        ]
        note = (
            "An accuracy means little beside a constant router that does better. Cost: every wrong route 1."
        )
        return ResultTable("Beside constant routers", tuple(rows), note)

    def _routes(self) -> ResultTable:
        main = self.main
        rows = [
            {
                "Route": route,
                "Expected": int(main.scores.support[code]),
                "Sent": int(main.scores.sent[code]),
                "Precision": main.precision[code],
                "Recall": main.recall[code],
                "F1": _known(float(main.scores.f1[code])),
            }
            for code, route in enumerate(main.decisions.routes[:MOST_ROWS])
        ]
        mean, low, high = main.macro_f1
        note = f"Macro F1 {mean:.3f} [{low:.3f}, {high:.3f}] over {len(main.scores.f1)} routes, bootstrap."
        if len(main.decisions.routes) > MOST_ROWS:
            note += f" The {MOST_ROWS} routes that most questions should take."
        cohorts = tuple(route_cohort(route, "") for route in main.decisions.routes[:MOST_ROWS])
        return ResultTable("By route", tuple(rows), note, cohorts)

    def _costs(self) -> ResultTable:
        """Return what each direction of wrong routes is, with latency and cost that the second one added."""
        main, fallback = self.main, self.main.decisions.fallback
        if fallback is None:
            return ResultTable("What wrong routes cost", ())
        name, wrong = main.decisions.routes[fallback][:40], main.wrong
        rows: list[Mapping[str, Cell]] = [
            {
                "Wrong route": f"to “{name}”",
                "Questions": wrong.refused,
                "What it means": self._sent_to(name),
            },
            {
                "Wrong route": f"to another route instead of “{name}”",
                "Questions": wrong.added,
                "What it means": "; ".join(_added(key, one, wrong.added) for key, one in self.added.items())
                or "the run records neither latency nor cost by route",
            },
            {"Wrong route": "between other routes", "Questions": wrong.mixed_up, "What it means": ""},
        ]
        note = (
            "Latency and cost are the run's own: mean of the other routes' answers less that of the fallback."
        )
        return ResultTable("What wrong routes cost", tuple(rows), note if self.added else "")

    def _sent_to(self, fallback: str) -> str:
        if fallback.casefold() in CHEAP:
            return "answered by the cheaper route"
        return f"counted as refusals; {self.refusals:,} of the answers read as one"

    def _names(self) -> ResultTable:
        rows = [
            {
                "Check": one.decisions.name,
                "Routes": len(one.decisions.routes),
                "Accuracy": one.accuracy,
                "In scope": one.in_scope,
                "Out-of-scope recall": one.out_of_scope,
                "Macro F1": _known(one.macro_f1[0]),
            }
            for one in self.scores
        ]
        return ResultTable("Every check of the router", tuple(rows), f"Above: {self.main.decisions.name}.")

    def to_dict(self) -> dict[str, Any]:
        """Return its numbers as JSON values."""
        return {
            "checks": [_scores_dict(one) for one in self.scores],
            "added": {key: _added_dict(one) for key, one in self.added.items()},
            "refusals": self.refusals,
            "quality": None if self.quality is None else _quality_dict(self.quality),
        }


def router_detail(scored: ScoredRun) -> RouterDetail | None:
    """Return what a run's router checks tell; None where no route was decided."""
    scores = router_scores(scored)
    if not scores:
        return None
    made = scores[0].decisions
    return RouterDetail(
        tuple(scores), added_figures(scored, made), route_quality(scored, made), _refusals(scored, made)
    )


def _refusals(scored: ScoredRun, made: Decisions) -> int:
    if made.fallback is None:
        return 0
    wrong = (made.actual == made.fallback) & (made.expected != made.fallback)
    return int((scored.stage_features["refused"][made.sample[wrong]] == 1).sum())


def wrong_routes(made: Decisions) -> list[tuple[str, str, int]]:
    """Return the wrong routes as (expected, actual, questions), the most frequent first."""
    wrong = made.confusion.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")
    pairs = ((int(at) // len(made.routes), int(at) % len(made.routes)) for at in order)
    return [
        (made.routes[row], made.routes[column], int(wrong[row, column]))
        for row, column in pairs
        if wrong[row, column]
    ]


def _wrong(made: Decisions) -> ResultTable:
    pairs = wrong_routes(made)
    rows: list[Mapping[str, Cell]] = [
        {"Expected": one, "Taken": other, "Questions": n} for one, other, n in pairs[:MOST_ROWS]
    ]
    note = f"The {MOST_ROWS} most frequent of {len(pairs):,}." if len(pairs) > MOST_ROWS else ""
    cohorts = tuple(route_cohort(one, other) for one, other, _ in pairs[:MOST_ROWS])
    return ResultTable("Wrong routes", tuple(rows), note, cohorts)


def _qualities(quality: RouteQuality) -> ResultTable:
    rows: list[Mapping[str, Cell]] = [
        {
            "Answers": f"always “{name}”" if name in (quality.weak, quality.strong) else name,
            "Mean quality": f"{mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}]",
            "n": mean.n_scored,
            "Gap recovered": _known(quality.recovered.get(name, float("nan"))),
        }
        for name, mean in quality.means.items()
    ]
    note = (
        f"Imported scores. The oracle, ties to the cheaper route, sends {percent(quality.oracle)} of "
        f"{quality.oracle_n:,} questions to “{quality.strong[:40]}”; the router agrees on "
        f"{percent(quality.agrees)}. Gap recovered: (q - weak) / (strong - weak), RouteLLM."
    )
    return ResultTable("Quality by route", tuple(rows), note)


def _directions(main: RouterScores) -> str:
    wrong, fallback = main.wrong, main.decisions.fallback
    if fallback is None or not (wrong.refused or wrong.added):
        return ""
    name = main.decisions.routes[fallback][:40]
    return f"{wrong.refused:,} went to “{name}” wrongly, {wrong.added:,} missed it."


def _added(key: str, added: Added, n: int) -> str:
    what, unit = UNITS[key]
    digits = 0 if unit == "ms" else 4
    each = f"{added.mean:,.{digits}f} {unit}"
    ends = f"[{added.low:,.{digits}f}, {added.high:,.{digits}f}]" if np.isfinite(added.low) else "no interval"
    counts = f"n = {added.n_costly:,} and {added.n_cheap:,}"
    total = f"{added.mean * n:,.{digits}f} {unit} in all"
    return f"{each} more {what} each {ends}, median {added.median:,.{digits}f}, {counts}: {total}"


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _rate(rate: Interval | None) -> dict[str, Any] | None:
    return None if rate is None else rate_values(rate)


def _scores_dict(scores_of: RouterScores) -> dict[str, Any]:
    made, scores = scores_of.decisions, scores_of.scores
    mean, low, high = (_known(value) for value in scores_of.macro_f1)
    return {
        "check": made.name,
        "routes": list(made.routes),
        "confusion": made.confusion.tolist() if len(made.routes) <= 50 else None,
        "accuracy": rate_values(scores_of.accuracy),
        "in_scope": _rate(scores_of.in_scope),
        "out_of_scope_recall": _rate(scores_of.out_of_scope),
        "macro_f1": {"value": mean, "low": low, "high": high},
        "cost_of_a_decision": _known(scores_of.cost()),
        "wrong": [
            {"expected": first, "taken": other, "n": n} for first, other, n in wrong_routes(made)[:100]
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
            for code, route in enumerate(made.routes)
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


def _quality_dict(quality: RouteQuality) -> dict[str, Any]:
    return {
        "weak": quality.weak,
        "strong": quality.strong,
        "means": {name: rate_values(mean) for name, mean in quality.means.items()},
        "gap_recovered": {name: _known(value) for name, value in quality.recovered.items()},
        "oracle_share_strong": _known(quality.oracle),
        "n": quality.oracle_n,
        "agrees_with_oracle": _known(quality.agrees),
    }
