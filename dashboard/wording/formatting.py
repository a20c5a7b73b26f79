"""Numbers as text: rounded, with n, interval and source; a value that was not measured is a dash, never 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ragtriage.dashboard.wording.escaping import capital
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.metric_registry import declared, title_of
from ragtriage.metrics.statistics.intervals import Interval

NOT_MEASURED = "–"
NEARLY_ALL = 0.995  # shares that a whole percentage would round to all
ROUNDING = 1e-9
MINUS = "\u2212"  # the sign, where a hyphen would be read as one
LARGEST = 1e12  # values beyond are written as 1.00e+12
METHODS = {
    "wilson": "Wilson's interval",
    "exact": "exact interval",
    "t": "interval by Student's t",
    "bootstrap": "bootstrap over questions or conversations",
    "normal": "normal interval",
    "no variance": "bound, as no value differs",
}


def method_text(method: str, too_few: bool = False) -> str:
    """Return how an interval was obtained, in words, and whether it rests on few questions."""
    return METHODS.get(method, method) + (", few questions" if too_few else "")


def number(value: float | None, digits: int = 2) -> str:
    """Format a value with fixed digits and a true minus; large values get thousands separators."""
    if value is None or not np.isfinite(value):
        return NOT_MEASURED
    if abs(value) >= LARGEST:
        return f"{value:.2e}".replace("-", MINUS)
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace("-", MINUS)
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", MINUS)


def percent(value: float | None) -> str:
    """Format a share as a whole percentage; only all reads 100 %, and only none 0 %."""
    if value is None or not np.isfinite(value):
        return NOT_MEASURED
    if NEARLY_ALL <= value < 1 - ROUNDING:
        return f"{min(100 * value, 99.9):.1f} %"
    if ROUNDING < value < 1 - NEARLY_ALL:
        return f"{max(100 * value, 0.1):.1f} %"
    return f"{100 * value:.0f} %".replace("-", MINUS)


def signed(value: float | None, digits: int = 2) -> str:
    """Format a difference with its sign and a true minus; 0.00 has no sign."""
    text = number(value, digits)
    if text == NOT_MEASURED or value is None or not text.strip("0."):
        return text
    return f"+{text}" if value > 0 else text


def interval_text(low: float | None, high: float | None, digits: int = 2) -> str:
    """Format a 95 % interval in brackets; a dash where there is none."""
    if low is None or high is None or not (np.isfinite(low) and np.isfinite(high)):
        return NOT_MEASURED
    return f"[{number(low, digits)}, {number(high, digits)}]"


def p_value(value: float) -> str:
    """Format a p value; very small ones as a bound."""
    if not np.isfinite(value):
        return NOT_MEASURED
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def count(value: int, noun: str) -> str:
    """Format a number of things: 1 case, 2 cases, 1,200 cases."""
    plural = noun if value == 1 else f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{value:,} {plural}"


def rounded_up(n: int) -> int:
    """Return a number of questions rounded up to two digits: it is an estimate."""
    step = int(10 ** max(0, len(str(n)) - 2))
    return -(-n // step) * step


def source_text(summary: MetricSummary | None, sources: Mapping[str, int] | None = None) -> str:
    """Return how a number was obtained: its source, or its sources with their counts."""
    counts = sources if summary is None else summary.sources
    if not counts:
        return NOT_MEASURED
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} {n:,}" for name, n in counts.items())


def span(value: Interval) -> str:
    """Format a 95 % interval in percent."""
    return f"{percent(value.low)} to {percent(value.high)}"


def methods(values: Sequence[Interval]) -> str:
    """Return how the intervals of a chart were computed."""
    names = dict.fromkeys(METHODS[value.method] for value in values if value.method in METHODS)
    return f"95 %: {', '.join(names)}" if names else ""


def metric_label(metric: str) -> str:
    """Return the title of a metric, with its direction where lower is better."""
    declaration = declared(metric)
    lower_is_better = declaration is not None and declaration.higher_is_better is False
    return f"{capital(title_of(metric))}{' (lower is better)' if lower_is_better else ''}"


def mean_text(summary: MetricSummary | None) -> str:
    """Format a mean over questions with its interval and n."""
    if summary is None or summary.mean is None:
        return NOT_MEASURED
    interval = interval_text(summary.low, summary.high, 3)
    return f"{number(summary.mean, 3)} {interval}, n = {summary.n_scored:,}"
