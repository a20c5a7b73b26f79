"""Native charts on a slide: what NativeChart says, as charts whose data can be edited."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pptx.chart.chart import Chart
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE, XL_LEGEND_POSITION, XL_TICK_LABEL_POSITION
from pptx.slide import Slide
from pptx.util import Emu, Inches, Pt

from dashboard.native_axes import NativeAxis
from dashboard.native_charts import NativeChart, NativeSeries
from dashboard.plain_text import printable
from dashboard.slide_chart_xml import add_arms, drop_gaps, hide_legend_entries, lay_out, name_of_font
from dashboard.slide_marks import paint_series
from dashboard.slide_text import lines_needed
from data.exports import safe_cell

__all__ = ["Box", "add_chart", "book_text"]

Box = tuple[float, float, float, float]  # left, top, width, height in inches
INK, FAINT, GRID = RGBColor(0x1B, 0x27, 0x33), RGBColor(0x56, 0x65, 0x6F), RGBColor(0xD7, 0xDE, 0xE6)
FONT_SIZE = 12
LONGEST_NAME = 60
INTERVALS = "intervals"  # name of the series that draws them
_READ_BY_BOOKS = re.compile(r"[={]|(?:ftp|https?)://|mailto:|(?:in|ex)ternal:", re.IGNORECASE)
_TYPES = {
    "bar": (XL_CHART_TYPE.BAR_CLUSTERED, XL_CHART_TYPE.BAR_STACKED),
    "column": (XL_CHART_TYPE.COLUMN_CLUSTERED, XL_CHART_TYPE.COLUMN_STACKED),
    "line": (XL_CHART_TYPE.LINE_MARKERS, XL_CHART_TYPE.LINE_MARKERS),
    "scatter": (XL_CHART_TYPE.XY_SCATTER, XL_CHART_TYPE.XY_SCATTER),
}


def book_text(text: str) -> str:
    """Keep the workbook behind a chart from reading a name as a formula or a link.

    A space stands before it, which a chart does not show, where CSV has a quote.
    """
    return f" {text}" if safe_cell(text) != text or _READ_BY_BOOKS.match(text) else text


def add_chart(slide: Slide, native: NativeChart, box: Box, alt: str) -> Chart:
    """Put a chart on a slide, with what it shows in words."""
    kind = _TYPES[native.form][native.stacked]
    left, top, width, height = map(Inches, box)
    data = _xy_data(native) if native.form == "scatter" else _category_data(native)
    frame: Any = slide.shapes.add_chart(kind, left, top, width, height, data)  # type: ignore[arg-type] # Inches are lengths
    frame._element.nvGraphicFramePr.cNvPr.set("descr", printable(alt))
    chart: Chart = frame.chart
    chart.font.size, chart.font.color.rgb = Pt(FONT_SIZE), INK
    name_of_font(chart)
    chart.has_title = False
    shown = _ordered(native)
    for one, drawn in zip(shown, _drawn(chart), strict=True):
        paint_series(drawn, one, native.form)
        add_arms(drawn, one, native.form)
    drop_gaps(chart)
    _legend(chart, native, shown)
    _axes(chart, native, box)
    return chart


def _drawn(chart: Chart) -> list[Any]:
    return [series for plot in chart.plots for series in plot.series]


def _category_data(native: NativeChart) -> CategoryChartData:
    values = native.x if native.form == "bar" else native.y
    data = CategoryChartData(number_format=values.form)
    data.categories = [book_text(name[:LONGEST_NAME]) for name in native.categories]
    for one in native.series:
        data.add_series(book_text(one.name), one.y)
    return data


def _xy_data(native: NativeChart) -> XyChartData:
    data = XyChartData(number_format="General")
    for one in _ordered(native):
        series = data.add_series(book_text(one.name))
        for x, y in zip(one.x, one.y, strict=True):
            series.add_data_point(x, y)
    return data


def _ordered(native: NativeChart) -> list[NativeSeries]:
    """Give the series as they are drawn: in a scatter with its helpers, the longest first.

    LibreOffice loses the points of a series that stands before a longer one.
    """
    if native.form != "scatter":
        return list(native.series)
    every = [*_carriers(native), *_intervals(native), *native.series]
    longest = max(every, key=lambda one: len(one.x))
    return [longest, *(one for one in every if one is not longest)]


def _intervals(native: NativeChart) -> list[NativeSeries]:
    """Give the intervals along x as strokes with gaps between: LibreOffice shows no such error bars."""
    x: list[float | None] = []
    y: list[float | None] = []
    for one in native.series:
        for place, value, (below, above) in zip(one.x, one.y, one.x_arms, strict=False):
            if place is not None and (below or above):
                x += [place - below, place + above, None]
                y += [value, value, None]
    if not x:
        return []
    return [
        NativeSeries(
            INTERVALS, tuple(x[:-1]), tuple(y[:-1]), "56656F", lines=True, markers=False, legend=False
        )
    ]


def _carriers(native: NativeChart) -> list[NativeSeries]:
    """Give the series without marks whose labels are the names along an axis of a scatter."""
    found = []
    for axis, other, beside in ((native.x, native.y, False), (native.y, native.x, True)):
        if native.form == "scatter" and axis.names:
            places = tuple(float(at) for at in range(len(axis.names)))
            ends = (other.low or 0.0,) * len(places)
            x, y = (ends, places) if beside else (places, ends)
            name = "names to the left" if beside else "names below"
            labels = tuple(one[:LONGEST_NAME] for one in axis.names)
            found.append(NativeSeries(name, x, y, "FFFFFF", labels=labels, markers=False, legend=False))
    return found


def _legend(chart: Chart, native: NativeChart, shown: Sequence[NativeSeries]) -> None:
    kept = [one.legend for one in shown]
    chart.has_legend = native.legend and sum(kept) > 1
    if chart.has_legend and chart.legend is not None:
        chart.legend.position, chart.legend.include_in_layout = XL_LEGEND_POSITION.TOP, False
        chart.legend.font.size = Pt(FONT_SIZE)
        hide_legend_entries(chart, [at for at, keep in enumerate(kept) if not keep])


def _axes(chart: Chart, native: NativeChart, box: Box) -> None:
    across, upright = (chart.value_axis, chart.category_axis)
    if native.form != "bar":
        across, upright = upright, across
    for drawn, axis in ((across, native.x), (upright, native.y)):
        _axis(drawn, axis, native.form == "scatter")
    if native.form != "scatter":
        chart.category_axis.has_major_gridlines = False
        chart.category_axis.tick_label_position = XL_TICK_LABEL_POSITION.LOW
        plot = chart.plots[0]
        if native.form in ("bar", "column"):
            plot.gap_width, plot.overlap = 55, native.overlap
        return
    if native.y.names or native.x.names:
        lay_out(chart, _room_for_names(native, box), chart.has_legend)


def _room_for_names(native: NativeChart, box: Box) -> tuple[float, float]:
    """Give the shares of width and height that names beside and below the ground need."""
    longest = max((len(one[:LONGEST_NAME]) for one in native.y.names), default=0)
    width = 0.06
    while longest and width < 0.4:
        names = [one[:LONGEST_NAME] for one in native.y.names]
        if all(lines_needed(one, FONT_SIZE, width * box[2] - 0.15) == 1 for one in names):
            break
        width += 0.02
    return width, 0.12 if native.x.names else 0.06


def _axis(drawn: Any, axis: NativeAxis, scatter: bool) -> None:
    drawn.has_title = bool(axis.title)
    if axis.title:
        frame = drawn.axis_title.text_frame
        frame.text = axis.title[:120]
        font = frame.paragraphs[0].runs[0].font
        font.size, font.bold, font.color.rgb = Pt(FONT_SIZE), False, FAINT
    drawn.format.line.color.rgb = GRID
    drawn.tick_labels.font.size = Pt(FONT_SIZE)
    numeric = axis.low is not None or axis.form != "General" or scatter
    if numeric:
        drawn.tick_labels.number_format, drawn.tick_labels.number_format_is_linked = axis.form, False
        drawn.minimum_scale, drawn.maximum_scale, drawn.major_unit = axis.low, axis.high, axis.step
    drawn.has_major_gridlines = not axis.names
    if drawn.has_major_gridlines:
        drawn.major_gridlines.format.line.color.rgb = GRID
        drawn.major_gridlines.format.line.width = Emu(6350)
    drawn.reverse_order = axis.turned
    drawn.tick_label_position = XL_TICK_LABEL_POSITION.NONE if axis.names else XL_TICK_LABEL_POSITION.LOW
