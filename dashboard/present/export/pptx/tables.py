"""Tables on slides, split over as many as they need, so that every text fits; heatmaps in colours."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pptx.dml.color import RGBColor
from pptx.enum.text import MSO_ANCHOR
from pptx.slide import Slide
from pptx.util import Inches, Pt

from ragtriage.dashboard.charts.chart import Heatmap
from ragtriage.dashboard.present.export.pptx.slides import INK
from ragtriage.dashboard.present.export.pptx.style import (
    cut_to,
    height_of,
    line_width,
    readable_on,
    scale_colour,
)
from ragtriage.dashboard.present.export.slide_layout import MARGIN, WIDTH
from ragtriage.dashboard.wording.table_files import one_line, table_cells
from ragtriage.data.text.printable import printable

EMPTY = "FFFFFF"
Texts = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class HeatmapTable:
    """A heatmap."""

    corner: str  # titles of both axes
    columns: tuple[str, ...]  # names, from the left
    rows: tuple[str, ...]  # names, from the top
    cells: Texts  # texts by row
    colours: Texts  # six hex digits by row


def heatmap_table(chart: Heatmap) -> HeatmapTable:
    """Return a heatmap as a table with the topmost row first."""
    titles = [one_line(title) for title in (chart.y.title, chart.x.title)]
    known = [value for row in chart.values for value in row if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    extent = (high - low) or 1.0
    return HeatmapTable(
        " ↓   ".join(filter(None, titles)) + (" →" if all(titles) else ""),
        tuple(map(one_line, chart.x.names)),
        tuple(map(one_line, chart.y.names[::-1])),
        tuple(tuple(map(one_line, row)) for row in chart.text[::-1]),
        tuple(
            tuple(
                EMPTY if value is None else scale_colour(chart.scale, (value - low) / extent) for value in row
            )
            for row in chart.values
        )[::-1],
    )


PAD, LEAST_WIDTH, MOST_WIDTH, MOST_WORD = 0.08, 0.7, 5.0, 2.4  # inches
SPARE = 2 * PAD + 0.06  # inches around a text in its cell
MOST_COLUMNS = 10
GRID_ROW, GRID_STRETCH = 0.6, 1.2  # inches: cells of a heatmap are larger than their texts
HEAD, STRIPE, PLAIN = "0B5E94", "F3F6F9", "FFFFFF"
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Page:
    """The part of a table that one slide holds."""

    head: tuple[str, ...]  # names of the columns
    rows: tuple[tuple[str, ...], ...]  # texts
    widths: tuple[float, ...]  # of the columns in inches
    heights: tuple[float, ...]  # of head and rows in inches
    size: float  # of the text in points
    right: frozenset[int]  # columns that are aligned to the right
    colours: tuple[tuple[str, ...], ...] = ()  # of the cells as six hex digits; empty for stripes


def table_pages(rows: Rows, height: float) -> Iterator[Page]:
    """Split a table into pages of at most a height; very wide ones by columns too, repeating the first."""
    columns, texts, numeric = table_cells(rows)
    for picked in _column_groups(len(columns)):
        head = [printable(columns[at]) for at in picked]
        cells = [[line[at] for at in picked] for line in texts]
        right = frozenset(column for column, at in enumerate(picked) if numeric[at])
        yield from _pages(head, cells, right, height)


def grid_pages(grid: HeatmapTable, height: float) -> Iterator[Page]:
    """Split a heatmap into pages of coloured cells."""
    columns = (grid.corner or " ", *grid.columns)
    for picked in _column_groups(len(columns)):
        head = [printable(columns[at]) for at in picked]
        cells = [
            [(name, *line)[at] for at in picked] for name, line in zip(grid.rows, grid.cells, strict=True)
        ]
        done = 0
        for page in _pages(head, cells, frozenset(), height, GRID_STRETCH):
            colours = tuple(
                tuple((STRIPE, *line)[at] for at in picked)
                for line in grid.colours[done : done + len(page.rows)]
            )
            done += len(page.rows)
            stretch = max(1.0, min(GRID_ROW / max(page.heights), height / sum(page.heights)))
            heights = tuple(row_height * stretch for row_height in page.heights)
            yield Page(page.head, page.rows, page.widths, heights, page.size, page.right, colours)


def _column_groups(n: int) -> list[list[int]]:
    if n <= MOST_COLUMNS:
        return [list(range(n))]
    step = MOST_COLUMNS - 1
    return [[0, *range(at, min(n, at + step))] for at in range(1, n, step)]


def _pages(
    head: Sequence[str],
    cells: Sequence[Sequence[str]],
    right: frozenset[int],
    height: float,
    stretch: float = 0.4,
) -> Iterator[Page]:
    size = 12.0 if len(head) <= 6 else 11.0 if len(head) <= 8 else 10.0
    widths = _widths([head, *cells], size, stretch)
    most = height / 3  # of one row, so that a page holds a few
    fitted_head, head_height = _fit_row(head, widths, size, most)
    rows: list[tuple[str, ...]] = []
    heights = [head_height]
    for line in cells:
        row, row_height = _fit_row(line, widths, size, most)
        if rows and sum(heights) + row_height > height:
            yield Page(fitted_head, tuple(rows), widths, tuple(heights), size, right)
            rows, heights = [], [head_height]
        rows.append(row)
        heights.append(row_height)
    yield Page(fitted_head, tuple(rows), widths, tuple(heights), size, right)


def _fit_row(
    line: Sequence[str], widths: Sequence[float], size: float, most: float
) -> tuple[tuple[str, ...], float]:
    """Return the texts of a row, cut to what a cell may hold, and the height that the row needs."""
    room = most - 2 * PAD
    inner = [width - 2 * PAD for width in widths]
    texts = tuple(cut_to(text, wide, room, size) for text, wide in zip(line, inner, strict=True))
    high = max((height_of(text, size, wide) for text, wide in zip(texts, inner, strict=True)), default=0.2)
    return texts, high + 2 * PAD


def _widths(lines: Sequence[Sequence[str]], size: float, stretch: float) -> tuple[float, ...]:
    """Return the widths of columns by their longest texts, so that words stay whole where there is room.

    A column may be wider than it needs by the stretch, in inches.
    """
    wanted, least = [], []
    for column in zip(*lines, strict=True):
        whole = max(line_width(text, size) for text in column)
        words = max((line_width(word, size) for text in column for word in text.split()), default=0.0)
        wanted.append(min(MOST_WIDTH, max(LEAST_WIDTH, whole + SPARE)))
        least.append(min(MOST_WORD, max(LEAST_WIDTH, words + SPARE)))
    if sum(wanted) <= WIDTH:
        return tuple(width + min(stretch, (WIDTH - sum(wanted)) / len(wanted)) for width in wanted)
    if sum(least) >= WIDTH:
        return tuple(WIDTH * width / sum(least) for width in least)
    more = [max(0.0, width - bound) for width, bound in zip(wanted, least, strict=True)]
    share = (WIDTH - sum(least)) / sum(more)
    return tuple(bound + share * extra for bound, extra in zip(least, more, strict=True))


def add_page(slide: Slide, page: Page, top: float) -> Any:
    """Put a page of a table on a slide as an editable table."""
    n, m = len(page.rows) + 1, len(page.head)
    box = map(Inches, (MARGIN, top, sum(page.widths), sum(page.heights)))
    table = slide.shapes.add_table(n, m, *box).table
    for at, width in enumerate(page.widths):
        table.columns[at].width = Inches(width)
    for at, height in enumerate(page.heights):
        table.rows[at].height = Inches(height)
    for column, text in enumerate(page.head):
        _cell(table.cell(0, column), text, page.size, HEAD, column in page.right, True)
    for row, line in enumerate(page.rows):
        for column, text in enumerate(line):
            background = page.colours[row][column] if page.colours else (STRIPE if row % 2 else PLAIN)
            _cell(table.cell(row + 1, column), text, page.size, background, column in page.right, False)
    return table


def _cell(cell: Any, text: str, size: float, background: str, right: bool, bold: bool) -> None:
    cell.margin_left = cell.margin_right = cell.margin_top = cell.margin_bottom = Inches(PAD * 0.9)
    cell.vertical_anchor = MSO_ANCHOR.MIDDLE
    cell.fill.solid()
    cell.fill.fore_color.rgb = RGBColor.from_string(background)
    cell.text_frame.text = text
    ink = INK if background in (PLAIN, STRIPE) else readable_on(background)
    for paragraph in cell.text_frame.paragraphs:
        paragraph._p.get_or_add_pPr().set("algn", "r" if right else "l")
        paragraph.font.size, paragraph.font.bold = Pt(size), bold
        for run in paragraph.runs:
            run.font.size, run.font.bold, run.font.color.rgb = Pt(size), bold, RGBColor.from_string(ink)
