"""The scale of bands in use, and what a run's means say on it."""

from __future__ import annotations

from collections.abc import Mapping

from ragtriage.data.comparison.published_results import read_published
from ragtriage.data.diagnosis.run_checks import uncomputed_metrics
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.analysis.bands import GUIDES, TARGETS, BandScale, Interpretation, interpret
from ragtriage.metrics.metric_registry import declared, title_of

TARGETS_KEY = "targets"
SCALE_TITLES: Mapping[str, str] = {TARGETS_KEY: TARGETS, **{guide.key: guide.title for guide in GUIDES}}


def band_scale(workspace: Workspace, key: str = "") -> BandScale:
    """Return a scale by its key; the production targets, with the user's own, for any other text."""
    guide = next((guide for guide in GUIDES if guide.key == key), None)
    if guide is not None:
        return guide
    own = {metric: band.as_bands() for metric, band in read_published(workspace).bands.items()}
    return BandScale(TARGETS_KEY, TARGETS, own, declared=True)


def interpretations(
    scored: ScoredRun, summaries: Mapping[str, MetricSummary], scale: BandScale
) -> dict[str, Interpretation]:
    """Return what each mean of a run says; no band for values that look uncomputed."""
    doubted = uncomputed_metrics(scored)
    return {name: _interpret(name, summary, scale, name in doubted) for name, summary in summaries.items()}


def _interpret(name: str, summary: MetricSummary, scale: BandScale, doubted: bool) -> Interpretation:
    metric, title = declared(name), title_of(name)
    title = title if title[1:2].isupper() else title[:1].upper() + title[1:]
    if metric is None:
        value = (
            "was not measured"
            if summary.mean is None
            else f"is {summary.mean:.2f} over {summary.n_scored:,} questions"
        )
        meaning = "A score of the imported file without a declared direction: neither better nor worse."
        return Interpretation(None, False, f"{title} {value}.", meaning)
    if doubted:
        sentence = f"{title} is 0 throughout and was probably not computed, so it has no band."
        return Interpretation(None, False, sentence, metric.meaning)
    bands = scale.of(metric)
    return interpret(metric, title, summary.mean, summary.low, summary.high, summary.n_scored, bands)
