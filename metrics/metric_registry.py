"""Every metric by name: look one up, compute all a batch allows, say why the others are missing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import get_args

import numpy as np

from metrics.definitions import alignment, imported, judged, refusal, retrieval, similarity, spans, system
from metrics.definitions.claims import METRICS as CLAIM_METRICS
from metrics.definitions.spans import BUDGET_METRICS, BUDGETS, CHUNK_COUNT_METRICS
from metrics.schema.applicability import ANSWERABLE_LABEL, missing
from metrics.schema.batch import Batch
from metrics.schema.metric import CONVENTIONS, Component, Convention, Metric, MetricKey, parse_key
from metrics.schema.scores import MetricsError, Scores

__all__ = [
    "DEFAULT_KS",
    "REGISTRY",
    "bounds_of",
    "compute",
    "cuts_of",
    "declared",
    "is_share",
    "lookup",
    "metrics_table",
    "title_of",
    "unavailable",
    "unlabelled",
]

DEFAULT_KS = (1, 3, 5, 10)

REGISTRY: dict[str, Metric] = {
    metric.key: metric
    for family in (
        retrieval.METRICS,
        spans.METRICS,
        BUDGET_METRICS,
        CHUNK_COUNT_METRICS,
        imported.CONTEXT,
        CLAIM_METRICS,
        alignment.METRICS,
        judged.METRICS,
        imported.ANSWERS,
        similarity.METRICS,
        refusal.METRICS,
        imported.CITATIONS,
        system.METRICS,
        imported.FEEDBACK,
    )
    for metric in family
}


def lookup(name: str) -> MetricKey:
    """Find a metric by key or alias, with its rank cut-off, e.g. "recall@5" or "claim_recall".

    Raises:
        MetricsError: the name is not known, or its cut-off is missing or wrong; near names are listed.
    """
    return parse_key(name, REGISTRY)


def compute(
    batch: Batch, ks: Sequence[int] = DEFAULT_KS, convention: Convention = "default"
) -> dict[str, Scores]:
    """Every metric that the blocks of a batch allow, by full name ("recall@5"), in registry order.

    Args:
        batch: n samples; metrics whose block is absent are left out, see `unavailable`.
        ks: rank cut-offs of the metrics that take one; budgets in tokens are those of definitions.spans.
        convention: what to do with the undefined, see `metrics.schema.metric.CONVENTIONS`.

    Raises:
        MetricsError: a cut-off below 1 or an unknown convention.
    """
    if any(k < 1 for k in ks):
        raise MetricsError(f"rank cut-offs must be whole numbers of 1 or more, not {list(ks)}")
    if convention not in CONVENTIONS:
        raise MetricsError(f"unknown convention {convention!r}; known: {', '.join(CONVENTIONS)}")
    scores: dict[str, Scores] = {}
    for metric in REGISTRY.values():
        if metric.compute is None or missing(metric.needs, batch):
            continue
        for k in cuts_of(metric, ks):
            scores[MetricKey(metric, k).name] = metric.compute(batch, k or 0, convention)
    return scores


def cuts_of(metric: Metric, ks: Sequence[int]) -> Sequence[int | None]:
    """Give the cut-offs at which a metric is computed: None where it takes none."""
    if not metric.per_k:
        return [None]
    return BUDGETS if metric.unit == "tokens" else list(ks)


def unavailable(batch: Batch) -> dict[str, str]:
    """Key -> what the batch lacks, e.g. "needs gold documents: `relevant`", of each metric left out."""
    computable = (metric for metric in REGISTRY.values() if metric.compute is not None)
    lacking = {metric.key: missing(metric.needs, batch) for metric in computable}
    return {key: reason for key, reason in lacking.items() if reason}


def unlabelled() -> dict[str, str]:
    """Key -> what is lacking, of the metrics that have no value where no question is labelled answerable."""
    return {key: f"needs {ANSWERABLE_LABEL}" for key, one in REGISTRY.items() if "answerable" in one.needs}


def metrics_table() -> str:
    """The registry as Markdown: a heading and a table for each stage of the pipeline."""
    return "\n\n".join(_stage_table(stage) for stage in get_args(Component))


def _stage_table(stage: Component) -> str:
    rows = [_row(metric) for metric in REGISTRY.values() if metric.component == stage]
    head = ["Metric", "Meaning", "Formula", "Better", "Range", "Needs", "Not applicable", "Source"]
    lines = [head, ["---"] * len(head), *rows]
    return f"### {stage.capitalize()}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(metric: Metric) -> list[str]:
    also = f", also {', '.join(f'`{alias}`' for alias in metric.aliases)}" if metric.aliases else ""
    caution = f" **Caution:** {metric.caution}" if metric.caution else ""
    cells = [
        f"`{metric.key}` {metric.title}{also}",
        f"{metric.meaning}{caution}",
        metric.formula if metric.compute else f"{metric.formula} (not computed here)",
        _better(metric),
        f"{metric.bounds[0]:g} to {metric.bounds[1]:g}".replace("to inf", "up"),
        ", ".join(f"`{need}`" for need in metric.needs),
        metric.undefined,
        metric.reference,
    ]
    return [cell.replace("|", "\\|") for cell in cells]


def _better(metric: Metric) -> str:
    word = {True: "higher", False: "lower", None: "neither"}[metric.higher_is_better]
    if metric.bands is None:
        return word
    good, excellent = metric.bands
    edge = "up to" if metric.higher_is_better is False else "from"
    return f"{word}; good {edge} {good:g}, excellent {edge} {excellent:g}"


@cache
def declared(metric: str) -> Metric | None:
    """Find a metric's declaration; None for one that only the imported file knows."""
    try:
        return lookup(metric).metric
    except MetricsError:
        return None


@cache
def title_of(metric: str) -> str:
    """Name a metric for people."""
    try:
        return lookup(metric).title
    except MetricsError:
        return metric.replace("_", " ")


def bounds_of(metric: str) -> tuple[float, float]:
    """Give the least and greatest value a metric can take; infinite where nobody declared any."""
    found = declared(metric)
    return (-np.inf, np.inf) if found is None else found.bounds


def is_share(metric: str) -> bool:
    """Say whether a metric lies from 0 to 1, so that it can be written in percent."""
    return bounds_of(metric) == (0.0, 1.0)


def ordered(names: Sequence[str]) -> list[str]:
    """Sort metric names as the registry declares them, unknown ones last by name."""
    place = {key: at for at, key in enumerate(REGISTRY)}

    def rank(name: str) -> tuple[int, int, str]:
        found = declared(name)
        cut = name.partition("@")[2]
        at = len(place) if found is None else place[found.key]
        return (at, int(cut) if cut.isdigit() else 0, name)

    return sorted(names, key=rank)
