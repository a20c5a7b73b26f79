"""Native charts on a slide: what NativeChart says, as charts whose data can be edited."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lxml import etree
from pptx.chart.chart import Chart
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import (
    XL_CHART_TYPE,
    XL_LABEL_POSITION,
    XL_LEGEND_POSITION,
    XL_MARKER_STYLE,
    XL_TICK_LABEL_POSITION,
)
from pptx.enum.dml import MSO_LINE
from pptx.oxml import parse_xml
from pptx.oxml.ns import nsdecls, qn
from pptx.slide import Slide
from pptx.util import Emu, Inches, Pt

from dashboard.export.pptx.axes import ChartAxis
from dashboard.export.pptx.chart_model import Arms, ChartSeries, EditableChart
from dashboard.export.pptx.text_fit import lines_needed
from dashboard.export.pptx.theme import EAST_ASIAN, LATIN, scale_colour
from dashboard.wording.export_text import printable
from data.cases.export import safe_cell

__all__ = [
    "Box",
    "add_arms",
    "add_chart",
    "book_text",
    "drop_gaps",
    "hide_legend_entries",
    "lay_out",
    "name_of_font",
    "paint_series",
]

_MARKS = {
    "circle": XL_MARKER_STYLE.CIRCLE,
    "square": XL_MARKER_STYLE.SQUARE,
    "diamond": XL_MARKER_STYLE.DIAMOND,
    "triangle-up": XL_MARKER_STYLE.TRIANGLE,
    "triangle-down": XL_MARKER_STYLE.SQUARE,  # slides have no triangle that points down
    "x": XL_MARKER_STYLE.X,
    "cross": XL_MARKER_STYLE.PLUS,
    "star": XL_MARKER_STYLE.STAR,
    "line-ew": XL_MARKER_STYLE.DASH,
    "line-ns": XL_MARKER_STYLE.DASH,
}
_DASHES = {
    "dash": MSO_LINE.DASH,
    "dot": MSO_LINE.ROUND_DOT,
    "dashdot": MSO_LINE.DASH_DOT,
    "longdash": MSO_LINE.LONG_DASH,
}
LABEL_SIZE = 11


def paint_series(drawn: Any, one: ChartSeries, form: str) -> None:
    """Give a drawn series and its points the looks of the figure."""
    if form in ("bar", "column"):
        drawn.invert_if_negative = False
        _fill(drawn.format, one.colour)
    else:
        drawn.smooth = False
        _line(drawn.format.line, one)
        _mark(drawn.marker, one, one.colour)
    for at, colour in enumerate(one.colours):
        if colour and colour != one.colour:
            point = drawn.points[at]
            if form in ("bar", "column"):
                _fill(point.format, colour)
            else:
                _mark(point.marker, one, colour)
    _labels(drawn, one, form)


def _fill(shape: Any, colour: str) -> None:
    shape.fill.solid()
    shape.fill.fore_color.rgb = RGBColor.from_string(colour)


def _line(line: Any, one: ChartSeries) -> None:
    if not one.lines:
        line.fill.background()
        return
    line.width, line.color.rgb = Pt(2 if one.dash == "solid" else 1.5), RGBColor.from_string(one.colour)
    if one.dash in _DASHES:
        line.dash_style = _DASHES[one.dash]


def _mark(marker: Any, one: ChartSeries, colour: str) -> None:
    if not one.markers:
        marker.style = XL_MARKER_STYLE.NONE
        return
    shape = one.symbol.removesuffix("-open").removesuffix("-dot")
    marker.style = _MARKS.get(shape, XL_MARKER_STYLE.CIRCLE)
    marker.size = one.size
    _fill(marker.format, _pale(colour) if one.symbol.endswith("-open") else colour)
    marker.format.line.color.rgb = RGBColor.from_string(colour)


def _pale(colour: str) -> str:
    """Give a tint for marks that are open in the figure: white ones vanish where outlines are not drawn."""
    return scale_colour([(0, "#ffffff"), (1, f"#{colour}")], 0.35)


def _labels(drawn: Any, one: ChartSeries, form: str) -> None:
    """Write the figure's own texts at the points, so that they read as in the app."""
    place = _place(one, form)
    for at, text in enumerate(one.labels):
        if text:
            label = drawn.points[at].data_label
            label.has_text_frame = True
            label.text_frame.text = text
            font = label.text_frame.paragraphs[0].runs[0].font
            font.size, font.bold = Pt(LABEL_SIZE), False
            label.position = place


def _place(one: ChartSeries, form: str) -> XL_LABEL_POSITION:
    if form in ("bar", "column"):
        return XL_LABEL_POSITION.OUTSIDE_END
    if one.name == "names to the left" and not one.markers:
        return XL_LABEL_POSITION.LEFT
    return (
        XL_LABEL_POSITION.BELOW if one.name == "names below" and not one.markers else XL_LABEL_POSITION.ABOVE
    )


ARM_COLOUR = "56656F"
LEGEND_ROOM = 0.09


def add_arms(drawn: Any, one: ChartSeries, form: str) -> None:
    """Add the intervals of a series along its values as error bars, each point its own."""
    element = drawn._element
    after = next(child for child in element if child.tag in _DATA)
    if one.y_arms:
        along = {"bar": "", "column": ""}.get(form, '<c:errDir val="y"/>')  # bars have but one direction
        after.addprevious(parse_xml(_error_bars(along, one.y_arms)))


def drop_gaps(chart: Chart) -> None:
    """Take the places of gaps out of the data that a chart holds, where python-pptx has written None."""
    for value in chart._chartSpace.xpath('.//c:pt[c:v="None"]'):
        value.getparent().remove(value)


_DATA = {qn("c:cat"), qn("c:val"), qn("c:xVal"), qn("c:yVal")}


def _error_bars(direction: str, arms: Arms) -> str:
    return (
        f"<c:errBars {nsdecls('c', 'a')}>{direction}"
        '<c:errBarType val="both"/><c:errValType val="cust"/><c:noEndCap val="0"/>'
        f"<c:plus>{_numbers([above for _, above in arms])}</c:plus>"
        f"<c:minus>{_numbers([below for below, _ in arms])}</c:minus>"
        f'<c:spPr><a:ln w="12700"><a:solidFill><a:srgbClr val="{ARM_COLOUR}"/></a:solidFill></a:ln></c:spPr>'
        "</c:errBars>"
    )


def _numbers(found: Sequence[float]) -> str:
    points = "".join(f'<c:pt idx="{at}"><c:v>{value:.9g}</c:v></c:pt>' for at, value in enumerate(found))
    return f'<c:numLit><c:formatCode>General</c:formatCode><c:ptCount val="{len(found)}"/>{points}</c:numLit>'


def hide_legend_entries(chart: Chart, places: Sequence[int]) -> None:
    """Take series out of the legend."""
    legend = chart._chartSpace.chart.find(qn("c:legend"))
    position = legend.find(qn("c:legendPos"))
    for at in reversed(places):
        entry = f'<c:legendEntry {nsdecls("c")}><c:idx val="{at}"/><c:delete val="1"/></c:legendEntry>'
        position.addnext(parse_xml(entry))


def lay_out(chart: Chart, room: tuple[float, float], legend: bool) -> None:
    """Set the ground of a chart apart from its left and its foot, so that labels have room there.

    Args:
        chart: the chart.
        room: shares of width and height that are kept free.
        legend: whether one stands above.
    """
    plot = chart._chartSpace.chart.plotArea
    old = plot.find(qn("c:layout"))
    if old is not None:
        plot.remove(old)
    left, foot, top = room[0], room[1] + 0.12, LEGEND_ROOM if legend else 0.02
    sizes = {"x": left, "y": top, "w": 0.97 - left, "h": 1 - top - foot}
    modes = '<c:xMode val="edge"/><c:yMode val="edge"/>'
    told = "".join(f'<c:{name} val="{value:.4f}"/>' for name, value in sizes.items())
    inner = f'<c:manualLayout><c:layoutTarget val="inner"/>{modes}{told}</c:manualLayout>'
    plot.insert(0, parse_xml(f"<c:layout {nsdecls('c')}>{inner}</c:layout>"))


def name_of_font(chart: Chart) -> None:
    """Name fonts that hold most scripts, one for East Asian characters too."""
    properties = chart.font._element
    for tag, name in (("a:latin", LATIN), ("a:ea", EAST_ASIAN)):
        found = properties.find(qn(tag))
        if found is None:
            found = etree.SubElement(properties, qn(tag))
        found.set("typeface", name)


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


def add_chart(slide: Slide, native: EditableChart, box: Box, alt: str) -> Chart:
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


def _category_data(native: EditableChart) -> CategoryChartData:
    values = native.x if native.form == "bar" else native.y
    data = CategoryChartData(number_format=values.form)
    data.categories = [book_text(name[:LONGEST_NAME]) for name in native.categories]
    for one in native.series:
        data.add_series(book_text(one.name), one.y)
    return data


def _xy_data(native: EditableChart) -> XyChartData:
    data = XyChartData(number_format="General")
    for one in _ordered(native):
        series = data.add_series(book_text(one.name))
        for x, y in zip(one.x, one.y, strict=True):
            series.add_data_point(x, y)
    return data


def _ordered(native: EditableChart) -> list[ChartSeries]:
    """Give the series as they are drawn: in a scatter with its helpers, the longest first.

    LibreOffice loses the points of a series that stands before a longer one.
    """
    if native.form != "scatter":
        return list(native.series)
    every = [*_carriers(native), *_intervals(native), *native.series]
    longest = max(every, key=lambda one: len(one.x))
    return [longest, *(one for one in every if one is not longest)]


def _intervals(native: EditableChart) -> list[ChartSeries]:
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
        ChartSeries(
            INTERVALS, tuple(x[:-1]), tuple(y[:-1]), "56656F", lines=True, markers=False, legend=False
        )
    ]


def _carriers(native: EditableChart) -> list[ChartSeries]:
    """Give the series without marks whose labels are the names along an axis of a scatter."""
    found = []
    for axis, other, beside in ((native.x, native.y, False), (native.y, native.x, True)):
        if native.form == "scatter" and axis.names:
            places = tuple(float(at) for at in range(len(axis.names)))
            ends = (other.low or 0.0,) * len(places)
            x, y = (ends, places) if beside else (places, ends)
            name = "names to the left" if beside else "names below"
            labels = tuple(one[:LONGEST_NAME] for one in axis.names)
            found.append(ChartSeries(name, x, y, "FFFFFF", labels=labels, markers=False, legend=False))
    return found


def _legend(chart: Chart, native: EditableChart, shown: Sequence[ChartSeries]) -> None:
    kept = [one.legend for one in shown]
    chart.has_legend = native.legend and sum(kept) > 1
    if chart.has_legend and chart.legend is not None:
        chart.legend.position, chart.legend.include_in_layout = XL_LEGEND_POSITION.TOP, False
        chart.legend.font.size = Pt(FONT_SIZE)
        hide_legend_entries(chart, [at for at, keep in enumerate(kept) if not keep])


def _axes(chart: Chart, native: EditableChart, box: Box) -> None:
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


def _room_for_names(native: EditableChart, box: Box) -> tuple[float, float]:
    """Give the shares of width and height that names beside and below the ground need."""
    longest = max((len(one[:LONGEST_NAME]) for one in native.y.names), default=0)
    width = 0.06
    while longest and width < 0.4:
        names = [one[:LONGEST_NAME] for one in native.y.names]
        if all(lines_needed(one, FONT_SIZE, width * box[2] - 0.15) == 1 for one in names):
            break
        width += 0.02
    return width, 0.12 if native.x.names else 0.06


def _axis(drawn: Any, axis: ChartAxis, scatter: bool) -> None:
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
