"""The native form: JSONL, JSON, Parquet or CSV with the field names of a sample; runs and question sets."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any

from ragtriage.data.declarations import declaration_fault
from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.importer import TOOLS_ACCEPTED, Options, Peek, Reader, tools_fault
from ragtriage.data.importers.parsing.cells import CellError, is_blank, read_cell
from ragtriage.data.importers.parsing.head_column import check_columns
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import guessed_fields, metric_name
from ragtriage.data.importers.parsing.rows import Table, container, json_lines, open_table
from ragtriage.data.importers.parsing.shapes import document_of
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.question_sets import OF_A_RUN
from ragtriage.data.store.sample_schema import FIELDS

HEADER = "ragtriage_run"
SIGNS = FIELDS - {"question", "answer", "question_id", "prompt", "relevant", "history", "scores"}
FACTS: dict[str, type] = {
    **{"name": str, "config": dict, "dataset": str, "dataset_version": str, "corpus_version": str},
    **{"metrics": dict, "tools": list},
}
FACTS_ACCEPTED = ", ".join([*FACTS, "created_at"])
OWN_NAMES = {"row", "extra", HEADER}


def is_native(columns: Iterable[str]) -> bool:
    """Return whether these are native names, with no other name that reads as a missing field or a metric."""
    names = set(columns)
    if HEADER in names:
        return True
    if "question" not in names:
        return False
    foreign = names - FIELDS - OWN_NAMES
    if check_columns(foreign):
        return False
    unmapped = guessed_fields(foreign) - names - {"run", "repeat"}
    has_metric = any(metric_name(name)[1] for name in foreign)
    return not unmapped and not has_metric and bool(names & SIGNS or not foreign)


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one run in the native form; JSONL and Parquet are streamed.

    Facts of the run come from a first line `{"ragtriage_run": {...}}`, or from a JSON document
    `{"run": {...}, "samples": [...]}`.
    """
    base = ParsedRun(source.stem, (), source.name, "native")
    kind = container(source)
    if kind == "jsonl":
        run = _of_lines(islice(json_lines(source, errors), options.limit), base, errors)
    else:
        if kind == "json" and isinstance(source.document(), dict):
            base = _with_facts(base, source.document().get("run"), "run", None, errors)
        table = open_table(source, errors, options.limit, rows=options.rows)
        run = replace(base, records=records_of_native(table, errors), notes=table.notes)
    return [run if options.as_questions else replace(run, records=_to_measure(run.records, errors))]


def _to_measure(records: Iterable[Record], errors: ValidationErrors) -> Iterator[Record]:
    """Yield records, and report where none has anything that can be measured, or gold to measure it by."""
    nothing: bool | None = None
    for line, record in records:
        if nothing is not False and isinstance(record, Mapping):
            nothing = _MEASURED.isdisjoint(name for name, value in record.items() if value is not None)
        yield line, record
    if nothing:
        what = "holds nothing that can be measured: no answer, no document and no score"
        errors.add(None, "", what, "one of these; or `--format native_questions` for questions alone")


def _of_lines(lines: Iterator[Record], base: ParsedRun, errors: ValidationErrors) -> ParsedRun:
    first = next(lines, None)
    if first is None:
        return base
    line, value = first
    if isinstance(value, dict) and HEADER in value:
        base = _with_facts(base, value[HEADER], HEADER, line, errors)
    else:
        lines = chain([first], lines)

    def samples() -> Iterator[Record]:
        accepted = "the facts of one run, on the first line"
        for line, value in lines:
            if isinstance(value, dict) and HEADER in value and "question" not in value:
                errors.add(line, HEADER, "is not on the first line", accepted)
            else:
                yield line, value

    return replace(base, records=samples())


def _with_facts(
    base: ParsedRun, facts: object, field: str, line: int | None, errors: ValidationErrors
) -> ParsedRun:
    if facts is None:
        return base
    if not isinstance(facts, dict):
        errors.add(line, field, f"found {type_name(facts)}", f"an object with {FACTS_ACCEPTED}")
        return base
    values: dict[str, Any] = {}
    for key, value in facts.items():
        if key == "created_at":
            values[key] = _moment(value, f"{field}.{key}", line, errors)
        elif key not in FACTS:
            errors.add(line, f"{field}.{key}", "is not a property of a run", FACTS_ACCEPTED)
        elif value is not None and not isinstance(value, FACTS[key]):
            accepted = "an object" if FACTS[key] is dict else TOOLS_ACCEPTED if FACTS[key] is list else "text"
            errors.add(line, f"{field}.{key}", f"found {type_name(value)}", accepted)
        elif value is not None:
            values[key] = value
    _check_declarations(values.get("metrics", {}), field, line, errors)
    if fault := tools_fault(values.get("tools", [])):
        errors.add(line, f"{field}.tools", fault, TOOLS_ACCEPTED)
    has_name = bool(str(values.get("name", "")).strip())
    if not has_name:
        values.pop("name", None)
    return replace(base, **values, named_by_content=has_name)


def _check_declarations(
    metrics: Mapping[str, Any], field: str, line: int | None, errors: ValidationErrors
) -> None:
    for name, value in metrics.items():
        if (fault := declaration_fault(name, value)) is not None:
            errors.add(line, f"{field}.metrics.{name[:60]}", *fault)


def _moment(value: object, field: str, line: int | None, errors: ValidationErrors) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(str(value))
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):  # the first hours of year 1 are in year 0 elsewhere
        errors.add(line, field, f"found {str(value)[:40]!r}", "a time as in 2026-01-31T12:00:00Z")
        return None


def records_of_native(table: Table, errors: ValidationErrors) -> Iterator[Record]:
    """Yield the records of a table with native names: lists in cells are parsed, nulls are left out."""
    for line, row in table.rows():
        if not isinstance(row, dict):
            yield line, row
        elif table.kind == "csv":
            if (record := _from_cells(row, line, errors)) is not None:
                yield line, record
        elif table.kind in {"parquet", "frame"}:
            yield line, _from_columns(row, table.kind)
        else:
            yield line, row


def _from_cells(row: Mapping[str, Any], line: int, errors: ValidationErrors) -> dict[str, Any] | None:
    record: dict[str, Any] = {}
    before = errors.total
    for name, value in row.items():
        if is_blank(value, blank_text=True):
            continue
        try:
            record[name] = read_cell(name, value) if name in FIELDS else value
        except CellError as fault:
            errors.add(line, name, fault.what, fault.accepted)
    return record if errors.total == before else None


def _from_columns(row: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return a row of columnar data as a record, without nulls and with keyed lists as objects.

    A null score in Parquet may be one that the row never had; in rows from Python it is one that failed.
    """
    record = {name: value for name, value in row.items() if not is_blank(value, blank_text=False)}
    record.pop("row", None)
    for name in ("scores", "tags"):
        if name in record:
            record[name] = _keyed(record[name], "metric" if name == "scores" else "key", kind == "frame")
    for name in ("retrieved", "candidates"):
        if isinstance(record.get(name), list):
            record[name] = [document_of(item) for item in record[name]]
    if isinstance(record.get("checks"), list):
        parsed = {"expected", "actual"}
        record["checks"] = [
            {key: _json_or_text(part) if key in parsed else part for key, part in check.items()}
            if isinstance(check, dict)
            else check
            for check in record["checks"]
        ]
    extra = _json_or_text(record.pop("extra", None))
    extra = {} if extra is None else extra
    return {**(extra if isinstance(extra, dict) else {"extra": extra}), **record}


def _keyed(value: object, key: str, with_null: bool) -> object:
    if isinstance(value, dict):
        return {name: entry for name, entry in value.items() if with_null or entry is not None}
    if not isinstance(value, list):
        return value
    entries: dict[str, Any] = {}
    for item in value:
        if isinstance(item, dict) and key in item:
            number, reason = item.get("value"), item.get("reason")
            entries[item[key]] = {"value": number, "reason": reason} if reason else number
        elif isinstance(item, tuple) and len(item) == 2:
            entries[item[0]] = item[1]
        else:
            return value
    return entries


def _json_or_text(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


GOLD = ("reference_answer", "reference_claims", "relevant", "relevant_spans")


# "error" is what an importer or a tool names a sample that ended in one
_NOT_MEASURED = {"row", "repeat", "context_mode", "prompt", "account_id", "sampling_rate"}
_MEASURED = OF_A_RUN.union(GOLD, ("error",)) - _NOT_MEASURED


def is_of_a_run(record: object) -> bool:
    """Return whether a record in the native form has something that only a system's run has."""
    return isinstance(record, Mapping) and any(_has_value(record, name) for name in OF_A_RUN)


def _has_value(record: Mapping[str, Any], name: str) -> bool:
    return name in record and not is_blank(record[name], blank_text=True)


def _is_questions(peek: Peek) -> bool:
    if HEADER in peek.columns or "run" in peek.keys or not is_native(peek.columns):
        return False
    has_gold = any(_has_value(row, name) for row in peek.rows for name in GOLD)
    return has_gold and not any(map(is_of_a_run, peek.rows))


def _read_questions(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a question set; where a later row turns out to have an answer, the file is a run after all."""
    options = replace(options, as_questions=True)
    runs = [replace(run, records=list(run.records)) for run in read(source, options, errors)]
    of_a_run = any(is_of_a_run(record) for run in runs for _, record in run.records)
    return [replace(run, questions=not of_a_run) for run in runs]


READERS = {
    "native": Reader(
        read,
        lambda peek: (
            isinstance(peek.keys.get("samples"), list) or (bool(peek.columns) and is_native(peek.columns))
        ),
    ),
    "native_questions": Reader(_read_questions, _is_questions),
}
