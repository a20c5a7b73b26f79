"""Runs from Python: a pandas DataFrame or a list of dicts, read like the rows of a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ragtriage.data.errors import InputError, ValidationError, ValidationErrors
from ragtriage.data.importers.formats import native
from ragtriage.data.importers.formats.ragas import OWN_COLUMNS, is_ragas
from ragtriage.data.importers.formats.table import brought_to_samples, runs_of_table
from ragtriage.data.importers.importer import ToolRows
from ragtriage.data.importers.parsing.columns import plan_columns
from ragtriage.data.importers.parsing.rows import Table
from ragtriage.data.store.parsed_run import ParsedRun

if TYPE_CHECKING:
    import pandas as pd

FRAME_ACCEPTED = "a pandas DataFrame or a list of dicts with at least one row"


def runs_from_frame(
    frame: pd.DataFrame | Sequence[Mapping[str, Any]],  # the rows; native, Ragas or any other column names
    name: str,  # name of the run, unless a column has it
    errors: ValidationErrors,  # collector of the errors of single rows, by 1-based row
    *,
    mapping: Mapping[str, str] | None = None,  # column -> field, in place of the guess
    config: Mapping[str, Any] | None = None,  # pipeline configuration to record
    dataset: str = "",
    tools: Iterable[ToolRows] = (),  # the rows of tools that are recognised
) -> list[ParsedRun]:
    """Return the parsed runs of a DataFrame or a list of dicts.

    Raises:
        InputError: there are no rows, or the mapping is wrong.
    """
    rows = frame_rows(frame, name)
    table = Table.of("frame", enumerate(rows, start=1))
    base = ParsedRun(name, (), name, "table", config=dict(config or {}), dataset=dataset)
    if native.is_native(table.columns) and not mapping:
        return [replace(base, format="native", records=native.records_of_native(table, errors))]
    ragas = is_ragas(table.columns)
    table = table if ragas else brought_to_samples(table, tools)
    plan = plan_columns(table, mapping or {}, name, metrics_after=OWN_COLUMNS if ragas else ())
    return runs_of_table(table, plan, replace(base, format="ragas" if ragas else "table"), errors)


def frame_rows(frame: Any, name: str) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame or of a list of dicts as plain Python values.

    Raises:
        InputError: it is neither, or has no rows; the message calls it by its name.
    """
    rows = frame
    if hasattr(frame, "to_dict") and hasattr(frame, "columns"):
        rows = frame.to_dict(orient="records")
    line, what = None, ""
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        what = f"found {type(frame).__name__}"
    elif not rows:
        what = "holds no records"
    else:
        strays = [(number, row) for number, row in enumerate(rows, 1) if not isinstance(row, Mapping)]
        if strays:
            line, what = strays[0][0], f"found {type(strays[0][1]).__name__}"
    if what:
        raise InputError([ValidationError(name, line, "", what, FRAME_ACCEPTED)])
    return [_plain(row) for row in rows]


def _plain(value: Any) -> Any:
    """Return NumPy and pandas values as plain Python values; missing ones become None or stay NaN."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if type(value).__module__.partition(".")[0] in {"numpy", "pandas"}:
        if hasattr(value, "tolist"):
            return _plain(value.tolist()) if getattr(value, "ndim", 0) else value.tolist()
        return None if type(value).__name__ in {"NAType", "NaTType"} else str(value)
    return value
