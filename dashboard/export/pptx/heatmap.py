"""A heatmap as a table whose cells keep their colours, for slides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from dashboard.charts.figure_data import axis_title, tick_names, values
from dashboard.export.pptx.theme import scale_colour
from dashboard.wording.export_text import cell_text, label_text

__all__ = ["HeatmapTable", "heatmap_table"]

USUAL_SCALE = ((0.0, "#cfe3f1"), (1.0, "#0b5e94"))
EMPTY = "FFFFFF"


@dataclass(frozen=True)
class HeatmapTable:
    """A heatmap.

    Attributes:
        corner: titles of both axes.
        columns: names, from the left.
        rows: names, from above.
        cells: texts by row.
        colours: six hex digits by row.
    """

    corner: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    colours: tuple[tuple[str, ...], ...]


def heatmap_table(figure: go.Figure) -> HeatmapTable | None:
    """Read a figure with one heatmap; None where there is none, or several."""
    maps = [trace for trace in figure.data if trace.type == "heatmap"]
    if len(maps) != 1:
        return None
    trace, layout = maps[0], figure.layout
    z = values(trace.z)
    columns = _names(trace.x, layout.xaxis, max((len(line) for line in z), default=0))
    rows = _names(trace.y, layout.yaxis, len(z))
    texts = values(trace.text)
    cells = [[_text(texts, at, spot, cell) for spot, cell in enumerate(line)] for at, line in enumerate(z)]
    colours = _colours(trace, z)
    if layout.yaxis.autorange != "reversed":  # the figure's first row is its lowest
        rows, cells, colours = rows[::-1], cells[::-1], colours[::-1]
    titles = [axis_title(layout.yaxis), axis_title(layout.xaxis)]
    corner = " ↓   ".join(one for one in titles if one) + (" →" if all(titles) else "")
    return HeatmapTable(
        corner, tuple(columns), tuple(rows), tuple(map(tuple, cells)), tuple(map(tuple, colours))
    )


def _names(given: Any, axis: Any, n: int) -> list[str]:
    ticks = tick_names(axis)
    found = values(given) or list(range(n))
    return [ticks.get(one) or (label_text(one) if isinstance(one, str) else cell_text(one)) for one in found]


def _text(texts: list[Any], row: int, column: int, cell: Any) -> str:
    if row < len(texts) and isinstance(texts[row], list) and column < len(texts[row]):
        return label_text(texts[row][column] or "")
    return "" if cell is None else cell_text(cell)


def _colours(trace: Any, z: list[Any]) -> list[list[str]]:
    known = [cell for line in z for cell in line if cell is not None]
    low = trace.zmin if trace.zmin is not None else min(known, default=0.0)
    high = trace.zmax if trace.zmax is not None else max(known, default=1.0)
    scale = [list(one) for one in (trace.colorscale or USUAL_SCALE)]
    if trace.reversescale:
        scale = [[1 - share, colour] for share, colour in reversed(scale)]
    extent = (high - low) or 1.0
    return [
        [
            EMPTY if cell is None else scale_colour(scale, min(1.0, max(0.0, (cell - low) / extent)))
            for cell in line
        ]
        for line in z
    ]
