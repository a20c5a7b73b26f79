"""Stored scores: reading single columns, and checksums by which a damaged folder is noticed and made anew."""

from __future__ import annotations

import json
import zlib
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from data.read_costs import add_costs
from data.store.stored_file import reading
from metrics.schema.source import Source

__all__ = ["SUMMARY", "ScoreFile", "checksums", "is_intact", "read_summary"]

SUMMARY = "summary.json"


def read_summary(folder: Path) -> dict[str, Any]:
    """Return the summary of stored scores: `missing`, `aggregates` and, in newer ones, `files`.

    Raises:
        ValueError: it cannot be read.
    """
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{folder / SUMMARY}: {error.strerror}") from error
    if not isinstance(summary, dict) or not all(
        isinstance(summary.get(key), dict) for key in ("missing", "aggregates")
    ):
        raise ValueError(f"{folder / SUMMARY}: has no `missing` and `aggregates`")
    return summary


def checksums(folder: Path) -> dict[str, int]:
    """Return the CRC-32 of every Parquet file of a folder."""
    return {path.name: zlib.crc32(path.read_bytes()) for path in sorted(folder.glob("*.parquet"))}


def is_intact(folder: Path) -> bool:
    """Return whether stored scores are as they were written; older ones, whether they can be opened."""
    try:
        files = read_summary(folder).get("files")
        if files is not None:
            return bool(files == checksums(folder))
        for path in {folder / "scores.parquet", folder / "evidence.parquet", *folder.glob("*.parquet")}:
            pq.read_metadata(path)
    except (ValueError, OSError, pa.ArrowException):
        return False
    return True


class ScoreFile:
    """A scores.parquet, kept open: it has one row group for each metric and source.

    Attributes:
        groups: metric -> source -> row group, best source first.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with reading(path):
            self._file = pq.ParquetFile(path)
            metadata = self._file.metadata
            self.groups: dict[str, dict[Source, int]] = {}
            for group in range(metadata.num_row_groups):
                if metadata.row_group(group).num_rows:
                    self._add(group, metadata.row_group(group))
        for metric, sources in self.groups.items():
            self.groups[metric] = dict(sorted(sources.items()))

    def read(self, metric: str, source: Source, columns: tuple[str, ...] = ("value", "status")) -> Any:
        """Return the values and statuses of a metric from one source as an Arrow table."""
        with reading(self._path):
            table = self._file.read_row_group(self.groups[metric][source], columns=list(columns))
        add_costs(queries=1, rows=table.num_rows)
        return table

    def read_all(self) -> dict[tuple[str, Source], Any]:
        """Return what `read` does for every metric and source, in one read: for runs that are small."""
        with reading(self._path):
            table = self._file.read(columns=["value", "status"])
        add_costs(queries=1, rows=table.num_rows)
        metadata = self._file.metadata
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        starts = list(accumulate(sizes, initial=0))
        return {
            (metric, source): table.slice(starts[group], sizes[group])
            for metric, sources in self.groups.items()
            for source, group in sources.items()
        }

    def _add(self, group: int, metadata: Any) -> None:
        names = [metadata.column(column).statistics for column in (0, 1)]
        if any(statistics is None or not statistics.has_min_max for statistics in names):
            first = self._file.read_row_group(group, columns=["metric", "source"]).slice(0, 1).to_pylist()[0]
            metric, source = first["metric"], first["source"]
        else:
            metric, source = (statistics.min for statistics in names)
        self.groups.setdefault(metric, {})[_SOURCE[source]] = group


_SOURCE = {source.label: source for source in Source}
