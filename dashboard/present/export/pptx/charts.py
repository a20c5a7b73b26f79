"""Charts on a slide whose data can be edited in PowerPoint."""

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

from ragtriage.dashboard.charts.chart import Series
from ragtriage.dashboard.present.export.pptx.chart_model import EditableChart, SlideAxis, error_lengths
from ragtriage.dashboard.present.export.pptx.style import (
    EAST_ASIAN,
    LATIN,
    hex_digits,
    lines_needed,
    readable_on,
    scale_colour,
)
from ragtriage.dashboard.wording.table_files import one_line
from ragtriage.data.cases.export import safe_cell
from ragtriage.data.text.printable import printable

_MARKERS = {
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
_DASHES = {"dash": MSO_LINE.DASH, "dot": MSO_LINE.ROUND_DOT}
LABEL_SIZE, INSIDE_SIZE = 11, 16
POINTS_PER_PIXEL = 0.75
TO_THE_LEFT, BELOW = "names to the left", "names below"
_CARRIERS = {TO_THE_LEFT: XL_LABEL_POSITION.LEFT, BELOW: XL_LABEL_POSITION.BELOW}


def _paint_series(drawn: Any, series: Series, form: str, stacked: bool) -> None:
    """Set colours, markers, line and labels of a drawn series and its points."""
    colour = hex_digits(series.colour)
    bars = form in ("bar", "column")
    if bars:
        drawn.invert_if_negative = False
        _fill(drawn.format, colour)
    else:
        drawn.smooth = False
        _line(drawn.format.line, series)
        _mark(drawn.marker, series, colour)
    for at, own in enumerate(map(hex_digits, series.colours)):
        if own != colour:
            point = drawn.points[at]
            if bars:
                _fill(point.format, own)
            else:
                _mark(point.marker, series, own)
    _labels(drawn, series, form, stacked)


def _fill(shape: Any, colour: str) -> None:
    shape.fill.solid()
    shape.fill.fore_color.rgb = RGBColor.from_string(colour)


def _line(line: Any, series: Series) -> None:
    if series.line is None:
        line.fill.background()
        return
    line.width = Pt(2 if series.line == "solid" else 1.5)
    line.color.rgb = RGBColor.from_string(hex_digits(series.colour))
    if series.line in _DASHES:
        line.dash_style = _DASHES[series.line]


def _mark(marker: Any, series: Series, colour: str) -> None:
    if not series.symbol:
        marker.style = XL_MARKER_STYLE.NONE
        return
    shape = series.symbol.removesuffix("-open")
    marker.style = _MARKERS.get(shape, XL_MARKER_STYLE.CIRCLE)
    marker.size = max(3, min(12, round(series.size * POINTS_PER_PIXEL)))
    # open markers get a tint: white ones vanish where outlines are not drawn
    pale = scale_colour([(0, "#ffffff"), (1, f"#{colour}")], 0.35)
    _fill(marker.format, pale if series.symbol.endswith("-open") else colour)
    marker.format.line.color.rgb = RGBColor.from_string(colour)


def _labels(drawn: Any, series: Series, form: str, stacked: bool) -> None:
    """Write the labels of the points, so that they read as in the app; within bars that stand on others."""
    inside = stacked and form in ("bar", "column")
    if form in ("bar", "column"):
        position = XL_LABEL_POSITION.CENTER if inside else XL_LABEL_POSITION.OUTSIDE_END
    else:
        of_carrier = _CARRIERS.get(series.name, XL_LABEL_POSITION.ABOVE)
        position = XL_LABEL_POSITION.ABOVE if series.symbol else of_carrier
    for at, text in enumerate(map(one_line, series.text)):
        if text:
            label = drawn.points[at].data_label
            label.has_text_frame = True
            label.text_frame.text = text
            font = label.text_frame.paragraphs[0].runs[0].font
            font.size, font.bold = Pt(INSIDE_SIZE if inside else LABEL_SIZE), inside
            if inside:
                font.color.rgb = RGBColor.from_string(readable_on(hex_digits(series.colour)))
            label.position = position


BAR_COLOUR = "56656F"
LEGEND_ROOM = 0.09


_DATA = {qn("c:cat"), qn("c:val"), qn("c:xVal"), qn("c:yVal")}


def _error_bars(direction: str, lengths: Sequence[tuple[float, float]]) -> str:
    return (
        f"<c:errBars {nsdecls('c', 'a')}>{direction}"
        '<c:errBarType val="both"/><c:errValType val="cust"/><c:noEndCap val="0"/>'
        f"<c:plus>{_numbers([above for _, above in lengths])}</c:plus>"
        f"<c:minus>{_numbers([below for below, _ in lengths])}</c:minus>"
        f'<c:spPr><a:ln w="12700"><a:solidFill><a:srgbClr val="{BAR_COLOUR}"/></a:solidFill></a:ln></c:spPr>'
        "</c:errBars>"
    )


def _numbers(values: Sequence[float]) -> str:
    points = "".join(f'<c:pt idx="{at}"><c:v>{value:.9g}</c:v></c:pt>' for at, value in enumerate(values))
    return (
        f'<c:numLit><c:formatCode>General</c:formatCode><c:ptCount val="{len(values)}"/>{points}</c:numLit>'
    )


def _set_plot_area(chart: Chart, room: tuple[float, float], legend: bool) -> None:
    """Place the plot area of a chart so that shares of the room to its left and below are kept free."""
    plot = chart._chartSpace.chart.plotArea
    old = plot.find(qn("c:layout"))
    if old is not None:
        plot.remove(old)
    left, foot, top = room[0], room[1] + 0.12, LEGEND_ROOM if legend else 0.02
    sizes = {"x": left, "y": top, "w": 0.97 - left, "h": 1 - top - foot}
    modes = '<c:xMode val="edge"/><c:yMode val="edge"/>'
    margins = "".join(f'<c:{name} val="{value:.4f}"/>' for name, value in sizes.items())
    inner = f'<c:manualLayout><c:layoutTarget val="inner"/>{modes}{margins}</c:manualLayout>'
    plot.insert(0, parse_xml(f"<c:layout {nsdecls('c')}>{inner}</c:layout>"))


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
    """Return a name that the workbook behind a chart reads neither as a formula nor as a link.

    It gets a leading space, which a chart does not show, where CSV has a quote.
    """
    return f" {text}" if safe_cell(text) != text or _READ_BY_BOOKS.match(text) else text


def add_chart(slide: Slide, model: EditableChart, box: Box, alt: str) -> Chart:
    """Put a chart on a slide, with a description in words."""
    kind = _TYPES[model.form][model.stacked]
    left, top, width, height = map(Inches, box)
    data = _xy_data(model) if model.form == "scatter" else _category_data(model)
    frame: Any = slide.shapes.add_chart(kind, left, top, width, height, data)  # type: ignore[arg-type] # Inches are lengths
    frame._element.nvGraphicFramePr.cNvPr.set("descr", printable(alt))
    chart: Chart = frame.chart
    chart.font.size, chart.font.color.rgb = Pt(FONT_SIZE), INK
    # set fonts that hold most scripts, with one for East Asian characters
    properties = chart.font._element
    for tag, name in (("a:latin", LATIN), ("a:ea", EAST_ASIAN)):
        font = properties.find(qn(tag))
        if font is None:
            font = etree.SubElement(properties, qn(tag))
        font.set("typeface", name)
    chart.has_title = False
    ordered = _ordered(model)
    drawn = [part for plot in chart.plots for part in plot.series]
    for part, series in zip(drawn, ordered, strict=True):
        _paint_series(part, series, model.form, model.stacked)
        if not (model.form == "scatter" and model.horizontal):  # those are strokes, see _intervals
            # add the intervals of a series along its values as error bars, each point its own
            lengths = error_lengths(series, series.y) if series.low else []
            if any(below or above for below, above in lengths):
                # bars have but one direction
                direction = "" if model.form in ("bar", "column") else '<c:errDir val="y"/>'
                first_data = next(child for child in part._element if child.tag in _DATA)
                first_data.addprevious(parse_xml(_error_bars(direction, lengths)))
    for value in chart._chartSpace.xpath('.//c:pt[c:v="None"]'):
        value.getparent().remove(value)
    _legend(chart, model, ordered)
    _axes(chart, model, box)
    return chart


def _category_data(model: EditableChart) -> CategoryChartData:
    values = model.x if model.form == "bar" else model.y
    data = CategoryChartData(number_format=values.format)
    data.categories = [book_text(name[:LONGEST_NAME]) for name in model.categories]
    for series in model.series:
        data.add_series(book_text(one_line(series.name)), series.y)
    return data


def _xy_data(model: EditableChart) -> XyChartData:
    data = XyChartData(number_format="General")
    for series in _ordered(model):
        points = data.add_series(book_text(one_line(series.name)))
        for x, y in zip(series.x, series.y, strict=True):
            points.add_data_point(x, y)
    return data


def _ordered(model: EditableChart) -> list[Series]:
    """Return the series as they are drawn: in a scatter with its helpers, the longest first.

    LibreOffice loses the points of a series that stands before a longer one.
    """
    if model.form != "scatter":
        return list(model.series)
    # intervals along x are strokes with gaps between: LibreOffice shows no such error bars
    x: list[float | None] = []
    y: list[float | None] = []
    for series in model.series if model.horizontal else ():
        for at, (low, high) in enumerate(zip(series.low, series.high, strict=True)):
            if low is not None and high is not None:
                x += [low, high, None]
                y += [series.y[at], series.y[at], None]
    intervals = [_helper(INTERVALS, x[:-1], y[:-1], f"#{BAR_COLOUR}", line="solid")] if x else []
    ordered = [*_carriers(model), *intervals, *model.series]
    longest = max(ordered, key=lambda part: len(part.x))
    return [longest, *(part for part in ordered if part is not longest)]


def _carriers(model: EditableChart) -> list[Series]:
    """Return the series without markers whose labels are the names along an axis of a scatter."""
    carriers = []
    for axis, other, to_the_left in ((model.x, model.y, False), (model.y, model.x, True)):
        if axis.names:
            places = [float(at) for at in range(len(axis.names))]
            ends = [other.low or 0.0] * len(places)
            x, y = (ends, places) if to_the_left else (places, ends)
            name = TO_THE_LEFT if to_the_left else BELOW
            carriers.append(_helper(name, x, y, "#ffffff", text=_short_names(axis)))
    return carriers


def _helper(
    name: str, x: Sequence[float | None], y: Sequence[float | None], colour: str, **style: Any
) -> Series:
    return Series(name, tuple(x), tuple(y), colour, symbol="", in_legend=False, **style)


def _short_names(axis: SlideAxis) -> tuple[str, ...]:
    return tuple(name[:LONGEST_NAME] for name in axis.names)


def _legend(chart: Chart, model: EditableChart, ordered: Sequence[Series]) -> None:
    kept = [series.in_legend and bool(series.name) for series in ordered]
    chart.has_legend = model.legend and sum(kept) > 1
    if chart.has_legend and chart.legend is not None:
        chart.legend.position, chart.legend.include_in_layout = XL_LEGEND_POSITION.TOP, False
        chart.legend.font.size = Pt(FONT_SIZE)
        position = chart._chartSpace.chart.find(qn("c:legend")).find(qn("c:legendPos"))
        for at in reversed([at for at, keep in enumerate(kept) if not keep]):  # series that are not in it
            entry = f'<c:legendEntry {nsdecls("c")}><c:idx val="{at}"/><c:delete val="1"/></c:legendEntry>'
            position.addnext(parse_xml(entry))


def _axes(chart: Chart, model: EditableChart, box: Box) -> None:
    across, upright = (chart.value_axis, chart.category_axis)
    if model.form != "bar":
        across, upright = upright, across
    for drawn, axis in ((across, model.x), (upright, model.y)):
        _axis(drawn, axis, model.form == "scatter")
    if model.form != "scatter":
        chart.category_axis.has_major_gridlines = False
        chart.category_axis.tick_label_position = XL_TICK_LABEL_POSITION.LOW
        plot = chart.plots[0]
        if model.form in ("bar", "column"):
            plot.gap_width, plot.overlap = 55, model.overlap
        return
    if model.y.names or model.x.names:
        # the shares of width and height that names to the left of and below the plot area need
        names, width = _short_names(model.y), 0.06
        while width < 0.4 and any(lines_needed(name, FONT_SIZE, width * box[2] - 0.15) > 1 for name in names):
            width += 0.02
        room_for_names = width, 0.12 if model.x.names else 0.06
        _set_plot_area(chart, room_for_names, chart.has_legend)


def _axis(drawn: Any, axis: SlideAxis, scatter: bool) -> None:
    drawn.has_title = bool(axis.title)
    if axis.title:
        frame = drawn.axis_title.text_frame
        frame.text = axis.title[:120]
        font = frame.paragraphs[0].runs[0].font
        font.size, font.bold, font.color.rgb = Pt(FONT_SIZE), False, FAINT
    drawn.format.line.color.rgb = GRID
    drawn.tick_labels.font.size = Pt(FONT_SIZE)
    numeric = axis.low is not None or axis.format != "General" or scatter
    if numeric:
        drawn.tick_labels.number_format, drawn.tick_labels.number_format_is_linked = axis.format, False
        drawn.minimum_scale, drawn.maximum_scale, drawn.major_unit = axis.low, axis.high, axis.step
    drawn.has_major_gridlines = not axis.names
    if drawn.has_major_gridlines:
        drawn.major_gridlines.format.line.color.rgb = GRID
        drawn.major_gridlines.format.line.width = Emu(6350)
    drawn.reverse_order = axis.reversed
    drawn.tick_label_position = XL_TICK_LABEL_POSITION.NONE if axis.names else XL_TICK_LABEL_POSITION.LOW
