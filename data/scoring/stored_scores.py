"""Stored scores: reading single columns, and checksums by which a damaged folder is noticed and made anew."""

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ragtriage.data.read_costs import add_costs
from ragtriage.data.store.stored_file import reading
from ragtriage.metrics.schema.scores import Source

SUMMARY = "summary.json"


def read_summary(folder: Path) -> dict[str, Any]:
    """Return the summary of stored scores: `missing`, `aggregates` and, in newer ones, `files`.

    Raises:
        ValueError: it cannot be read, or is of another run than the folder.
    """
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{folder / SUMMARY}: {error.strerror}") from error
    if not isinstance(summary, dict) or not all(
        isinstance(summary.get(key), dict) for key in ("missing", "aggregates")
    ):
        raise ValueError(f"{folder / SUMMARY}: has no `missing` and `aggregates`")
    if summary.get("run_id", folder.parent.name) != folder.parent.name:
        raise ValueError(f"{folder / SUMMARY}: is of another run")
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
    """A scores.parquet with one row group for each metric and source; it is opened anew for each read.

    Attributes:
        groups: metric -> source -> row group, best source first.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.groups: dict[str, dict[Source, int]] = {}
        with reading(path), pq.ParquetFile(path) as file:
            self._metadata = file.metadata
            for group in range(self._metadata.num_row_groups):
                if self._metadata.row_group(group).num_rows:
                    self._add(file, group)
        for metric, sources in self.groups.items():
            self.groups[metric] = dict(sorted(sources.items()))

    def read(self, metric: str, source: Source, columns: tuple[str, ...] = ("value", "status")) -> Any:
        """Return the values and statuses of a metric from one source as an Arrow table."""
        with self._opened() as file:
            table = file.read_row_group(self.groups[metric][source], columns=list(columns))
        add_costs(queries=1, rows=table.num_rows)
        return table

    def read_all(self) -> dict[tuple[str, Source], Any]:
        """Return what `read` does for every metric and source, in one read: for runs that are small."""
        with self._opened() as file:
            table = file.read(columns=["value", "status"])
        add_costs(queries=1, rows=table.num_rows)
        groups = range(self._metadata.num_row_groups)
        sizes = [self._metadata.row_group(group).num_rows for group in groups]
        starts = list(accumulate(sizes, initial=0))
        return {
            (metric, source): table.slice(starts[group], sizes[group])
            for metric, sources in self.groups.items()
            for source, group in sources.items()
        }

    @contextmanager
    def _opened(self) -> Iterator[pq.ParquetFile]:
        with reading(self._path), pq.ParquetFile(self._path, metadata=self._metadata) as file:
            yield file

    def _add(self, file: pq.ParquetFile, group: int) -> None:
        metadata = self._metadata.row_group(group)
        names = [metadata.column(column).statistics for column in (0, 1)]
        if any(statistics is None or not statistics.has_min_max for statistics in names):
            first = file.read_row_group(group, columns=["metric", "source"]).slice(0, 1).to_pylist()[0]
            metric, source = first["metric"], first["source"]
        else:
            metric, source = (statistics.min for statistics in names)
        self.groups.setdefault(metric, {})[_SOURCE[source]] = group


_SOURCE = {source.label: source for source in Source}
