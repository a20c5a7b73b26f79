"""Runs from Python: a DataFrame, a list of dicts or results of frameworks, read like the rows of a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ragtriage.data.errors import InputError, ValidationError, ValidationErrors
from ragtriage.data.importers.formats import native
from ragtriage.data.importers.formats.chain_results import is_result, rows_of_results
from ragtriage.data.importers.formats.ragas import OWN_COLUMNS, is_ragas
from ragtriage.data.importers.formats.table import brought_to_samples, runs_of_table
from ragtriage.data.importers.importer import ToolRows
from ragtriage.data.importers.parsing.columns import plan_columns
from ragtriage.data.importers.parsing.objects import plain
from ragtriage.data.importers.parsing.rows import Table
from ragtriage.data.store.parsed_run import ParsedRun

if TYPE_CHECKING:
    import pandas as pd

FRAME_ACCEPTED = "a pandas DataFrame or a list of dicts with at least one row"
RESULTS_ACCEPTED = (
    "a pandas DataFrame or a list with at least one row, each a dict or a GeneratedAnswer of Haystack"
)


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
    """Return the parsed runs of a DataFrame, or of a list of dicts or of results of frameworks.

    Raises:
        InputError: there are no rows, or the mapping is wrong.
    """
    rows = frame_rows(frame, name, results=True)
    table = Table.of("frame", enumerate(rows, start=1))
    base = ParsedRun(name, (), name, "table", config=dict(config or {}), dataset=dataset)
    if native.is_native(table.columns) and not mapping:
        return [replace(base, format="native", records=native.records_of_native(table, errors))]
    ragas = is_ragas(table.columns)
    table = table if ragas else brought_to_samples(table, tools)
    plan = plan_columns(table, mapping or {}, name, metrics_after=OWN_COLUMNS if ragas else ())
    return runs_of_table(table, plan, replace(base, format="ragas" if ragas else "table"), errors)


def frame_rows(frame: Any, name: str, *, results: bool = False) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame or of a list of dicts as plain Python values.

    With `results`, rows that are or hold objects of a framework are brought to the native form.

    Raises:
        InputError: it is neither, has no rows, or one cannot be used; the message calls it by its name.
    """
    accepted = RESULTS_ACCEPTED if results else FRAME_ACCEPTED
    rows = frame
    if hasattr(frame, "to_dict") and hasattr(frame, "columns"):
        rows = frame.to_dict(orient="records")
    what = ""
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        what = f"found {type(frame).__name__}"
    elif not rows:
        what = "holds no records"
    if what:
        raise InputError([ValidationError(name, None, "", what, accepted)])
    errors = ValidationErrors(name)
    from_objects = results and any(map(is_result, rows))
    values = rows_of_results(rows, errors) if from_objects else [*map(plain, rows)]
    for number, (row, value) in enumerate(zip(rows, values, strict=True), 1):
        if not isinstance(value, Mapping):
            errors.add(number, "", f"found {type(row).__name__}", accepted)
    errors.raise_if_any()
    return values
