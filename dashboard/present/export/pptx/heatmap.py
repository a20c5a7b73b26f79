"""A heatmap as a table whose cells keep their colours, for slides."""

from __future__ import annotations

from dataclasses import dataclass

from ragtriage.dashboard.charts.chart import Heatmap
from ragtriage.dashboard.present.export.pptx.theme import scale_colour
from ragtriage.dashboard.wording.export_text import one_line

EMPTY = "FFFFFF"
Rows = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class HeatmapTable:
    """A heatmap.

    Attributes:
        corner: titles of both axes.
        columns: names, from the left.
        rows: names, from the top.
        cells: texts by row.
        colours: six hex digits by row.
    """

    corner: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: Rows
    colours: Rows


def heatmap_table(chart: Heatmap) -> HeatmapTable:
    """Return a heatmap as a table with the topmost row first."""
    titles = [one_line(title) for title in (chart.y.title, chart.x.title)]
    return HeatmapTable(
        " ↓   ".join(filter(None, titles)) + (" →" if all(titles) else ""),
        tuple(map(one_line, chart.x.names)),
        tuple(map(one_line, chart.y.names[::-1])),
        tuple(tuple(map(one_line, row)) for row in chart.text[::-1]),
        _colours(chart)[::-1],
    )


def _colours(chart: Heatmap) -> Rows:
    known = [value for row in chart.values for value in row if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    extent = (high - low) or 1.0
    return tuple(
        tuple(EMPTY if value is None else scale_colour(chart.scale, (value - low) / extent) for value in row)
        for row in chart.values
    )
