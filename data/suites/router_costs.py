"""What wrong routes cost, and what right ones win: latency and cost by route, quality by route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.router import Decisions
from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.schema.source import Source
from ragtriage.metrics.statistics.intervals import Interval, interval
from ragtriage.metrics.statistics.question_means import question_means
from ragtriage.metrics.suites.routing import Added, added_by, gap_recovered, oracle_routes

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


def added_figures(scored: ScoredRun, made: Decisions) -> dict[str, Added]:
    """Return latency and cost that the other routes take beyond the fallback, where a run records them."""
    if made.fallback is None:
        return {}
    taken = _taken(scored, made)
    cheap, costly = taken == made.fallback, (taken >= 0) & (taken != made.fallback)
    found = {name: added_by(scored.values(name), costly, cheap) for name in FIGURES if name in scored.sources}
    return {name: added for name, added in found.items() if added is not None}


def _taken(scored: ScoredRun, made: Decisions) -> IntArray:
    """(n,) code of the route that each sample took; -1 where none was decided."""
    taken = np.full(scored.n, -1, dtype=np.int64)
    taken[made.sample] = made.actual
    return taken


def route_quality(scored: ScoredRun, made: Decisions) -> RouteQuality | None:
    """Return the quality by route where a run has imported scores of both of two routes."""
    columns = _quality_columns(scored, made.routes)
    if len(made.routes) != 2 or len(columns) != 2:
        return None
    by_route = np.stack([scored.values(columns[route]) for route in made.routes], axis=1)
    overall = [_mean(scored, by_route[:, code]).mean for code in range(2)]
    if not np.isfinite(overall).all():
        return None
    weak, strong = (0, 1) if overall[0] <= overall[1] else (1, 0)
    cheapest_first = np.array([weak, strong])
    taken, best = _taken(scored, made), oracle_routes(by_route, cheapest_first)
    routed = np.where(taken >= 0, by_route[np.arange(scored.n), np.maximum(taken, 0)], np.nan)
    others = {name: scored.values(name) for name in _other_qualities(scored, columns)}
    means = {"as routed": _mean(scored, routed)} | {
        name: _mean(scored, values) for name, values in others.items()
    }
    known, both = best >= 0, (best >= 0) & (taken >= 0)
    return RouteQuality(
        made.routes[weak],
        made.routes[strong],
        {
            made.routes[weak]: _mean(scored, by_route[:, weak]),
            made.routes[strong]: _mean(scored, by_route[:, strong]),
            **means,
        },
        {name: gap_recovered(mean.mean, overall[weak], overall[strong]) for name, mean in means.items()},
        float((best[known] == strong).mean()) if known.any() else float("nan"),
        int(known.sum()),
        float((best[both] == taken[both]).mean()) if both.any() else float("nan"),
    )


def _quality_columns(scored: ScoredRun, routes: tuple[str, ...]) -> dict[str, str]:
    """Return route -> the imported score of its answers, as score_strong or strong_quality."""
    imported = [name for name, sources in scored.sources.items() if Source.IMPORTED in sources]
    found = {}
    for route in routes:
        plain = "_".join(route.casefold().split())
        names = [name for part in PARTS for name in (f"{part}_{plain}", f"{plain}_{part}")]
        mine = next((name for name in names if name in imported), None)
        if mine is not None:
            found[route] = mine
    return found


def _other_qualities(scored: ScoredRun, columns: Mapping[str, str]) -> list[str]:
    """Return further imported scores whose name says that they are of the same kind."""
    return [
        name
        for name, sources in scored.sources.items()
        if Source.IMPORTED in sources
        and name not in columns.values()
        and any(name.startswith(f"{part}_") or name.endswith(f"_{part}") for part in PARTS)
    ]


def _mean(scored: ScoredRun, values: FloatArray) -> Interval:
    """Return the mean over questions; the scale of the scores is not known."""
    means = question_means(values, scored.question)[0]
    n = int(np.isfinite(means).sum())
    return interval(means, scored.clusters, n, bounds=(-np.inf, np.inf))
