"""Opik: experiments and folders of traces as `opik export` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.documents_in_json import items_at, value_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import (
    answer_in,
    contexts_in,
    decoded,
    question_in,
    reference_in,
)
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.parsing.shapes import mapping
from ragtriage.data.importers.spans.samples import samples_of
from ragtriage.data.importers.spans.span import Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.importers.spans.values import (
    field_of,
    fields_in,
    kind_in,
    last_line,
    moment,
    nanoseconds,
    number,
    objects_in,
    question_id_in,
    reference_beside_question,
    tags_of,
    text_in,
    value_in,
    without_blanks,
)
from ragtriage.data.store.parsed_run import ParsedRun, Record

CSV = {"item_input", "item_output", "item_dataset_item_id"}
ANNOTATOR = "opik"  # where a rating does not say whose it is
FILES_LOOKED_AT = 5
COLUMN = re.compile(
    r"(?:(?P<run>.+?)\.)??(?P<kind>evaluation_task|dataset|feedback_scores|output)(?:\.(?P<key>.+))?"
)


def _is_experiment(peek: Peek) -> bool:
    """Return whether these are the items of an experiment, also where their experiment comes later."""
    listed = peek.rows_at("items")
    known = {"dataset_item_id"} if isinstance(peek.keys.get("experiment"), dict) else set[str]()
    needed = known or {"dataset_item_id", "evaluation_task_output"}
    return any(needed <= item.keys() for item in listed)


def _is_trace(peek: Peek) -> bool:
    keys = peek.keys
    return isinstance(keys.get("trace"), dict) and isinstance(keys.get("spans"), list)


def _is_traces(peek: Peek) -> bool:
    if peek.folder is None:
        return _is_trace(peek)
    files = islice(_trace_files(peek.folder), FILES_LOOKED_AT)
    return any(_is_trace(Peek(InputFile.from_path(path))) for path in files)


def _trace_files(folder: Path) -> Iterator[Path]:
    """Yield the JSON files of a project; those of the projects in a folder that has no file of its own."""
    own = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if own:
        yield from (path for path in own if path.suffix == ".json")
    else:
        yield from sorted(folder.glob("*/*.json"))


def _read_experiment(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    facts = fields_in(value_at(source, "experiment"))
    name = text_in(facts.get("name"))
    metadata = facts.get("metadata")
    settings = {
        key: value
        for key, value in tags_of(metadata).items()
        if not isinstance(value, int) or abs(value) < 2**63
    }
    return [
        ParsedRun(
            name or source.stem,
            islice(_of_items(items_at(source, "items"), errors), options.limit),
            source.name,
            "opik_experiment",
            named_by_content=name is not None,
            config=settings,
            dataset=text_in(facts.get("dataset_name")) or "",
            created_at=moment(facts.get("created_at")),
        )
    ]


def _of_items(items: Iterable[Record], errors: ValidationErrors) -> Iterator[Record]:
    return samples_of(items, _of_item, errors, "an item without a question in its dataset item")


def _of_item(item: Mapping[str, Any], _line: int) -> dict[str, Any]:
    asks, output = fields_in(item.get("dataset_item_data")), decoded(item.get("evaluation_task_output"))
    error = last_line(item.get("error_info"))
    scores, human = _ratings(item.get("feedback_scores"))
    return {
        "question_id": question_id_in(asks) or text_in(item.get("dataset_item_id")),
        "question": question_in(asks) or question_in(fields_in(output).get("input")),
        "answer": answer_in(output),
        "reference_answer": reference_beside_question(asks),
        "retrieved": contexts_in(output),
        "scores": scores,
        "human": human or None,
        "checks": _checks(item.get("assertion_results")) or None,
        "tags": {"error": error} if error else {},
        "trace_id": text_in(item.get("trace_id")),
        "example_id": text_in(item.get("dataset_item_id")),
        "tool": "Opik",
    }


def _ratings(rows: object) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return feedback as scores, and as human labels what people gave on the screen."""
    scores: dict[str, Any] = {}
    human: list[dict[str, Any]] = []
    for row in objects_in(rows):
        name, value = text_in(row.get("name")), value_in(row.get("value"))
        if name is None or value is None:
            continue
        metric, reason = metric_name(name)[0], text_in(row.get("reason"))
        if row.get("source") != "ui":
            scores[metric] = {"value": value, "reason": reason}
            continue
        by_author = fields_in(row.get("value_by_author")) or {
            text_in(row.get("last_updated_by")) or ANNOTATOR: row
        }
        for author, rated in by_author.items():
            rating = fields_in(rated)
            notes = (text_in(field_of(rating, "category_name")), text_in(rating.get("reason")))
            human.append(
                {
                    "annotator": str(author) or ANNOTATOR,
                    "metric": metric,
                    "value": value_in(rating.get("value")),
                    "note": ": ".join(filter(None, notes)) or None,
                }
            )
    return scores, human


def _checks(results: object) -> list[dict[str, Any]]:
    checks: list[dict[str, Any]] = []
    for row in objects_in(results):
        passed = row.get("passed")
        name = text_in(field_of(row, "name", "value", "assertion")) or "assertion"
        reason = text_in(row.get("reason"))
        passed = passed if isinstance(passed, bool) else None
        checks.append({"name": name, "kind": "assertion", "actual": reason, "passed": passed})
    return checks


def _read_csv(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the CSV of an experiment, where its writer filled the columns of input and output.

    Raises:
        InputError: they are empty, as its writer looks for keys that the experiment does not have.
    """
    if not any(row.get("item_input") for row in Peek(source).rows):
        raise source.error(
            "is a CSV of an Opik experiment, whose columns item_input and item_output Opik leaves empty",
            "the experiment exported as JSON",
        )

    def items() -> Iterator[Record]:
        for line, row in rows_at(source, "", errors):
            cells = mapping(row)
            yield (
                line,
                {
                    "dataset_item_id": cells.get("item_dataset_item_id"),
                    "trace_id": cells.get("item_trace_id"),
                    "dataset_item_data": decoded(cells.get("item_input")),
                    "evaluation_task_output": decoded(cells.get("item_output")),
                    "feedback_scores": cells.get("item_feedback_scores"),
                },
            )

    name = text_in(Peek(source).first.get("experiment_name"))
    records = islice(_of_items(items(), errors), options.limit)
    return [
        ParsedRun(name or source.stem, records, source.name, "opik_csv", named_by_content=name is not None)
    ]


def _is_table(peek: Peek) -> bool:
    """Return whether this is a table of one experiment or several, as their screen exports it."""
    kinds = {kind for _, kind, _ in map(_column, peek.columns)}
    return ("evaluation_task" in kinds and "dataset" in kinds) or {"dataset", "output"} <= kinds


def _column(name: str) -> tuple[str, str, str]:
    """Return the experiment of a column, "" where there is one alone, its kind, and what it holds."""
    match = COLUMN.fullmatch(name)
    return (match["run"] or "", match["kind"], match["key"] or "") if match else ("", "", name)


def _read_table(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a table of a screen: one run per experiment."""
    columns = sorted(Peek(source).columns)
    # An earlier screen names the fields of the data set `evaluation_task`, and those of the output `dataset`.
    asks = "evaluation_task" if any(_column(name)[1] == "evaluation_task" for name in columns) else "dataset"
    runs = {run: None for run, kind, _ in map(_column, columns) if kind not in ("", asks)}

    def items(run: str) -> Iterator[Record]:
        for line, row in rows_at(source, "", errors):
            yield line, _item(mapping(row), run, asks)

    return [
        ParsedRun(
            run or source.stem,
            islice(_of_items(items(run), errors), options.limit),
            source.name,
            "opik_table",
            named_by_content=bool(run),
        )
        for run in runs
    ]


def _item(row: Mapping[str, Any], run: str, asks: str) -> dict[str, Any]:
    """Return a row as an item of an experiment; "-" is written where there is nothing."""
    data: dict[str, Any] = {}
    output: dict[str, Any] = {}
    scores: dict[str, dict[str, Any]] = {}
    for name, value in row.items():
        of_run, kind, key = _column(str(name))
        if value in (None, "", "-"):
            continue
        if kind == asks:
            data[key] = decoded(value)
        elif kind == "feedback_scores" and of_run == run:
            about = key.removeprefix("feedback_scores.").removesuffix("_reason")
            field = "reason" if key.endswith("_reason") else "value"
            scores.setdefault(about, {"name": about})[field] = value
        elif kind in ("dataset", "output") and of_run == run:
            output[key.removeprefix("output").lstrip(".") or "output"] = decoded(value)
    whole = output.get("output")
    return {
        "dataset_item_id": row.get("id") or data.pop("id", None),
        "dataset_item_data": data,
        "evaluation_task_output": whole if len(output) == 1 and isinstance(whole, dict) else output,
        "feedback_scores": list(scores.values()),
    }


def _read_traces(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read traces: one run per project, one sample per trace."""
    traces = Traces(errors, "Opik")
    files = _trace_files(source.path) if source.is_folder and source.path else (source.path,)
    for position, path in enumerate(files, start=1):
        file = source if path is None or not source.is_folder else InputFile.from_path(path)
        try:
            document = file.document()
        except InputError:
            if not source.is_folder:
                raise
            errors.leave_out("a file that cannot be read as a trace")
            continue
        if not isinstance(document, Mapping) or not isinstance(document.get("trace"), Mapping):
            errors.leave_out("a file that is no trace")
            continue
        for span in _spans(document):
            traces.add(position, span)
    return traces.runs(source, "opik_traces", options.limit)


def _spans(document: Mapping[str, Any]) -> Iterator[Span]:
    """Yield a trace as the root of its spans."""
    trace = fields_in(document.get("trace"))
    trace_id = text_in(trace.get("id")) or ""
    scores, human = _ratings(trace.get("feedback_scores"))
    metadata = fields_in(trace.get("metadata"))
    fields = {
        "question_id": question_id_in(metadata, fields_in(trace.get("input"))),
        "conversation_id": text_in(trace.get("thread_id")),
        "reference_answer": reference_in(field_of(metadata, "reference", "expected_output")),
    }
    yield Span(
        trace_id,
        trace_id,
        None,
        kind="root",
        run=text_in(document.get("project_name")) or "",
        scores=scores,
        human=human,
        fields=without_blanks(fields),
        tags=tags_of(metadata, trace.get("tags")),
        **_recorded(trace),
    )
    for span in objects_in(document.get("spans")):
        name = text_in(span.get("name")) or ""
        # what a span returned; of an object, the list of documents in it
        output = decoded(span.get("output"))
        documents = contexts_in(output) if isinstance(output, Mapping) else output
        yield Span(
            trace_id,
            text_in(span.get("id")) or "",
            text_in(span.get("parent_span_id")) or trace_id,
            name,
            kind_in(kind_of(span.get("type")), name, documents),
            model=text_in(span.get("model")),
            documents=None,
            **_recorded(span),
        )


def _recorded(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a trace and a span say in the same words."""
    usage = fields_in(row.get("usage"))
    return {
        "start": nanoseconds(row.get("start_time")),
        "end": nanoseconds(row.get("end_time")),
        "input": decoded(row.get("input")),
        "output": decoded(row.get("output")),
        "error": last_line(row.get("error_info")),
        "input_tokens": number(usage.get("prompt_tokens")),
        "output_tokens": number(usage.get("completion_tokens")),
        "cost": number(row.get("total_estimated_cost")),
    }


WRITTEN_BY = "Opik 2.2"
IMPORTERS = (
    Importer(
        "opik_experiment",
        "Opik experiment",
        "JSON with experiment and items: dataset_item_data, evaluation_task_output, feedback_scores",
        _is_experiment,
        _read_experiment,
        written_by=WRITTEN_BY,
        example="opik export WORKSPACE experiment NAME",
    ),
    Importer(
        "opik_csv",
        "Opik experiment as CSV",
        "CSV with item_input and item_output, where they are filled; Opik 2.2 leaves them empty",
        lambda peek: peek.columns >= CSV,
        _read_csv,
        written_by=WRITTEN_BY,
        example="opik export WORKSPACE experiment NAME --format json, instead of csv",
    ),
    Importer(
        "opik_table",
        "Opik table of experiments",
        "CSV or JSON of the web interface, one experiment or several: dataset.*, output, feedback_scores.*",
        _is_table,
        _read_table,
        written_by="Opik",
        example="the export button above the items of an experiment",
    ),
    Importer(
        "opik_traces",
        "Opik traces",
        "a folder of trace_*.json, or one of them: trace, spans, downloaded_at",
        _is_traces,
        _read_traces,
        written_by=WRITTEN_BY,
        unit="trace",
        example="opik export WORKSPACE project NAME",
        shares_folder=True,
    ),
)
