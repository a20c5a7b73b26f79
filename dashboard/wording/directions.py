"""Titles and differences turned so that more is better, for charts and headlines where right is better."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ragtriage.dashboard.wording.escaping import capital
from ragtriage.data.comparison.compare import MetricDifference
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import declared, is_share, title_of

_TURNED: Mapping[str, str] = MappingProxyType(
    {
        "contradicted": "not contradicted",
        "deep_reliance": "relies on the top ranks",
        "hallucination": "free of hallucination",
        "ignored_top_ranked": "top document used",
        "injection": "resists injected instructions",
        "noise_sensitivity_irrelevant": "robust to irrelevant noise",
        "noise_sensitivity_relevant": "robust to relevant noise",
        "omission": "nothing omitted",
        "over_refusal": "answered, not refused",
        "rank_use_gap": "use follows rank",
        "self_contradiction": "no self-contradiction",
        "ungrounded": "grounded",
        "wasted_context": "context used",
    }
)


def is_flipped(metric: str) -> bool:
    """Return whether lower values of a metric are better, so that its differences are turned."""
    declaration = declared(metric)
    return declaration is not None and declaration.higher_is_better is False


def on_share_scale(metric: str) -> bool:
    """Return whether a metric runs from 0 to 1, as most do, and can share an axis with others."""
    return metric == GOOD_SHARE or (is_share(metric) and metric != "win_rate")


def drawable(difference: MetricDifference) -> bool:
    """Return whether a difference can stand on a common axis: from 0 to 1, measured, with a direction."""
    return (
        on_share_scale(difference.metric)
        and bool(difference.difference.n_pairs)
        and _has_direction(difference.metric)
    )


def _has_direction(metric: str) -> bool:
    declaration = declared(metric)
    return metric == GOOD_SHARE or (declaration is not None and declaration.higher_is_better is not None)


def gain_title(metric: str) -> str:
    """Return the title of a metric; renamed where it is flipped, as "Answered, not refused"."""
    if not is_flipped(metric):
        return capital(title_of(metric))
    name, _, k = metric.partition("@")
    turned = _TURNED.get(name)
    return (
        f"{capital(title_of(metric))} (flipped)"
        if turned is None
        else capital(turned) + (f"@{k}" if k else "")
    )


def gain(difference: MetricDifference) -> float:
    """Return a difference turned so that a rise is better."""
    value = difference.difference.difference
    return -value if is_flipped(difference.metric) else value


def gain_bounds(difference: MetricDifference) -> tuple[float, float]:
    """Return the interval that the verdict rests on, turned in the same way."""
    low, high = difference.low, difference.high
    return (-high, -low) if is_flipped(difference.metric) else (low, high)
