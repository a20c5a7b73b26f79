"""Phoenix: experiments and data sets as its server exports them, and the database of a server."""

import base64
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.importer import Options, Peek, Reader, question_set, run_of
from ragtriage.data.importers.parsing.containers import open_sqlite, table_names
from ragtriage.data.importers.parsing.documents_in_json import items_at, value_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import object_rows, open_table, rows_at
from ragtriage.data.importers.parsing.shapes import (
    answer_in,
    contexts_in,
    decoded,
    gold_passages,
    mapping,
    question_in,
    reference_in,
)
from ragtriage.data.importers.parsing.values import (
    Fields,
    error_tag,
    fields_in,
    milliseconds_between,
    moment,
    objects_in,
    question_id_in,
    ranked,
    tags_of,
    without_blanks,
)
from ragtriage.data.importers.spans.samples import SCORED_WITHOUT_ANSWER
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.importers.tools.phoenix import labels_of, span_of
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_models import as_json

PARTS = (
    *("label", "score", "explanation", "metadata", "annotator_kind", "trace_id", "error"),
    *("start_time", "end_time"),
)
ANNOTATION = "annotation_"


def _read_experiment(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read an experiment into one run, a sample for each example and repetition."""

    def samples() -> Iterator[Record]:
        for line, row in rows_at(source, "", errors):
            if not isinstance(row, Mapping):
                accepted = "an object with input, output and annotations"
                errors.add(line, "", "is not a result of an experiment", accepted)
                continue
            annotations = [*objects_in(row.get("annotations")), *_in_columns(row)]
            sample = sample_of_task(Fields(row), annotations, line, errors)
            if sample is not None:
                yield line, sample

    return [run_of(source, "phoenix_experiment", samples())]


def sample_of_task(
    row: Fields, annotations: Sequence[Mapping[str, Any]], line: int, errors: ValidationErrors
) -> dict[str, Any] | None:
    """Return the sample of an output of a task with its annotations; None where there is no question."""
    question = question_in(row.at("input"))
    if not question or not question.strip():
        errors.leave_out("an example without a question")
        return None
    error, output, metadata = row.text("error"), row.at("output"), row.fields("metadata").all
    answer = answer_in(output) if output not in (None, "") else None
    repetition, between = row.number("repetition_number"), (row.at("start_time"), row.at("end_time"))
    labels = [labels_of(annotation) for annotation in annotations]
    tags = {name: tag for label in labels for name, tag in label.tags.items()}
    sample: dict[str, Any] = {
        "question_id": question_id_in(metadata) or row.text("example_id"),
        "repeat": max(0, int(repetition) - 1) if repetition is not None else None,
        "question": question,
        "answer": answer,
        "reference_answer": reference_in(row.at("reference_output")),
        "retrieved": ranked(contexts_in(output)),
        "latency_ms": row.number("latency_ms") or milliseconds_between(*between),
        "input_tokens": row.number("prompt_token_count"),
        "output_tokens": row.number("completion_token_count"),
        "scores": {name: score for label in labels for name, score in label.scores.items()},
        "human": [dict(entry) for label in labels for entry in label.human] or None,
        "tags": {**tags_of(metadata), **tags, **(error_tag(error) if answer is None else {})},
        "example_id": row.text("example_id"),
        "trace_id": row.text("trace_id"),
        "tool": "phoenix",
    }
    if answer is None and sample["scores"]:
        errors.remark(SCORED_WITHOUT_ANSWER, line)
    return {**without_blanks(sample), "answer": answer}


def _in_columns(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the annotations that stand in columns `annotation_<name>_<part>`."""
    annotations: dict[str, dict[str, Any]] = {}
    for column, value in row.items():
        rest = str(column).removeprefix(ANNOTATION)
        part = next((part for part in PARTS if rest.endswith(f"_{part}")), None)
        if part is not None and rest != column:
            name = rest.removesuffix(f"_{part}")
            annotations.setdefault(name, {"name": name})[part] = value
    return list(annotations.values())


SPANS_INSTEAD = (
    "that of Phoenix 20, or spans written with client.spans.get_spans_dataframe(...).to_parquet(FILE)"
)
OF_EXPERIMENTS = {
    *("datasets", "dataset_example_revisions", "experiment_run_annotations", "experiment_runs", "experiments")
}
SPANS = """
SELECT spans.*, traces.trace_id, projects.name AS project
FROM spans JOIN traces ON traces.id = spans.trace_rowid JOIN projects ON projects.id = traces.project_rowid
ORDER BY spans.id
"""
COSTS = "SELECT span_rowid, total_cost FROM span_costs WHERE total_cost IS NOT NULL"
ANNOTATIONS = {
    "span_annotations": """
SELECT span_annotations.*, spans.span_id FROM span_annotations JOIN spans ON spans.id = span_rowid
ORDER BY span_annotations.id""",
    "document_annotations": """
SELECT document_annotations.*, spans.span_id FROM document_annotations JOIN spans ON spans.id = span_rowid
ORDER BY document_annotations.id""",
    "trace_annotations": """
SELECT trace_annotations.*, traces.trace_id FROM trace_annotations JOIN traces ON traces.id = trace_rowid
ORDER BY trace_annotations.id""",
}
EXPERIMENTS = """
SELECT experiments.*, datasets.name AS dataset
FROM experiments JOIN datasets ON datasets.id = experiments.dataset_id
WHERE EXISTS (SELECT 1 FROM experiment_runs WHERE experiment_id = experiments.id)
ORDER BY experiments.id
"""
# The revision of an example that was current in the version of the data set that the experiment ran on.
TASKS = """
SELECT experiment_runs.*, revision.input AS example_input, revision.output AS reference_output,
       revision.metadata AS example_metadata
FROM experiment_runs JOIN dataset_example_revisions AS revision ON revision.id = (
    SELECT MAX(id) FROM dataset_example_revisions
    WHERE dataset_example_id = experiment_runs.dataset_example_id AND dataset_version_id <= :version
)
WHERE experiment_id = :experiment ORDER BY experiment_runs.id
"""
OF_RUN = "SELECT * FROM experiment_run_annotations WHERE experiment_run_id = ? ORDER BY id"


def _read_database(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read every project and experiment; the traces that an experiment wrote are those of its project."""
    tables = table_names(source)
    with open_sqlite(source) as connection:
        try:
            traces = _traces(connection, tables, errors)
            experiments = list(_selected(connection, EXPERIMENTS)) if tables >= OF_EXPERIMENTS else []
        except sqlite3.OperationalError as error:
            what = f"is a database of Phoenix of a version that is not read: {error}"
            raise source.error(what, SPANS_INSTEAD) from error
    runs = traces.runs(source, "phoenix_database")
    for row in experiments:
        version = row["dataset_version_id"]
        records = _tasks(source, row["id"], version, errors)
        first = next(records, None)
        if first is not None:
            facts: dict[str, Any] = {"dataset": str(row["dataset"]), "dataset_version": str(version)}
            facts["created_at"] = moment(row["created_at"])
            samples = chain([first], records)
            runs.append(run_of(source, "phoenix_database", samples, str(row["name"]), **facts))
    if not runs:
        what = "is a database of Phoenix, without a trace or an experiment that holds a question"
        raise source.error(what, "one in which a root span or an example has an input")
    return runs


def _traces(connection: sqlite3.Connection, tables: frozenset[str], errors: ValidationErrors) -> Traces:
    """Return the traces of all projects but those that experiments write."""
    traces = Traces(errors, "phoenix")
    apart = set[str]()
    if "experiments" in tables:
        query = "SELECT project_name FROM experiments WHERE project_name IS NOT NULL"
        apart = {row["project_name"] for row in _selected(connection, query)}
    costs = dict(map(tuple, connection.execute(COSTS))) if "span_costs" in tables else {}
    known: set[str] = set()
    for row in _selected(connection, SPANS):
        if row["project"] not in apart:
            attributes = {**fields_in(row["attributes"]), "llm.cost.total": costs.get(row["id"])}
            context = {"trace_id": row["trace_id"], "span_id": row["span_id"]}
            span = span_of({**row, "attributes": attributes, "context": context}, run=str(row["project"]))
            traces.add(int(row["id"]), span)
            known |= {f"span {span.span_id}", f"trace {span.trace_id}"}
    for table, query_of_table in ANNOTATIONS.items():
        for row in _selected(connection, query_of_table) if table in tables else ():
            span_id, trace_id = str(row.get("span_id") or ""), str(row.get("trace_id") or "")
            if (f"span {span_id}" if span_id else f"trace {trace_id}") in known:
                traces.attach(int(row["id"]), labels_of(row), span_id=span_id, trace_id=trace_id)
    return traces


def _tasks(source: InputFile, experiment: int, version: int, errors: ValidationErrors) -> Iterator[Record]:
    with open_sqlite(source) as connection:
        for row in _selected(connection, TASKS, {"experiment": experiment, "version": version}):
            output = decoded(row["output"])
            if isinstance(output, Mapping) and "task_output" in output:
                output = output["task_output"]
            # The id of an example as Phoenix shows and exports it.
            name = base64.b64encode(f"DatasetExample:{row['dataset_example_id']}".encode()).decode()
            example = {"input": row["example_input"], "metadata": row["example_metadata"], "example_id": name}
            annotations = list(_selected(connection, OF_RUN, (row["id"],)))
            task = Fields({**row, **example, "output": output})
            sample = sample_of_task(task, annotations, int(row["id"]), errors)
            if sample is not None:
                yield int(row["id"]), sample


def _selected(connection: sqlite3.Connection, query: str, values: Any = ()) -> Iterator[dict[str, Any]]:
    return map(dict, connection.execute(query, values))


KEY = "phoenix_dataset"
EXAMPLE_PARTS = ("input", "output", "metadata")
ID_COLUMNS = ("id", "example_id")
BLANK: tuple[object, ...] = (None, "", {}, [])
OWN_IDS = ("qid", "question_id", "query_id")
MOST_TAG = 60
OF_SPANS = (
    "the examples were made from traced spans: their outputs, used as references, are what a system "
    "wrote, and nobody has checked them"
)
NO_INPUT = "an example without an input is left out"


def _separator(columns: frozenset[str]) -> str:
    """Return what stands between part and key in the columns of a CSV file; "" where it is not a data set."""
    for separator, name in ((".", "id"), ("_", "example_id")):
        parts = {name.partition(separator)[0] for name in columns if separator in name}
        if name in columns and {"input", "output"} <= parts:
            return separator
    return ""


def _is_data_set(peek: Peek) -> bool:
    data = peek.keys.get("data")
    if isinstance(data, Mapping):
        return isinstance(data.get("examples"), list) and bool({"dataset_id", "version_id"} & data.keys())
    annotated = any(name.startswith(ANNOTATION) for name in peek.columns)
    return bool(_separator(peek.columns)) and not annotated and "repetition_number" not in peek.columns


def _read_data_set(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    peek = Peek(source)
    if "data" in peek.keys:
        version = value_at(source, "data.version_id")
        facts = {"dataset_version": version} if isinstance(version, str) else {}
        examples: Iterator[tuple[int, Any]] = items_at(source, "data.examples")
        return question_set(source, KEY, _of_data_set(examples, errors), **facts)
    separator = _separator(peek.columns)
    notes = (OF_SPANS,) if f"metadata{separator}span_kind" in peek.columns else ()
    listed = object_rows(open_table(source, errors, options.limit).rows(), errors)
    rows = ((line, _example(row, separator)) for line, row in listed)
    return question_set(source, KEY, _of_data_set(rows, errors), notes=notes)


def _example(row: Mapping[str, Any], separator: str) -> dict[str, Any]:
    """Return a row as the API has it: with an object for input, output and metadata."""
    example: dict[str, Any] = {"id": next((row[name] for name in ID_COLUMNS if row.get(name)), None)}
    for part in EXAMPLE_PARTS:
        prefix = part + separator
        example[part] = {
            name.removeprefix(prefix): decoded(value)
            for name, value in row.items()
            if name.startswith(prefix) and value not in (None, "")
        }
    return example


def _of_data_set(examples: Iterator[tuple[int, Any]], errors: ValidationErrors) -> Iterator[Record]:
    for line, example in examples:
        if not isinstance(example, Mapping):
            errors.add(line, "", f"found {type_name(example)}", "an example with input and output")
            continue
        question = question_in(example.get("input"))
        if not question or not question.strip():
            errors.remark(NO_INPUT, line)
            continue
        fields = mapping(example.get("metadata"))
        values = {key: value for key, value in fields.items() if key not in OWN_IDS and value not in BLANK}
        texts = {key: value if isinstance(value, str) else as_json(value) for key, value in values.items()}
        passages = [contexts_in(example.get(part)) for part in ("output", "metadata", "input")]
        name = next((str(fields[key]) for key in OWN_IDS if fields.get(key)), example.get("id"))
        record = {
            "question_id": name,
            "question": question,
            "reference_answer": _reference(example.get("output")),
            "relevant": gold_passages(next((listed for listed in passages if listed), None)) or None,
            "tags": {key: text for key, text in texts.items() if len(text) <= MOST_TAG} or None,
        }
        yield line, {**record, "phoenix_example": example.get("id")}


def _reference(output: Any) -> str | None:
    """Return the text of an output, or what it holds as JSON where that is not text."""
    text = reference_in(output)
    if text is not None or not isinstance(output, Mapping) or len(output) != 1:
        return text
    (value,) = output.values()
    return None if value in (None, {}, []) else as_json(value)


READERS = {
    "phoenix_experiment": Reader(_read_experiment),
    "phoenix_database": Reader(_read_database),
    KEY: Reader(_read_data_set, _is_data_set),
}
