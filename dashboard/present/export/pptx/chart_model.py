"""From the specification of a chart to what PowerPoint holds: categories or coordinates, ranges, formats."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ragtriage.dashboard.charts.chart import Axis, Chart, ReferenceLine, Series
from ragtriage.dashboard.wording.table_files import one_line
from ragtriage.metrics.number_text import number, percent

Form = Literal["bar", "column", "line", "scatter"]
TICKS = 5  # about how many an axis has
PADDING = 0.04  # share of the extent that is left free at each end
_DASHES = {"dash": "dashed", "dot": "dotted", "solid": "solid"}


@dataclass(frozen=True)
class SlideAxis:
    """An axis."""

    title: str  # "" for none
    low: float | None = None  # least value; None leaves it to the program that shows the chart
    high: float | None = None  # greatest value
    step: float | None = None  # between ticks
    format: str = "General"  # number format as spreadsheets write it
    logarithmic: bool = False
    reversed: bool = False  # whether it runs from high to low
    names: tuple[str, ...] = ()  # in place of the numbers 0, 1, 2, ...


@dataclass(frozen=True)
class EditableChart:
    """A chart as slides hold it."""

    form: Form  # bars to the right, columns upwards, lines over categories, or points over two numeric axes
    categories: tuple[str, ...]  # from the left or from the bottom; empty for a scatter
    # what is drawn. Except in a scatter, each has one entry for each category, None for a gap
    series: tuple[Series, ...]
    x: SlideAxis  # the horizontal axis; in a scatter its `names` stand in place of numbers
    y: SlideAxis  # the vertical axis
    horizontal: bool = False  # whether the intervals of a scatter lie along x
    stacked: bool = False  # whether bars stand on each other
    overlap: int = 0  # of bars in percent; 100 where no two series share a position
    legend: bool = True
    remarks: tuple[str, ...] = ()  # what the specification has and this chart cannot show: shown as text


def editable_chart(chart: Chart) -> EditableChart | None:
    """Return a chart as slides hold it; None where it has no points.

    Points over named positions become a line chart; points over numbers, or beside names, a scatter whose
    names are labels. Lines across the chart are series of their own where that can be done, else remarks.
    """
    chart = replace(chart, series=tuple(series for series in chart.series if series.x))
    if not chart.series:
        return None
    if chart.kind == "bars":
        return _bars(chart)
    once = all(len(set(series.x)) == len(series.x) for series in chart.series)
    return _lines(chart) if chart.x.names and not chart.horizontal and once else _scatter(chart)


def error_lengths(series: Series, values: Sequence[float | None]) -> list[tuple[float, float]]:
    """Return how far the interval of each point reaches below and above its value, 0 where there is none."""
    lengths = []
    for value, low, high in zip(values, series.low, series.high, strict=True):
        if value is None or low is None or high is None:
            lengths.append((0.0, 0.0))
        else:
            lengths.append((value - low, high - value))
    return lengths


def _bars(chart: Chart) -> EditableChart:
    names = chart.y.names if chart.horizontal else chart.x.names
    series = tuple(_by_category(series, chart.horizontal, len(names)) for series in chart.series)
    taken = Counter(
        position for part in chart.series for position in set(part.y if chart.horizontal else part.x)
    )
    shared = any(n > 1 for n in taken.values())
    lengths = chart.x if chart.horizontal else chart.y
    return EditableChart(
        "bar" if chart.horizontal else "column",
        _categories(chart.y if chart.horizontal else chart.x),
        series,
        _axis(chart.x, (), chart.horizontal),
        _axis(chart.y, (), not chart.horizontal),
        chart.horizontal,
        chart.stacked,
        100 if chart.stacked or not shared else 0,
        chart.legend and len(series) > 1,
        _remarks(chart, [line for line in chart.lines if line.at], (), lengths.format),
    )


def _lines(chart: Chart) -> EditableChart:
    levels = [line for line in chart.lines if not line.vertical]
    series = [_by_category(part, False, len(chart.x.names)) for part in chart.series]
    series += [
        _line_series(line, (None,) * len(chart.x.names), (line.at,) * len(chart.x.names)) for line in levels
    ]
    return EditableChart(
        "line",
        _categories(chart.x),
        tuple(series),
        _axis(chart.x, (), numeric=False),
        _axis(chart.y, [value for part in series for value in _extent(part, part.y)], numeric=True),
        legend=chart.legend and len(chart.series) > 1,
        remarks=_remarks(chart, [line for line in chart.lines if line.vertical and line.at], levels),
    )


def _scatter(chart: Chart) -> EditableChart:
    """Return points over numbers; an axis of names becomes positions from 0 with the names as labels."""
    drawn = [_known_points(part) for part in chart.series]
    x_extent = [value for part in drawn for value in _extent(part, part.x, chart.horizontal)]
    y_extent = [value for part in drawn for value in _extent(part, part.y, not chart.horizontal)]
    x, y = _axis(chart.x, x_extent, numeric=True), _axis(chart.y, y_extent, numeric=True)
    series = list(drawn)
    for line in chart.lines:
        across = y if line.vertical else x
        ends, at = (across.low or 0.0, across.high or 0.0), (line.at, line.at)
        series.append(_line_series(line, at, ends) if line.vertical else _line_series(line, ends, at))
    legend = chart.legend and len(chart.series) > 1
    return EditableChart(
        "scatter",
        (),
        tuple(series),
        x,
        y,
        chart.horizontal,
        legend=legend,
        remarks=_remarks(chart, (), chart.lines),
    )


def _by_category(series: Series, horizontal: bool, n: int) -> Series:
    """Return a series with one value for each category, None where it has none."""
    positions, values = (series.y, series.x) if horizontal else (series.x, series.y)
    at = {position: place for place, position in enumerate(positions)}
    places = [at.get(position) for position in range(n)]

    def pick(entries: Sequence[Any], gap: Any) -> tuple[Any, ...]:
        return tuple(gap if place is None else entries[place] for place in places) if entries else ()

    return replace(
        series, x=(None,) * n, y=pick(values, None), low=pick(series.low, None), high=pick(series.high, None),
        colours=pick(series.colours, series.colour), text=pick(series.text, ""),
        patterns=(), n=(), details=(), keys=(),
    )  # fmt: skip


def _known_points(series: Series) -> Series:
    """Return a series without its points that lack x or y."""
    places = [
        place
        for place, (x, y) in enumerate(zip(series.x, series.y, strict=True))
        if x is not None and y is not None
    ]
    fields = ("x", "y", "low", "high", "colours", "text")
    entries = {name: getattr(series, name) for name in fields}
    picked: dict[str, Any] = {
        name: tuple(part[place] for place in places) for name, part in entries.items() if part
    }
    return replace(series, patterns=(), n=(), details=(), keys=(), **picked)


def _line_series(line: ReferenceLine, x: Sequence[float | None], y: Sequence[float]) -> Series:
    name = line.name or ("reference line" if line.at else "zero")
    return Series(name, tuple(x), tuple(y), line.colour, line=line.dash, symbol="", in_legend=False)


def _extent(series: Series, values: Sequence[float | None], with_bounds: bool = True) -> list[float]:
    bounds = [*series.low, *series.high] if with_bounds else []
    return [value for value in [*values, *bounds] if value is not None]


def _remarks(
    chart: Chart, missing: Sequence[ReferenceLine], drawn: Sequence[ReferenceLine], tick_format: str = ""
) -> tuple[str, ...]:
    """Return in words what an editable chart leaves out: lines that are not drawn, and texts."""
    write = percent if tick_format.endswith("%") else number
    remarks = [
        f"{_DASHES[line.dash]} line at {write(line.at)}: {line.name or 'reference line'}" for line in missing
    ]
    remarks += [f"{_DASHES[line.dash]} line: {line.name}" for line in drawn if line.name]
    remarks += [one_line(band.text) for band in chart.bands]
    remarks += [one_line(note.text) for note in chart.notes]
    remarks += [f"{axis.title}: logarithmic" for axis in (chart.x, chart.y) if axis.logarithmic]
    return tuple(remarks)


def _categories(axis: Axis) -> tuple[str, ...]:
    """Return the names of categories; equal ones get invisible marks, since the table behind joins them."""
    names: list[str] = []
    for name in map(one_line, axis.names):
        again = sum(name == earlier.rstrip("\u200b") for earlier in names)
        names.append(name + "\u200b" * again)
    return tuple(names)


def _axis(axis: Axis, extent: Sequence[float], numeric: bool) -> SlideAxis:
    """Return an axis for a slide: numeric with values or, in a scatter, positions; else with categories.

    The extent has every value that has to fit, interval bounds included; an empty one leaves the range open
    unless the specification gives one.
    """
    title = one_line(axis.title)
    if not numeric:
        return SlideAxis(title)
    if axis.names:
        return SlideAxis(title, -0.5, len(axis.names) - 0.5, 1.0, names=_categories(axis))
    if axis.logarithmic:
        return SlideAxis(title, format=_format(axis.format), logarithmic=True, reversed=axis.reversed)
    return SlideAxis(title, *_range(axis, extent), _format(axis.format), False, axis.reversed)


def _range(axis: Axis, extent: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Return start, end and step of an axis, at round numbers where the specification leaves them open."""
    if axis.low is not None and axis.high is not None:
        low = 0.0 if -0.1 < axis.low < 0 <= min(extent, default=0.0) else axis.low
        # an axis of shares ends at 1 where the specification only leaves room above it
        high = 1.0 if 1.0 < axis.high <= 1.1 and max(extent, default=1.0) <= 1.0 else axis.high
        step = axis.step or _step(high - low)
        return (math.floor(low / step) * step if axis.step else low), high, step
    if not extent:
        return None, None, axis.step
    low, high = min(extent), max(extent)
    padding = PADDING * ((high - low) or abs(high) or 1.0)
    low, high = (0.0 if axis.from_zero and low >= 0 else low - padding), high + padding
    step = axis.step or _step(high - low)
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    low = max(0.0, low) if min(extent) >= 0 else low  # where nothing is below 0, nothing can be
    return low, (min(1.0, high) if low >= 0 and 0.5 < max(extent) <= 1 else high), step


def _step(extent: float) -> float:
    size = 10.0 ** math.floor(math.log10(extent / TICKS)) if extent > 0 else 1.0
    return next((size * factor for factor in (1, 2, 5) if size * factor * TICKS >= extent), size * 10)


def _format(tick_format: str) -> str:
    """Return a d3 tick format as spreadsheets write it."""
    if not tick_format:
        return "General"
    digits = next((int(character) for character in tick_format if character.isdigit()), 0)
    decimals = f"0.{'0' * digits}" if "." in tick_format and digits else "0"
    if tick_format.startswith("+"):
        return f"+{decimals};\u2212{decimals};0"
    if tick_format.endswith("%"):
        return f"{decimals}%"
    if tick_format[-1] in "dfs" or "," in tick_format:
        return f"#,##{decimals}" if "," in tick_format else decimals
    return "General"
