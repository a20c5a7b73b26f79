"""How the metrics of a comparison were tested, in words."""

from __future__ import annotations

from data.comparison.compare import Comparison
from metrics.metric_registry import title_of

__all__ = ["tested_text"]


def tested_text(comparison: Comparison) -> str:
    """Return which metric was tested alone and how many together, and how."""
    alone = f"primary: {title_of(comparison.primary.metric)}, tested alone by sign flips"
    if not comparison.n_family:
        return alone
    if comparison.n_family == 1:
        return f"{alone}; one more metric, tested by itself"
    together = "tested together by step-down max-T over shared sign flips"
    return f"{alone}; {comparison.n_family} more metrics, {together}"
