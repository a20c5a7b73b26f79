"""Rows of tools whose columns hold something else than their names say, or a sample in several rows.

Each is brought to columns that `parsing.columns` maps; nothing is dropped: what has no field stays a column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ragtriage.data.importers.parsing.rows import Table
from ragtriage.data.store.parsed_run import Record

Row = dict[str, Any]


@dataclass(frozen=True)
class ToolRows:
    """How the rows of a tool are recognised and converted.

    Attributes:
        fits: whether these are the tool's column names.
        convert: its rows as rows with the usual columns.
        note: what was done, for the reader.
    """

    fits: Callable[[set[str]], bool]
    convert: Callable[[Iterator[Record]], Iterable[Record]]
    note: str

    def table(self, table: Table) -> Table:
        """Return the table with one row per sample and columns that say what they hold."""
        return Table.of(table.kind, self.convert(table.rows()), notes=(*table.notes, self.note))


def brought_to_samples(table: Table, tools: Iterable[ToolRows] = ()) -> Table:
    """Return a table with one row per sample and columns that say what they hold; others as they are."""
    tool = next((tool for tool in (*tools, *TOOLS) if tool.fits(set(table.columns))), None)
    return table if tool is None else tool.table(table)


def has_spans(names: set[str]) -> bool:
    """Return whether these are the columns of spans, of which several belong to one question."""
    return any(marks <= names for marks in SPAN_COLUMNS)


def each(convert: Callable[[Row], Row]) -> Callable[[Iterator[Record]], Iterator[Record]]:
    """Return a conversion of rows that become one sample each."""

    def rows(records: Iterator[Record]) -> Iterator[Record]:
        for line, row in records:
            yield line, convert(row) if isinstance(row, dict) else row

    return rows


GOLDEN_NAMES = {
    "name": "question_id",
    "actual_output": "answer",
    "expected_output": "reference_answer",
    "context": "reference_contexts",
    "retrieval_context": "retrieved",
}


def _of_golden(row: Row) -> Row:
    """Return a golden of DeepEval: its context is the gold."""
    return {GOLDEN_NAMES.get(name, name): value for name, value in row.items()}


SPAN_COLUMNS: tuple[set[str], ...] = (
    {"traceId", "isRootObservation"},
    {"traceId", "parentObservationId"},
    {"root_span_id", "span_id"},
    {"trace_id", "span_id"},
)
TOOLS = (
    ToolRows(
        lambda names: names >= {"input", "expected_output", "context", "source_file"},
        each(_of_golden),
        "read as goldens of DeepEval: `context` is the gold, nothing was retrieved",
    ),
)
