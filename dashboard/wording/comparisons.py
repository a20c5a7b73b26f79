"""How the metrics of a comparison were tested, in words."""

from __future__ import annotations

from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.comparison.ablation import Effect
from ragtriage.data.comparison.compare import Comparison, MetricDifference
from ragtriage.data.declarations import HOW_TO_DECLARE
from ragtriage.metrics.metric_registry import declared, title_of
from ragtriage.metrics.number_text import count

MOST_NAMED = 6
VERDICT_LABELS = {
    "better": "▲ better",
    "worse": "▼ worse",
    "cannot tell": "· cannot tell",
    "unchanged": "= unchanged",
    "no direction": "? no direction",
}


def not_compared_text(comparison: Comparison) -> str:
    """Return why two runs have no metric to compare; empty where they have one."""
    if not len(comparison.matched.base):
        return "nothing to compare: the runs share no question"
    if not any(row.difference.n_pairs for row in comparison.differences):
        return "nothing to compare: no metric has a value in both runs on a shared question"
    return ""


def tested_text(comparison: Comparison) -> str:
    """Return which metric was tested alone and how many together, and how; or why none was tested."""
    nothing = not_compared_text(comparison)
    if nothing:
        return nothing
    alone = f"primary: {title_of(comparison.primary.metric)}, tested alone by sign flips"
    if not comparison.n_family:
        return alone
    if comparison.n_family == 1:
        return f"{alone}; one more metric, tested alone"
    together = "tested together by step-down max-T over shared sign flips"
    return f"{alone}; {comparison.n_family} more metrics, {together}"


def correction_text(comparison: Comparison, change: MetricDifference) -> str:
    """Return over how many metrics the interval of a change is corrected."""
    if change.primary:
        return "primary, tested alone"
    return "tested alone" if comparison.n_family == 1 else f"corrected over {comparison.n_family} metrics"


def effect_label(effect: Effect) -> str:
    """Return what an effect changed."""
    return f"{shorten(effect.factor, 30)}: {shorten(effect.before, 22)} → {shorten(effect.after, 22)}"


def family_text(n_tested: int, noun: str) -> str:
    """Return how differences on one page are tested, and which interval is shown."""
    if n_tested == 1:
        return f"one {noun}, tested by sign flips; the interval shown is the one the verdict uses"
    return (
        f"{count(n_tested, noun)}, tested together by step-down max-T over shared sign flips; the interval "
        "shown is the one the verdict uses"
    )


def undirected_text(comparison: Comparison) -> str:
    """Return which metrics are neither better nor worse for want of a direction, and how to declare it."""
    names = [row.metric for row in comparison.differences if row.verdict == "no direction"]
    if not names or not_compared_text(comparison):
        return ""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    named = f"{', '.join(map(title_of, names[:MOST_NAMED]))}{more}"
    known = all(declared(name) is not None for name in names)
    advice = "" if known else f"; {HOW_TO_DECLARE}"
    return f"No direction, so neither better nor worse: {named}{advice}."
