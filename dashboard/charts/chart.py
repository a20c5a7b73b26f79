"""Charts as plain text and numbers, for Plotly and PowerPoint, their rows, and what all charts share."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite
from typing import TYPE_CHECKING

from ragtriage.dashboard.charts.tokens import FONT, Tokens
from ragtriage.dashboard.wording.escaping import chart_text, shorten

if TYPE_CHECKING:  # what checks say is printed without Plotly too
    import plotly.graph_objects as go
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ragtriage.dashboard.wording.table_files import one_line

ROW = 30  # pixels of a row of a horizontal chart
FRAME = 70  # pixels around the rows
MOST_TICKS = 20  # names below an axis; with more places, every second or third is named
LONGEST_TICK = 22
HOVER = "%{hovertext}<extra></extra>"
BARE = {  # the layout of a figure on the ground of the page, without legend and dragging
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "showlegend": False,
    "dragmode": False,
}
LEGEND = {"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0}
Value = float | None
Dash = Literal["solid", "dash", "dot"]
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
SIGNIFICANT_DIGITS = 6
_OWN_COLUMNS = {"series", "low", "high", "n", "text", "details", "value"}


def with_layout(figure: go.Figure, height: int, **more: object) -> go.Figure:
    """Return the figure with a height in pixels, the common margins and no dragging."""
    figure.update_layout(height=height, margin={"l": 8, "r": 16, "t": 28, "b": 32}, dragmode=False, **more)
    return figure


def with_tokens(figure: go.Figure, tokens: Tokens, height: int, **more: object) -> go.Figure:
    """Return the figure in the colours and the font of a theme, without grid, legend, dragging or zoom."""
    layout: dict[str, object] = {
        **BARE, "height": height, "template": "none",
        "font": {"family": FONT, "size": 13, "color": tokens.text},
        "margin": {"l": 8, "r": 16, "t": 28, "b": 32},
        "hoverlabel": {"font": {"family": FONT, "size": 13}, "align": "left"},
        "hovermode": "closest", **more,
    }  # fmt: skip
    axis = {"fixedrange": True, "automargin": True, "title_font_size": 13}
    return figure.update_xaxes(axis).update_yaxes(axis).update_layout(layout)


def error_bars(
    values: Sequence[float | None],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    scale: float = 1.0,
    **style: object,
) -> dict[str, object]:
    """Return Plotly's error bars for intervals; of length 0 where a value or a bound is missing."""

    def lengths(starts: Sequence[float | None], ends: Sequence[float | None]) -> list[float]:
        return [
            0.0 if start is None or end is None or not isfinite(end - start) else scale * (end - start)
            for start, end in zip(starts, ends, strict=True)
        ]

    return {
        "type": "data", "symmetric": False, "array": lengths(values, highs),
        "arrayminus": lengths(lows, values), "thickness": 1.3, **style,
    }  # fmt: skip


def interval_bars(
    values: Sequence[WithInterval | None], scale: float = 1.0, **style: object
) -> dict[str, object]:
    """Return Plotly's error bars of means with intervals, as `error_bars`; None for one that is not there."""
    ends = [(None, None, None) if value is None else (value.mean, value.low, value.high) for value in values]
    means, lows, highs = zip(*ends, strict=True) if ends else ((), (), ())
    return error_bars(means, lows, highs, scale, **style)


def set_places(figure: go.Figure, labels: Sequence[str]) -> None:
    """Make things in order places 0, 1, 2, ... of the x axis, named below it as far as there is room.

    Names are not the places themselves: two that are cut to the same text would fall together.
    """
    step = max(1, ceil(len(labels) / MOST_TICKS))
    padding = max(0.6, len(labels) / 50)  # so that the ring around the last point is whole
    named = range(len(labels) - 1, -1, -step)  # from the newest back
    figure.update_xaxes(
        tickvals=list(named),
        ticktext=[chart_text(shorten(labels[at], LONGEST_TICK)) for at in named],
        range=[-padding, len(labels) - 1 + padding],
        tickangle=-35 if len(labels) > 6 else 0,
        automargin=True,
    )


BLUE, ORANGE, GREEN, VERMILION, PURPLE, GREY = (
    "#2b8cc4",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#8a949e",
)


def finite(values: Iterable[float | None]) -> tuple[Value, ...]:
    """Return values as a tuple in which everything that is not finite is None."""
    return tuple(None if value is None or not math.isfinite(value) else value for value in values)


def count_step(counts: Iterable[int]) -> int | None:
    """Return the step between ticks of an axis of counts: 1 where all are small, None for a suitable one."""
    return 1 if max(counts, default=0) <= 5 else None


def _check_colours(colours: Iterable[str]) -> None:
    for colour in colours:
        if not _COLOUR.fullmatch(colour):
            raise ValueError(f"chart colour {colour!r}; accepted: six hex digits, such as #0b5e94")


@dataclass(frozen=True)
class Axis:
    """An axis."""

    title: str = ""  # "" for none
    # of the positions 0, 1, 2, ... from the left or from the bottom; empty for an axis of numbers. A name may
    # have several lines, of which the first is the heading
    names: tuple[str, ...] = ()
    unique: bool = True  # False where two positions may have the same name
    low: float | None = None  # start of the range; None to fit the data
    high: float | None = None  # end of the range
    step: float | None = None  # between ticks; None for a suitable one
    format: str = ""  # of the tick labels, as d3 writes it: ".0%", ",d"
    from_zero: bool = False  # whether a range that fits the data starts at 0
    logarithmic: bool = False  # whether the axis is
    reversed: bool = False  # whether numbers run from high to low
    angle: int | None = None  # of the tick labels in degrees

    def __post_init__(self) -> None:
        if self.names and self.reversed:
            raise ValueError("an axis of names is not reversed; list the names in the other order")


@dataclass(frozen=True)
class ErrorBars:
    """The style of error bars: colour ("" for that of the series), width of the caps, thickness in pixels."""

    colour: str = ""
    cap: int | None = None
    thickness: float = 1.3


@dataclass(frozen=True)
class Series:
    """Bars or points of one legend entry; sequences are empty or have one entry for each point."""

    name: str  # in the legend; "" for none
    x: tuple[Value, ...]  # values, or positions on an axis with names; None where missing
    y: tuple[Value, ...]
    colour: str  # "#rrggbb"
    colours: tuple[str, ...] = ()  # of single points
    patterns: tuple[str, ...] = ()  # fill patterns of single bars, as Plotly names them
    # lower interval bounds along the axis of the values; None where there is no interval
    low: tuple[Value, ...] = ()
    high: tuple[Value, ...] = ()  # upper interval bounds
    error_bars: ErrorBars = ErrorBars()  # their style
    text: tuple[str, ...] = ()  # labels at the points, "" for none
    n: tuple[int | None, ...] = ()  # how many are behind each point
    details: tuple[str, ...] = ()  # what is shown on hover
    keys: tuple[tuple[str, ...], ...] = ()  # what a click on a point leads to
    line: Dash | None = None  # dashes of the line that joins the points; None for no line
    line_width: float = 2  # in pixels
    symbol: str = "circle"  # Plotly's name of the marker; "" for no markers
    size: int = 9  # of the marker in pixels
    in_legend: bool = True  # whether the legend lists it

    def __post_init__(self) -> None:
        _check_colours([self.colour, *self.colours])
        for field in ("y", "colours", "patterns", "low", "high", "text", "n", "details", "keys"):
            entries = getattr(self, field)
            if len(entries) != len(self.x) and (entries or field == "y"):
                raise ValueError(f"series {self.name!r}: {len(entries)} {field} for {len(self.x)} points")


class WithInterval(Protocol):
    """A mean with its interval and n."""

    @property
    def mean(self) -> float | None:
        """The mean."""

    @property
    def low(self) -> float | None:
        """Lower end of its interval."""

    @property
    def high(self) -> float | None:
        """Upper end."""

    @property
    def n_scored(self) -> int:
        """How many are behind it."""


def interval_series(
    name: str,
    values: Sequence[WithInterval],
    along: Iterable[float],
    colour: str,
    horizontal: bool = False,
    **more: Any,
) -> Series:
    """Return means with their intervals and n as a series.

    Args:
        name: in the legend.
        values: the means.
        along: their places on the other axis.
        colour: "#rrggbb".
        horizontal: whether the means run along x.
        more: further fields of the series.
    """
    means, places = finite(value.mean for value in values), tuple(along)
    x, y = (means, places) if horizontal else (places, means)
    return Series(
        name, x, y, colour,
        low=finite(value.low for value in values), high=finite(value.high for value in values),
        n=tuple(value.n_scored for value in values), **more,
    )  # fmt: skip


@dataclass(frozen=True)
class ReferenceLine:
    """A line across the chart."""

    at: float
    vertical: bool  # whether it stands at a value of x, else of y
    colour: str  # "#rrggbb"
    dash: Dash = "dash"
    name: str = ""  # written beside it; "" for none
    position: str = "top left"  # of the name, as Plotly writes it: "top left"


@dataclass(frozen=True)
class Note:
    """A text in the chart that starts at a point."""

    text: str
    x: float
    y: float


@dataclass(frozen=True)
class Band:
    """A shaded range of x with a text at its foot."""

    low: float
    high: float
    colour: str
    text: str


@dataclass(frozen=True)
class Chart:
    """Bars or points."""

    kind: Literal["bars", "points"]  # what the series are drawn as
    series: tuple[Series, ...]  # in the order of the legend
    x: Axis
    y: Axis
    height: int  # in pixels
    horizontal: bool = False  # whether values and intervals run along x
    stacked: bool = False  # whether bars of one position stand on each other
    lines: tuple[ReferenceLine, ...] = ()  # across the chart
    notes: tuple[Note, ...] = ()  # texts in it
    bands: tuple[Band, ...] = ()  # behind it
    legend: bool = True  # whether there is one
    clickable: bool = False  # whether points take clicks
    bar_width: float | None = None  # share of a position that a bar takes; None for the usual

    def __post_init__(self) -> None:
        if self.x.names and self.y.names:
            raise ValueError("a chart of bars or points has names on one axis; for both, draw a Heatmap")
        if self.kind == "bars" and not (self.y if self.horizontal else self.x).names:
            raise ValueError("bars need names on the axis that they stand on")


@dataclass(frozen=True)
class Frame:
    """An outline around the cell of a heatmap; width in pixels."""

    row: int
    column: int
    colour: str
    width: float
    dash: Dash


@dataclass(frozen=True)
class Heatmap:
    """Coloured cells."""

    title: str  # above the cells
    x: Axis  # the axis that names the columns, from the left
    y: Axis  # the axis that names the rows, from the bottom
    values: tuple[tuple[Value, ...], ...]  # by row; None for a cell that stays blank
    text: tuple[tuple[str, ...], ...]  # in the cells, by row
    height: int  # in pixels
    # colours at shares of the range from the least to the greatest value
    scale: tuple[tuple[float, str], ...] = ((0.0, "#cfe3f1"), (1.0, "#0b5e94"))
    details: tuple[tuple[str, ...], ...] = ()  # by row, what is shown on hover
    # by row, what a click on a cell leads to; None for a cell that takes none
    keys: tuple[tuple[tuple[str, ...] | None, ...], ...] = ()
    frames: tuple[Frame, ...] = ()  # outlines

    def __post_init__(self) -> None:
        _check_colours(colour for _, colour in self.scale)
        for name, cells in (("values", self.values), ("text", self.text)):
            shape = {len(row) for row in cells}
            if len(cells) != len(self.y.names) or shape - {len(self.x.names)}:
                raise ValueError(
                    f"heatmap: {name} must have {len(self.y.names)} rows of {len(self.x.names)} cells"
                )


def chart_rows(chart: Chart | Heatmap) -> list[dict[str, Any]]:
    """Return a row for each point: series, x, y, interval bounds, n, label and details; no empty columns."""
    if isinstance(chart, Heatmap):
        rows = list(_cell_rows(chart))
    else:
        rows = [row for series in chart.series for row in _point_rows(chart, series)]
    columns = dict.fromkeys(name for row in rows for name in row)
    filled = [name for name in columns if any(row.get(name) not in (None, "") for row in rows)]
    return [{name: row.get(name) for name in filled} for row in rows]


def _point_rows(chart: Chart, series: Series) -> Iterator[dict[str, Any]]:
    x_name, y_name = _axis_columns(chart)
    for at, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
        if x is None and y is None:
            continue
        low = series.low[at] if series.low else None
        text = one_line(series.text[at]) if series.text else ""
        details = one_line(series.details[at]) if series.details else ""
        row = {"series": one_line(series.name), x_name: _position(chart.x, x), y_name: _position(chart.y, y)}
        if low is not None:
            row |= {"low": _rounded(low), "high": _rounded(series.high[at])}
        n = series.n[at] if series.n else None
        yield row | {"n": n, "text": text, "details": "" if details == text else details}


def _cell_rows(chart: Heatmap) -> Iterator[dict[str, Any]]:
    x_name, y_name = _axis_columns(chart)
    for row, (values, texts) in enumerate(zip(chart.values, chart.text, strict=True)):
        for column, (value, text) in enumerate(zip(values, texts, strict=True)):
            place = {x_name: one_line(chart.x.names[column]), y_name: one_line(chart.y.names[row])}
            yield {**place, "value": _rounded(value), "text": one_line(text)}


def _axis_columns(chart: Chart | Heatmap) -> tuple[str, str]:
    """Return the titles of the axes as names of columns, "x" and "y" where they would not tell apart."""
    x, y = one_line(chart.x.title) or "x", one_line(chart.y.title) or "y"
    return ("x", "y") if x == y or _OWN_COLUMNS & {x, y} else (x, y)


def _position(axis: Axis, value: float | None) -> Any:
    return one_line(axis.names[int(value)]) if axis.names and value is not None else _rounded(value)


def _rounded(value: float | None) -> float | None:
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if isinstance(value, float) else value
