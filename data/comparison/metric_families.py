"""Families of metrics: the metrics of a comparison, over which its p-values are corrected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.metric_registry import declared, imported_declarations, ordered

SHOWN_K = 5
FAMILIES: Mapping[str, str] = {
    "headline": "Headline metrics",
    "retrieval": "Retrieval",
    "generation": "Generation",
    "answer": "Answer",
    "system": "System",
    "all": "All shared metrics",
}


HEADLINE = frozenset(
    {
        *("recall", "ndcg", "all_hops_recall", "span_recall", "span_ndcg", "context_recall"),
        *("context_precision", "context_relevance", "answer_f1", "faithfulness", "hallucination"),
        *("answer_relevancy", "correctness", "ignored_top_ranked", "refusal_accuracy", "check_pass_rate"),
    }
)


def in_family(metric: str, family: str) -> bool:
    """Return whether a metric belongs to a family.

    The headline family has a few metrics of each component, and those that the project's users declared.
    """
    declaration = declared(metric)
    if family == "all":
        return True
    if family != "headline":
        return declaration is not None and declaration.component == family
    return metric.partition("@")[0] in HEADLINE or metric in imported_declarations()


def shared_metrics(scored_runs: Sequence[ScoredRun], k: int = SHOWN_K, family: str = "all") -> list[str]:
    """List the metrics of a family that all the runs have values for, in the registry's order.

    A metric at several k is listed at one k only: each further test makes the correction stricter.
    """
    common = set(scored_runs[0].metrics).intersection(*(scored.metrics for scored in scored_runs[1:]))
    return [
        name
        for name in ordered(tuple(common))
        if ("@" not in name or name.endswith(f"@{k}"))
        and in_family(name, family)
        and all(scored.has_values(name) for scored in scored_runs)
    ]
