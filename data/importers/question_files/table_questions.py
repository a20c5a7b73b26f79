"""Tables of questions with references or gold and nothing of a run, under whatever names can be guessed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.formats import table
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.cells import CellError, is_blank, read_cell
from ragtriage.data.importers.parsing.columns import Plan, plan_columns
from ragtriage.data.importers.parsing.field_names import guessed_fields
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.metric_names import metric_name
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import Table, open_table
from ragtriage.data.importers.question_files.gold_passages import gold_passages, question_set
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.question_sets import OF_A_RUN
from ragtriage.data.store.sample_schema import FIELDS

KEY = "table_questions"
GOLD = {"reference_answer", "relevant", "relevant_texts", "relevant_spans"}
RUN = (OF_A_RUN | {"retrieved_ids", "retrieved_scores", "latency_s"}) - {"prompt", "repeat", "row"}


def _detect(peek: Peek) -> bool:
    fields = guessed_fields(peek.columns)
    has_metric = any(metric_name(name)[1] for name in peek.columns)
    return "question" in fields and bool(fields & GOLD) and not fields & RUN and not has_metric


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a question set; where a column turns out to hold scores or what is a run's, the file is a run."""
    rows = open_table(source, errors, options.limit, rows=options.rows)
    plan = plan_columns(rows, options.mapping, source.name)
    targets = set(plan.fields.values())
    if targets & RUN or not targets & GOLD or any(target.startswith("scores.") for target in targets):
        return table.read(source, options, errors)
    records = _records(rows, plan, errors)
    return question_set(source, KEY, records, mapping=plan.shown, notes=(*rows.notes, *plan.notes))


def _records(rows: Table, plan: Plan, errors: ValidationErrors) -> Iterator[Record]:
    for line, row in rows.rows():
        if not isinstance(row, dict):
            errors.add(line, "", f"found {type_name(row)}", "an object with a question")
            continue
        record = _record(row, plan, line, errors)
        if record is not None:
            yield line, record


def _record(row: Mapping[str, Any], plan: Plan, line: int, errors: ValidationErrors) -> dict[str, Any] | None:
    record: dict[str, Any] = {}
    before = errors.total
    for column, value in row.items():
        field = plan.fields.get(column, "")
        if is_blank(value, blank_text=plan.blank_text):
            continue
        if field.startswith("tags."):
            record.setdefault("tags", {})[field.removeprefix("tags.")] = value
        elif field in FIELDS or field == "relevant_texts":
            try:
                record[field] = read_cell(field, value)
            except CellError as fault:
                errors.add(line, column, fault.what, fault.accepted)
        else:
            record[f"{column} (column)" if column in FIELDS else column] = value
    kind = record.get("query_type") or record.get("tags", {}).get("type")
    if "answerable" not in record and kind == "unanswerable":
        record["answerable"] = "no"
    passages = gold_passages(record.pop("relevant_texts", None))
    names = record.get("relevant")
    if passages and isinstance(names, list) and len(names) == len(passages):
        pairs = zip(names, passages, strict=True)
        record["relevant"] = [{"id": name, **passage} for name, passage in pairs]
    elif passages and names is None:
        record["relevant"] = passages
    return record if errors.total == before else None


IMPORTERS = (
    Importer(
        KEY,
        "Table of questions",
        "a column that reads as the question and one with its reference answer or gold, and no answers",
        _detect,
        _read,
        mapped=True,
        holds="questions",
    ),
)
