"""Opik: experiments and folders of traces as `opik export` writes them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, run_of
from ragtriage.data.importers.parsing.documents_in_json import items_at, value_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.parsing.shapes import (
    LARGEST,
    answer_in,
    contexts_in,
    decoded,
    mapping,
    question_in,
    reference_in,
)
from ragtriage.data.importers.parsing.values import (
    Fields,
    error_tag,
    fields_in,
    kind_in,
    moment,
    question_id_in,
    reference_beside_question,
    tags_of,
    text_in,
    value_in,
    without_blanks,
)
from ragtriage.data.importers.spans.samples import samples_of
from ragtriage.data.importers.spans.span import Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.store.parsed_run import ParsedRun, Record

CSV_COLUMNS = {  # of an item in JSON -> in CSV
    "dataset_item_id": "item_dataset_item_id",
    "trace_id": "item_trace_id",
    "dataset_item_data": "item_input",
    "evaluation_task_output": "item_output",
    "feedback_scores": "item_feedback_scores",
}
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


def _read_experiment(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    facts = Fields(value_at(source, "experiment"))
    settings = {
        key: value
        for key, value in tags_of(facts.at("metadata")).items()
        if not isinstance(value, int) or abs(value) < LARGEST
    }
    return [
        run_of(
            source,
            "opik_experiment",
            _of_items(items_at(source, "items"), errors),
            facts.text("name"),
            config=settings,
            dataset=facts.text("dataset_name") or "",
            created_at=moment(facts.at("created_at")),
        )
    ]


def _of_items(items: Iterable[Record], errors: ValidationErrors) -> Iterator[Record]:
    return samples_of(items, _of_item, errors, "an item without a question in its dataset item")


def _of_item(item: Fields, _line: int) -> dict[str, Any]:
    asks, output = item.fields("dataset_item_data").all, item.decoded("evaluation_task_output")
    scores, human = _ratings(item.objects("feedback_scores"))
    return {
        "question_id": question_id_in(asks) or item.text("dataset_item_id"),
        "question": question_in(asks) or question_in(fields_in(output).get("input")),
        "answer": answer_in(output),
        "reference_answer": reference_beside_question(asks),
        "retrieved": contexts_in(output),
        "scores": scores,
        "human": human or None,
        "checks": [_check(result) for result in item.objects("assertion_results")] or None,
        "tags": error_tag(item.at("error_info")),
        "trace_id": item.text("trace_id"),
        "example_id": item.text("dataset_item_id"),
        "tool": "Opik",
    }


def _ratings(rows: list[Fields]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return feedback as scores, and as human labels what people gave on the screen."""
    scores: dict[str, Any] = {}
    human: list[dict[str, Any]] = []
    for row in rows:
        name, value = row.text("name"), value_in(row.at("value"))
        if name is None or value is None:
            continue
        metric = metric_name(name)[0]
        if row.at("source") != "ui":
            scores[metric] = {"value": value, "reason": row.text("reason")}
            continue
        alone = {row.text("last_updated_by") or ANNOTATOR: row.all}
        for author, rated in (row.fields("value_by_author").all or alone).items():
            rating = Fields(rated)
            notes = filter(None, (rating.text("category_name"), rating.text("reason")))
            label = {"annotator": str(author) or ANNOTATOR, "metric": metric}
            human.append(label | {"value": value_in(rating.at("value")), "note": ": ".join(notes) or None})
    return scores, human


def _check(result: Fields) -> dict[str, Any]:
    name, passed = result.text("name", "value", "assertion") or "assertion", result.at("passed")
    passed = passed if isinstance(passed, bool) else None
    return {"name": name, "kind": "assertion", "actual": result.text("reason"), "passed": passed}


def _read_csv(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the CSV of an experiment, where its writer filled the columns of input and output.

    Raises:
        InputError: they are empty, as its writer looks for keys that the experiment does not have.
    """
    if not any(row.get("item_input") for row in Peek(source).rows):
        raise source.error(
            "is a CSV of an Opik experiment, whose columns item_input and item_output Opik leaves empty",
            "the experiment exported as JSON",
        )
    items = (
        (line, {name: mapping(row).get(column) for name, column in CSV_COLUMNS.items()})
        for line, row in rows_at(source, "", errors)
    )
    records = _of_items(items, errors)
    return [run_of(source, "opik_csv", records, text_in(Peek(source).first.get("experiment_name")))]


def _is_table(peek: Peek) -> bool:
    """Return whether this is a table of one experiment or several, as their screen exports it."""
    kinds = {kind for _, kind, _ in map(_column, peek.columns)}
    return ("evaluation_task" in kinds and "dataset" in kinds) or {"dataset", "output"} <= kinds


def _column(name: str) -> tuple[str, str, str]:
    """Return the experiment of a column, "" where there is one alone, its kind, and what it holds."""
    match = COLUMN.fullmatch(name)
    return (match["run"] or "", match["kind"], match["key"] or "") if match else ("", "", name)


def _read_table(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a table of a screen: one run per experiment."""
    columns = sorted(Peek(source).columns)
    # An earlier screen names the fields of the data set `evaluation_task`, and those of the output `dataset`.
    asks = "evaluation_task" if any(_column(name)[1] == "evaluation_task" for name in columns) else "dataset"
    runs = dict.fromkeys(run for run, kind, _ in map(_column, columns) if kind not in ("", asks))

    def items(run: str) -> Iterator[Record]:
        return ((line, _item(mapping(row), run, asks)) for line, row in rows_at(source, "", errors))

    return [run_of(source, "opik_table", _of_items(items(run), errors), run) for run in runs]


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


def _read_traces(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
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
            errors.leave_out("a file that is not a trace")
            continue
        for span in _spans(Fields(document)):
            traces.add(position, span)
    return traces.runs(source, "opik_traces")


def _spans(document: Fields) -> Iterator[Span]:
    """Yield a trace as the root of its spans."""
    trace = document.fields("trace")
    trace_id, metadata = trace.text("id") or "", trace.fields("metadata")
    scores, human = _ratings(trace.objects("feedback_scores"))
    fields = {
        "question_id": question_id_in(metadata.all, trace.at("input")),
        "conversation_id": trace.text("thread_id"),
        "reference_answer": reference_in(metadata.at("reference", "expected_output")),
    }
    yield Span(
        trace_id,
        trace_id,
        kind="root",
        run=document.text("project_name") or "",
        scores=scores,
        human=human,
        fields=without_blanks(fields),
        tags=tags_of(metadata.all, trace.at("tags")),
        **_recorded(trace),
    )
    for span in document.objects("spans"):
        name, output = span.text("name") or "", span.decoded("output")
        # what a span returned; of an object, the list of documents in it
        documents = contexts_in(output) if isinstance(output, Mapping) else output
        yield Span(
            trace_id,
            span.text("id") or "",
            span.text("parent_span_id") or trace_id,
            name,
            kind_in(kind_of(span.at("type")), name, documents),
            model=span.text("model"),
            **_recorded(span),
        )


def _recorded(row: Fields) -> dict[str, Any]:
    """Return what a trace and a span say in the same words."""
    return {
        "start": row.nanoseconds("start_time"),
        "end": row.nanoseconds("end_time"),
        "input": row.decoded("input"),
        "output": row.decoded("output"),
        "error": row.error("error_info"),
        "input_tokens": row.fields("usage").number("prompt_tokens"),
        "output_tokens": row.fields("usage").number("completion_tokens"),
        "cost": row.number("total_estimated_cost"),
    }


READERS = {
    "opik_experiment": Reader(_read_experiment, _is_experiment),
    "opik_csv": Reader(_read_csv),
    "opik_table": Reader(_read_table, _is_table),
    "opik_traces": Reader(_read_traces, _is_traces),
}
