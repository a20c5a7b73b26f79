"""A metric over the versions of a project, as a point of a story."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.charts import Point, trend
from dashboard.rounding import count, interval_text, number
from dashboard.story import Made
from dashboard.story_view import StoryView
from dashboard.text import capital
from metrics.catalogue import title_of

__all__ = ["HEADLINE", "trend_piece"]

HEADLINE = (
    "recall@5",
    "ndcg@5",
    "context_recall",
    "context_precision",
    "faithfulness",
    "answer_relevancy",
    "correctness",
    "hallucination",
    "ignored_top_ranked",
)


def trend_piece(view: StoryView, chosen: Mapping[str, str]) -> Made:
    """Give a metric over versions; `metric` of the choices says which, else the first headline metric."""
    metric = chosen.get("metric") or next((name for name in HEADLINE if name in view.summary), "")
    points = [_point(view, run.run_id, metric) for run in view.runs]
    measured = [one for one in points if one.mean is not None]
    title = capital(title_of(metric)) if metric else "Metric"
    heading = f"{title} over versions"
    if not measured:
        return Made("trend", heading, "No version has this measured.")
    base = _point(view, view.baseline.run_id, metric).mean if view.baseline else None
    return Made(
        "trend",
        heading,
        figure=trend(points, title, base),
        rows=[
            {
                "Version": one.label,
                "Made": one.when,
                "Mean": number(one.mean),
                "95 % interval": interval_text(one.low, one.high),
                "n": one.n,
            }
            for one in measured
        ],
        facts=[count(len(measured), "version"), "95 % intervals over questions", "dashed: the baseline"],
        alt=f"{title} of each version with 95 % intervals",
    )


def _point(view: StoryView, run_id: str, metric: str) -> Point:
    run = next(one for one in view.runs if one.run_id == run_id)
    one = view.catalogue.summary(run).get(metric)
    mean, low, high, n = (one.mean, one.low, one.high, one.n_scored) if one else (None, None, None, 0)
    when = f"{run.created_at:%Y-%m-%d %H:%M}"
    return Point(view.names[run_id], when, mean, low, high, n, run_id == view.run.run_id)
