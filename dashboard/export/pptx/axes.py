"""The axes of native charts: range, step, number format, and the names that stand in place of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.charts.figure_data import axis_title, tick_names, values
from dashboard.wording.export_text import label_text

__all__ = ["ChartAxis", "axis_of", "categories_of", "is_number"]

STEPS = 5  # about how many an axis has
AIR = 0.04  # share of the extent that is left free at each end


@dataclass(frozen=True)
class ChartAxis:
    """An axis.

    Attributes:
        title: "" for none.
        low: least value; None leaves it to the program that shows the chart.
        high: greatest value.
        step: between ticks.
        form: number format as spreadsheets write it.
        logarithmic: whether it is.
        turned: whether it runs from high to low.
        names: in place of the numbers 0, 1, 2, ...
    """

    title: str
    low: float | None = None
    high: float | None = None
    step: float | None = None
    form: str = "General"
    logarithmic: bool = False
    turned: bool = False
    names: tuple[str, ...] = ()


def is_number(value: object) -> bool:
    """Whether a value of a figure is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def axis_of(axis: Any, reach: Sequence[float], numeric: bool, names: tuple[str, ...] = ()) -> ChartAxis:
    """Read an axis of a figure.

    Args:
        axis: the figure's.
        reach: every value that has to fit, ends of intervals included; empty leaves the range open unless
            the figure gives one.
        numeric: whether it carries values, not categories.
        names: of the places of a named axis in a scatter.
    """
    title = axis_title(axis)
    if names:
        return ChartAxis(title, -0.5, len(names) - 0.5, 1.0, names=names)
    if not numeric:
        return ChartAxis(title)
    form, logarithmic = _form(axis.tickformat), axis.type == "log"
    turned = axis.autorange == "reversed"
    if logarithmic:
        return ChartAxis(title, form=form, logarithmic=True, turned=turned)
    low, high, step = _range(axis, reach)
    return ChartAxis(title, low, high, step, form, False, turned)


def _range(axis: Any, reach: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    given = values(axis.range) if axis.range is not None else []
    fixed = len(given) == 2 and all(is_number(one) for one in given)
    dtick = float(axis.dtick) if is_number(axis.dtick) else None
    if fixed:
        low, high = sorted(float(one) for one in given)
        low, high = (0.0 if -0.1 < low < 0 <= min(reach, default=0.0) else low), _trimmed(high, reach)
        step = dtick or _step(high - low)
        return (math.floor(low / step) * step if dtick else low), high, step
    if not reach:
        return None, None, dtick
    low, high = min(reach), max(reach)
    air = AIR * ((high - low) or abs(high) or 1.0)
    low, high = (0.0 if axis.rangemode == "tozero" and low >= 0 else low - air), high + air
    step = dtick or _step(high - low)
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    low = max(0.0, low) if min(reach) >= 0 else low  # where nothing is below 0, nothing can be
    return low, (min(1.0, high) if low >= 0 and 0.5 < max(reach) <= 1 else high), step


def _trimmed(high: float, reach: Sequence[float]) -> float:
    """End an axis of shares at 1, where the figure only left some air above."""
    return 1.0 if 1.0 < high <= 1.1 and max(reach, default=1.0) <= 1.0 else high


def _step(extent: float) -> float:
    size = 10.0 ** math.floor(math.log10(extent / STEPS)) if extent > 0 else 1.0
    return next((size * one for one in (1, 2, 5) if size * one * STEPS >= extent), size * 10)


def _form(given: str | None) -> str:
    """Turn a tick format of Plotly into one of spreadsheets."""
    if not given:
        return "General"
    digits = next((int(one) for one in given if one.isdigit()), None) if "." in given else 0
    decimals = f"0.{'0' * digits}" if digits else "0"
    if given.endswith("%"):
        return f"{decimals}%"
    if given[-1] in "dfs" or "," in given:
        return f"#,##{decimals}" if "," in given else decimals
    return "General"


def categories_of(axis: Any, found: Sequence[Sequence[Any]]) -> tuple[list[Any], list[str]]:
    """Give the places of a named axis in their order, from the left or from below, and their names."""
    seen = list(dict.fromkeys(place for places in found for place in places if place is not None))
    ticks = tick_names(axis)
    wanted = values(axis.categoryarray) if axis.categoryorder == "array" else []
    if ticks:
        wanted = list(dict.fromkeys([*(key for key in ticks if is_number(key)), *wanted]))
    elif seen and all(is_number(place) for place in seen):
        wanted = sorted(seen)
    keys = [key for key in dict.fromkeys([*wanted, *seen]) if key in set(seen) or key in ticks]
    if axis.autorange == "reversed":
        keys.reverse()
    return keys, _unique([ticks.get(key) or label_text(key) for key in keys])


def _unique(names: Iterable[str]) -> list[str]:
    """Keep names apart that are equal: a table behind a chart must not fold them into one."""
    found: list[str] = []
    for name in names:
        again = sum(name == one.removesuffix("\u200b") or name == one for one in found)
        found.append(name + "\u200b" * again)
    return found
