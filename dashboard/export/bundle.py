"""The files of a story: each table as CSV, Parquet and Markdown, each chart as PNG and SVG."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dashboard.charts.chart_rows import chart_rows
from dashboard.export.chart_images import chart_image
from dashboard.stories.story import RenderedSection
from dashboard.wording.table_files import export_table
from data.errors import DataError

__all__ = ["report_files"]

FIRST_MOMENT = (1980, 1, 1, 0, 0, 0)  # the same story gives the same bytes
TABLES = {"csv": "csv", "parquet": "parquet", "md": "markdown"}
IMAGES = ("png", "svg")


def report_files(made: Sequence[RenderedSection]) -> bytes:
    """Write a ZIP with the files of every point; a chart that no browser can draw is said in MISSING.txt."""
    sink, missing = io.BytesIO(), []
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as packed:
        for at, one in enumerate(made, start=1):
            name = f"{at:02d}-{_plain(one.heading) or one.kind}"
            for ending, content in _tables(one):
                _put(packed, f"{name}{ending}", content)
            missing += [f"{name}: {problem}" for problem in _images(packed, name, one)]
        if missing:
            _put(packed, "MISSING.txt", "\n".join(missing).encode())
    return sink.getvalue()


def _tables(one: RenderedSection) -> Iterator[tuple[str, bytes]]:
    of_chart: Sequence[Mapping[str, Any]] = [] if one.chart is None else chart_rows(one.chart)
    for part, rows in (("", one.rows), ("-chart", of_chart)):
        if rows:
            yield from ((f"{part}.{ending}", export_table(rows, form)) for ending, form in TABLES.items())


def _images(packed: zipfile.ZipFile, name: str, one: RenderedSection) -> list[str]:
    if one.chart is None:
        return []
    try:
        for form in IMAGES:
            _put(packed, f"{name}.{form}", chart_image(one.chart, form))
    except DataError as error:
        return [str(error)]
    return []


def _put(packed: zipfile.ZipFile, name: str, content: bytes) -> None:
    packed.writestr(zipfile.ZipInfo(name, FIRST_MOMENT), content, zipfile.ZIP_DEFLATED)


def _plain(text: str) -> str:
    return re.sub(r"[^\w-]+", "-", text).strip("-")[:50]
