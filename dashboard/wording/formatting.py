"""Numbers as people read them: rounded, with n, interval and source; not measured is a dash, never 0."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from data.scoring.summaries import MetricSummary

__all__ = ["NOT_MEASURED", "count", "interval_text", "number", "p_value", "percent", "signed", "source_text"]

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
