"""The registry of all metrics: look one up, compute all a batch allows, explain why others are missing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import MappingProxyType
from typing import get_args

import numpy as np

from ragtriage.metrics.definitions import (
    alignment,
    answer_text,
    citations,
    context_quality,
    imported,
    judged,
    refusal,
    retrieval,
    spans,
    system,
)
from ragtriage.metrics.definitions.claims import METRICS as CLAIM_METRICS
from ragtriage.metrics.definitions.spans import BUDGET_METRICS, BUDGETS, CHUNK_COUNT_METRICS
from ragtriage.metrics.schema.batch import Batch
from ragtriage.metrics.schema.metric import (
    ANSWERABLE_LABEL,
    CONVENTIONS,
    Component,
    Convention,
    Metric,
    MetricKey,
    find_key,
    missing,
    parse_key,
    whole_number,
)
from ragtriage.metrics.schema.scores import MetricsError, Scores

__all__ = [
    "DEFAULT_KS",
    "REGISTRY",
    "both_titles",
    "bounds_of",
    "compute",
    "cutoffs_of",
    "declare_imported",
    "declared",
    "imported_declarations",
    "is_share",
    "known_name",
    "lookup",
    "metrics_table",
    "plain_names",
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
        context_quality.METRICS,
        context_quality.LOCAL_MODEL_METRICS,
        CLAIM_METRICS,
        judged.HALLUCINATION_METRICS,
        alignment.METRICS,
        judged.METRICS,
        answer_text.WORDING_METRICS,
        imported.ANSWERS,
        answer_text.SIMILARITY_METRICS,
        answer_text.EXPERIMENT_METRICS,
        refusal.METRICS,
        citations.METRICS,
        system.METRICS,
        imported.FEEDBACK,
    )
    for metric in family
}

# What the users of a project declared of imported metrics. Like the context of `decimal`, it is of the thread
# or task: two browser tabs on two projects may know different metrics of one name.
_IMPORTED: ContextVar[Mapping[str, Metric]] = ContextVar("imported", default=MappingProxyType({}))


# Whether metrics go by their plain names, as in reports for leads and stakeholders; of the thread, as above.
_PLAIN: ContextVar[bool] = ContextVar("plain", default=False)


@contextmanager
def plain_names(wanted: bool = True) -> Iterator[None]:
    """Let `title_of` return, inside the block, the plain names of metrics or their technical ones."""
    token = _PLAIN.set(wanted)
    try:
        yield
    finally:
        _PLAIN.reset(token)


def declare_imported(metrics: Mapping[str, Metric]) -> None:
    """Put the declarations of imported metrics in force for this thread or task, in place of earlier ones."""
    _IMPORTED.set({name: metric for name, metric in metrics.items() if _registered(name) is None})


def imported_declarations() -> Mapping[str, Metric]:
    """Return the declarations of imported metrics that are in force, by name."""
    return _IMPORTED.get()


def lookup(name: str) -> MetricKey:
    """Find a metric by key or alias, with its k where it takes one, e.g. "recall@5" or "claim_recall".

    Raises:
        MetricsError: the name is not known, or its k is missing or invalid; similar names are listed.
    """
    imported = _IMPORTED.get().get(name)
    return parse_key(name, REGISTRY) if imported is None else MetricKey(imported, None)


def known_name(name: str) -> str:
    """Return the key of a declared metric for its name or alias; other names are returned unchanged."""
    key = _registered(name)
    return name if key is None or name in _IMPORTED.get() else key.name


def compute(
    batch: Batch, ks: Sequence[int] = DEFAULT_KS, convention: Convention = "default"
) -> dict[str, Scores]:
    """Compute every metric that the blocks of a batch allow, by full name ("recall@5"), in registry order.

    Args:
        batch: n samples; metrics whose block is absent are left out, see `unavailable`.
        ks: of the metrics over ranks; token budgets are those of definitions.spans.
        convention: how undefined values are treated, see `ragtriage.metrics.schema.metric.CONVENTIONS`.

    Raises:
        MetricsError: a k below 1 or an unknown convention.
    """
    if any(k < 1 for k in ks):
        raise MetricsError(f"k must be a whole number of 1 or more, not {list(ks)}")
    if convention not in CONVENTIONS:
        raise MetricsError(f"unknown convention {convention!r}; known: {', '.join(CONVENTIONS)}")
    scores: dict[str, Scores] = {}
    for metric in REGISTRY.values():
        if metric.compute is None or missing(metric.needs, batch):
            continue
        for k in cutoffs_of(metric, ks):
            scores[MetricKey(metric, k).name] = metric.compute(batch, k or 0, convention)
    return scores


def cutoffs_of(metric: Metric, ks: Sequence[int]) -> Sequence[int | None]:
    """Return the values of k at which a metric is computed: None where it takes none."""
    if not metric.per_k:
        return [None]
    return BUDGETS if metric.unit == "tokens" else list(ks)


def unavailable(batch: Batch) -> dict[str, str]:
    """Return what the batch lacks for each metric left out, e.g. "needs gold documents: `relevant`"."""
    computable = (metric for metric in REGISTRY.values() if metric.compute is not None)
    lacking = {metric.key: missing(metric.needs, batch) for metric in computable}
    if lacking["context_recall"] and batch.rankings is not None:
        lacking["context_recall"] += "; gold documents give recall@k instead"
    return {key: reason for key, reason in lacking.items() if reason}


def unlabelled() -> dict[str, str]:
    """Return what is missing for each metric that is undefined unless questions are labelled answerable."""
    return {
        key: f"needs {ANSWERABLE_LABEL}" for key, metric in REGISTRY.items() if "answerable" in metric.needs
    }


def metrics_table() -> str:
    """Return the registry as Markdown: a heading and a table for each component of the pipeline."""
    return "\n\n".join(_component_table(component) for component in get_args(Component))


def _component_table(component: Component) -> str:
    rows = [_row(metric) for metric in REGISTRY.values() if metric.component == component]
    head = ["Metric", "Meaning", "Formula", "Better", "Range", "Needs", "Not applicable", "Source"]
    lines = [head, ["---"] * len(head), *rows]
    return f"### {component.capitalize()}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(metric: Metric) -> list[str]:
    also = f", also {', '.join(f'`{alias}`' for alias in metric.aliases)}" if metric.aliases else ""
    plain = f"; in plain words: {metric.plain}" if metric.plain else ""
    caution = f" **Caution:** {metric.caution}" if metric.caution else ""
    cells = [
        f"`{metric.key}` {metric.title}{also}{plain}",
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
def _registered(name: str) -> MetricKey | None:
    return find_key(name, REGISTRY)


def declared(metric: str) -> Metric | None:
    """Return a metric's declaration; None for an imported one of which nobody declared anything."""
    key = _registered(metric)
    return _IMPORTED.get().get(metric) if key is None else key.metric


def title_of(metric: str) -> str:
    """Return the name of a metric on screen, inside `plain_names` the plain one."""
    key = _registered(metric)
    if key is not None:
        return (_PLAIN.get() and key.metric.plain) or key.title
    imported = _IMPORTED.get().get(metric)
    return metric.replace("_", " ") if imported is None else imported.title


def both_titles(metric: str) -> str:
    """Return the name of a metric on screen; inside `plain_names` with the technical one in brackets."""
    title, key = title_of(metric), _registered(metric)
    return title if key is None or title == key.title else f"{title} ({key.title})"


def bounds_of(metric: str) -> tuple[float, float]:
    """Return the least and greatest value a metric can take; infinite for an undeclared one."""
    declaration = declared(metric)
    return (-np.inf, np.inf) if declaration is None else declaration.bounds


def is_share(metric: str) -> bool:
    """Return whether a metric ranges from 0 to 1, so that it can be written in percent."""
    return bounds_of(metric) == (0.0, 1.0)


def ordered(names: Sequence[str]) -> list[str]:
    """Sort metric names in registry order, those of imported files last by name."""
    position = {key: at for at, key in enumerate(REGISTRY)}

    def rank(name: str) -> tuple[int, int, str]:
        declaration = declared(name)
        k = name.partition("@")[2]
        at = len(position) if declaration is None else position.get(declaration.key, len(position))
        return (at, whole_number(k) or 0, name)

    return sorted(names, key=rank)
