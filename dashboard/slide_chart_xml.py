"""What python-pptx has no words for: error bars, gaps, fonts by script, room in a chart, legend entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lxml import etree
from pptx.chart.chart import Chart
from pptx.oxml import parse_xml
from pptx.oxml.ns import nsdecls, qn

from dashboard.native_charts import Arms, NativeSeries
from dashboard.native_colours import EAST_ASIAN, LATIN

__all__ = [
    "add_arms",
    "drop_gaps",
    "hide_legend_entries",
    "lay_out",
    "name_of_font",
]

ARM_COLOUR = "56656F"
LEGEND_ROOM = 0.09


def add_arms(drawn: Any, one: NativeSeries, form: str) -> None:
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
