"""Dated results of several pipelines in one JSON document, with their means by metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.formats.table import runs_of_table
from ragtriage.data.importers.importer import Importer, run_of
from ragtriage.data.importers.parsing.columns import plan_columns
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.rows import Table
from ragtriage.data.importers.parsing.shapes import mapping
from ragtriage.data.store.parsed_run import ParsedRun

TIME_FORMATS = ("%Y%m%d_%H%M%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S")
MEANS_NOTE = "the file gives metrics as means over the run only: kept in the configuration, not as scores"


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one run for each pipeline."""
    document: Mapping[str, Any] = source.document()
    created_at = _time(document.get("timestamp"), errors)
    runs: list[ParsedRun] = []
    for name, rows in document["pipeline_results"].items():
        field = f"pipeline_results.{name}"
        if not isinstance(rows, list):
            errors.add(None, field, f"found {type_name(rows)}", "a list of objects")
            continue
        table = Table.of("json", islice(enumerate(rows, start=1), options.limit))
        plan = plan_columns(table, options.mapping, source.name)
        means = dict(mapping(mapping(document.get("ragas_results")).get(name)))
        config = {"pipeline": name, **({"reported_means": means} if means else {})}
        facts = {"config": config, "created_at": created_at, "notes": (MEANS_NOTE,) if means else ()}
        base = run_of(source, "pipeline_results", (), name, **facts)
        parts = runs_of_table(table, plan, base, errors)
        runs += [part if part.name == name else replace(part, name=f"{name} {part.name}") for part in parts]
    return runs


def _time(value: object, errors: ValidationErrors) -> datetime | None:
    if value is None:
        return None
    for pattern in TIME_FORMATS:
        try:
            return datetime.strptime(str(value), pattern)  # noqa: DTZ007 - the file names no zone: UTC
        except ValueError:
            continue
    errors.add(None, "timestamp", f"found {str(value)[:40]!r}", "a time as in 20250610_204702")
    return None


IMPORTERS = (
    Importer(
        "pipeline_results",
        "Pipeline results",
        "JSON with pipeline_results: {pipeline: [rows]}",
        lambda peek: isinstance(peek.keys.get("pipeline_results"), dict),
        read,
        mapped=True,
    ),
)
