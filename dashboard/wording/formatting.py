"""Numbers as people read them: rounded, with n, interval and source; not measured is a dash, never 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dashboard.wording.escaping import capital
from data.scoring.summaries import MetricSummary
from metrics.metric_registry import declared, title_of
from metrics.statistics.intervals import Interval

__all__ = [
    "METHODS",
    "NOT_MEASURED",
    "count",
    "interval_text",
    "mean_text",
    "methods",
    "metric_label",
    "number",
    "p_value",
    "percent",
    "signed",
    "source_text",
    "span",
]

NOT_MEASURED = "–"
SHORT_SOURCES = {"human": "people", "judged": "judge"}


def number(value: float | None, digits: int = 2) -> str:
    """Write a value with fixed digits; large values get thousands separators."""
    if value is None or not np.isfinite(value):
        return NOT_MEASURED
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def percent(value: float | None) -> str:
    """Write a share as whole percent."""
    return NOT_MEASURED if value is None or not np.isfinite(value) else f"{100 * value:.0f} %"


def signed(value: float | None, digits: int = 2) -> str:
    """Write a difference with its sign, a true minus; 0.00 carries none."""
    text = number(value, digits)
    if text == NOT_MEASURED or value is None or float(text.replace(",", "")) == 0:
        return text
    return f"+{text}" if value > 0 else text.replace("-", "−")


def interval_text(low: float | None, high: float | None, digits: int = 2) -> str:
    """Write a 95 % interval in brackets; a dash where there is none."""
    if low is None or high is None or not (np.isfinite(low) and np.isfinite(high)):
        return NOT_MEASURED
    return f"[{number(low, digits)}, {number(high, digits)}]"


def p_value(value: float) -> str:
    """Write a p value; very small ones as a bound."""
    if not np.isfinite(value):
        return NOT_MEASURED
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def count(value: int, noun: str) -> str:
    """Write a number of things: 1 case, 2 cases, 1,200 cases."""
    plural = noun if value == 1 else f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{value:,} {plural}"


def source_text(aggregate: MetricSummary | None, sources: Mapping[str, int] | None = None) -> str:
    """Say how a number was obtained: the source, or the mix with its counts."""
    found = sources if aggregate is None else aggregate.sources
    if not found:
        return NOT_MEASURED
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{name} {n:,}" for name, n in found.items())


METHODS = {
    "wilson": "Wilson's interval",
    "exact": "exact interval",
    "t": "interval by Student's t",
    "bootstrap": "bootstrap over questions or conversations",
    "normal": "normal interval",
    "no variance": "bound, as no value differs",
}


def span(value: Interval) -> str:
    """Write a 95 % interval in percent."""
    return f"{percent(value.low)} to {percent(value.high)}"


def methods(values: Sequence[Interval]) -> str:
    """Say how the intervals of a chart were obtained."""
    known = dict.fromkeys(METHODS[one.method] for one in values if one.method in METHODS)
    return f"95 %: {', '.join(known)}" if known else ""


def metric_label(metric: str) -> str:
    """Name a metric, with its direction where lower is better."""
    found = declared(metric)
    lower = " (lower is better)" if found is not None and found.higher_is_better is False else ""
    title = title_of(metric)
    return f"{capital(title)}{lower}"


def mean_text(one: MetricSummary | None) -> str:
    """Write a mean over questions with its interval and n."""
    if one is None or one.mean is None:
        return NOT_MEASURED
    return f"{number(one.mean, 3)} {interval_text(one.low, one.high, 3)}, n = {one.n_scored:,}"
