"""The specification of a chart in plain text and numbers, for Plotly on screen and PowerPoint on slides."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Value = float | None
Dash = Literal["solid", "dash", "dot"]
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


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
    """An axis.

    Attributes:
        title: "" for none.
        names: of the positions 0, 1, 2, ... from the left or from the bottom; empty for an axis of numbers.
            A name may have several lines, of which the first is the heading.
        unique: False where two positions may have the same name.
        low: start of the range; None to fit the data.
        high: end of the range.
        step: between ticks; None for a suitable one.
        format: of the tick labels, as d3 writes it: ".0%", ",d".
        from_zero: whether a range that fits the data starts at 0.
        logarithmic: whether the axis is.
        reversed: whether numbers run from high to low.
        angle: of the tick labels in degrees.
    """

    title: str = ""
    names: tuple[str, ...] = ()
    unique: bool = True
    low: float | None = None
    high: float | None = None
    step: float | None = None
    format: str = ""
    from_zero: bool = False
    logarithmic: bool = False
    reversed: bool = False
    angle: int | None = None

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
    """Bars or points of one legend entry; sequences are empty or have one entry for each point.

    Attributes:
        name: in the legend; "" for none.
        x: values, or positions on an axis with names; None where missing.
        y: the same.
        colour: "#rrggbb".
        colours: of single points.
        patterns: fill patterns of single bars, as Plotly names them.
        low: lower interval bounds along the axis of the values; None where there is no interval.
        high: upper interval bounds.
        error_bars: their style.
        text: labels at the points, "" for none.
        n: how many are behind each point.
        details: what is shown on hover.
        keys: what a click on a point leads to.
        line: dashes of the line that joins the points; None for no line.
        line_width: in pixels.
        symbol: Plotly's name of the marker; "" for no markers.
        size: of the marker in pixels.
        in_legend: whether the legend lists it.
    """

    name: str
    x: tuple[Value, ...]
    y: tuple[Value, ...]
    colour: str
    colours: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    low: tuple[Value, ...] = ()
    high: tuple[Value, ...] = ()
    error_bars: ErrorBars = ErrorBars()
    text: tuple[str, ...] = ()
    n: tuple[int | None, ...] = ()
    details: tuple[str, ...] = ()
    keys: tuple[tuple[str, ...], ...] = ()
    line: Dash | None = None
    line_width: float = 2
    symbol: str = "circle"
    size: int = 9
    in_legend: bool = True

    def __post_init__(self) -> None:
        _check_colours([self.colour, *self.colours])
        for field in ("y", "colours", "patterns", "low", "high", "text", "n", "details", "keys"):
            entries = getattr(self, field)
            if len(entries) != len(self.x) and (entries or field == "y"):
                raise ValueError(f"series {self.name!r}: {len(entries)} {field} for {len(self.x)} points")


@dataclass(frozen=True)
class ReferenceLine:
    """A line across the chart.

    Attributes:
        at: its value.
        vertical: whether it stands at a value of x, else of y.
        colour: "#rrggbb".
        dash: its dashes.
        name: written beside it; "" for none.
        position: of the name, as Plotly writes it: "top left".
    """

    at: float
    vertical: bool
    colour: str
    dash: Dash = "dash"
    name: str = ""
    position: str = "top left"


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
    """Bars or points.

    Attributes:
        kind: what the series are drawn as.
        series: in the order of the legend.
        x: the horizontal axis.
        y: the vertical axis.
        height: in pixels.
        horizontal: whether values and intervals run along x.
        stacked: whether bars of one position stand on each other.
        lines: across the chart.
        notes: texts in it.
        bands: behind it.
        legend: whether there is one.
        clickable: whether points take clicks.
        bar_width: share of a position that a bar takes; None for the usual.
    """

    kind: Literal["bars", "points"]
    series: tuple[Series, ...]
    x: Axis
    y: Axis
    height: int
    horizontal: bool = False
    stacked: bool = False
    lines: tuple[ReferenceLine, ...] = ()
    notes: tuple[Note, ...] = ()
    bands: tuple[Band, ...] = ()
    legend: bool = True
    clickable: bool = False
    bar_width: float | None = None

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
    """Coloured cells.

    Attributes:
        title: above the cells.
        x: the axis that names the columns, from the left.
        y: the axis that names the rows, from the bottom.
        values: by row; None for a cell that stays blank.
        text: in the cells, by row.
        height: in pixels.
        scale: colours at shares of the range from the least to the greatest value.
        details: by row, what is shown on hover.
        keys: by row, what a click on a cell leads to; None for a cell that takes none.
        frames: outlines.
    """

    title: str
    x: Axis
    y: Axis
    values: tuple[tuple[Value, ...], ...]
    text: tuple[tuple[str, ...], ...]
    height: int
    scale: tuple[tuple[float, str], ...] = ((0.0, "#cfe3f1"), (1.0, "#0b5e94"))
    details: tuple[tuple[str, ...], ...] = ()
    keys: tuple[tuple[tuple[str, ...] | None, ...], ...] = ()
    frames: tuple[Frame, ...] = ()

    def __post_init__(self) -> None:
        _check_colours(colour for _, colour in self.scale)
        for name, cells in (("values", self.values), ("text", self.text)):
            self._check_shape(name, cells)

    def _check_shape(self, name: str, cells: Sequence[Sequence[object]]) -> None:
        shape = {len(row) for row in cells}
        if len(cells) != len(self.y.names) or shape - {len(self.x.names)}:
            raise ValueError(
                f"heatmap: {name} must have {len(self.y.names)} rows of {len(self.x.names)} cells"
            )
