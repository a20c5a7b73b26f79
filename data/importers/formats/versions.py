"""Runs with means: a table with a row per version, and dated results of several pipelines in one document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.formats.table import runs_of_table
from ragtriage.data.importers.importer import Importer, Options, run_of
from ragtriage.data.importers.parsing.columns import plan_columns
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import Table, open_table
from ragtriage.data.importers.parsing.shapes import mapping
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.metrics.metric_registry import declared, is_share

SHORT = {"f1": "answer_f1", "precision": "answer_precision", "recall": "answer_recall"}
FACTS = {"version", "date", "n", "unit", "source"}
UNITS = {"percent": 100.0, "%": 100.0, "share": 1.0}
ACCEPTED = (
    "a table with `version` and a column for each metric, in percent or from 0 to 1 (set by `unit`), "
    "and maybe date, n, source"
)
_BLANK = {"", "-", "–", "nan", "null", "none", "n/a"}
PERCENT_FROM = 1.5  # a value above this cannot be a share


def is_versions(columns: Iterable[str]) -> bool:
    """Return whether a table has versions with means: `version`, at least one metric, and no question."""
    names = {name.strip().lower() for name in columns}
    metrics = [name for name in names - FACTS if _metric(name)]
    return "version" in names and bool(metrics) and names - FACTS == set(metrics)


def _metric(column: str) -> str:
    name = SHORT.get(column.strip().lower(), column.strip().lower().replace(" ", "_"))
    metric = declared(name)
    return "" if metric is None else (name if metric.per_k else metric.key)


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one run per version, without records."""
    table = open_table(source, errors, options.limit, rows=options.rows)
    rows = [
        (line, {str(key).strip().lower(): value for key, value in row.items()})
        for line, row in table.rows()
        if isinstance(row, Mapping)
    ]
    shares = ((row, name) for _, row in rows for name in row.keys() - FACTS if is_share(_metric(name)))
    values = [_value(row[name]) for row, name in shares]
    scale = 100.0 if any(value is not None and value > PERCENT_FROM for value in values) else 1.0
    runs = [run for line, row in rows for run in _parsed_run(source, line, row, scale, errors)]
    errors.raise_if_any()
    return [replace(run, notes=(*table.notes, *run.notes)) for run in runs]


def _parsed_run(
    source: InputFile, line: int, row: Mapping[str, Any], scale: float, errors: ValidationErrors
) -> Iterator[ParsedRun]:
    name = str(row.get("version") or "").strip()
    if not name:
        errors.add(line, "version", "missing", "a name for the version")
        return
    unit = str(row.get("unit") or "").strip().lower()
    if unit and unit not in UNITS:
        errors.add(line, "unit", f"found {unit[:40]!r}", ", ".join(UNITS))
        return
    scale = UNITS.get(unit, scale)
    means, digits = {}, 0
    for column in row.keys() - FACTS:
        text = str(row[column] if row[column] is not None else "").strip()
        value = _value(text)
        if value is None and text.lower() not in _BLANK:
            errors.add(line, column, f"found {text[:40]!r}", "a number, or nothing if it was not measured")
        elif value is not None:
            metric = _metric(column)
            share = is_share(metric)  # other metrics have a unit of their own
            means[metric] = value / scale if share else value
            digits = max(digits, len(text.rstrip("%").strip().partition(".")[2])) if share else digits
    if not means:
        errors.add(line, "", "has no mean", "at least one metric with a number")
        return
    config: dict[str, Any] = {"known_by": "means", "step": 10.0**-digits / scale}
    n = _value(row.get("n"))
    if n is not None and n >= 1:
        config["n_questions"] = int(n)
    yield run_of(
        *(source, "versions", (), name),
        config=config | ({"source": str(row["source"])} if row.get("source") else {}),
        created_at=_date(row.get("date"), line, errors),
        notes=("summary scores only: no samples, no intervals",),
        means=dict(sorted(means.items())),
    )


def _value(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(str(value).strip().removesuffix("%"))
    except ValueError:
        return None
    return number if abs(number) < 1e9 else None


def _date(value: object, line: int, errors: ValidationErrors) -> datetime | None:
    if value is None or not str(value).strip():
        return None
    try:
        return datetime.fromisoformat(str(value).strip()).replace(tzinfo=None)
    except ValueError:
        errors.add(line, "date", f"found {str(value)[:40]!r}", "a date as in 2026-01-31")
        return None


TIME_FORMATS = ("%Y%m%d_%H%M%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S")
MEANS_NOTE = "the file gives metrics as means over the run only: kept in the configuration, not as scores"


def read_pipelines(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one run for each pipeline."""
    document: Mapping[str, Any] = source.document()
    created_at = _timestamp(document.get("timestamp"), errors)
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


def _timestamp(value: object, errors: ValidationErrors) -> datetime | None:
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
    Importer("versions", "Summary scores by version", ACCEPTED, lambda peek: is_versions(peek.columns), read),
    Importer(
        "pipeline_results",
        "Pipeline results",
        "JSON with pipeline_results: {pipeline: [rows]}",
        lambda peek: isinstance(peek.keys.get("pipeline_results"), dict),
        read_pipelines,
        mapped=True,
    ),
)
