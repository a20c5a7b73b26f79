"""continuous-eval: data sets of answers and retrieved passages, and metrics that are joined by position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.table import reader_of, table_importer
from ragtriage.data.importers.importer import Importer, Row, ToolRows, each, refuse
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.shapes import mapping
from ragtriage.data.store.parsed_run import ParsedRun, Record

REFUSAL = "refuse-to-answer"
RATINGS = {
    "correct": {"metric": "correctness", "value": 1.0},
    "incorrect": {"metric": "correctness", "value": 0.0},
    REFUSAL: {"metric": "refused", "value": 1.0},
}
# Shares of chunks in or out of the gold; the names alone would read as metrics of a judge.
OWN_NAMES = {
    "context_precision": "retrieval_precision",
    "context_recall": "retrieval_recall",
    "context_f1": "retrieval_f1",
}
HINT = "the data set that was evaluated, as JSONL, in the same command: metrics are joined by position"


def _sample(row: Row) -> Row:
    """Return a row with its annotation as a human label; a refusal is neither right nor wrong."""
    if "annotation" not in row:
        return row
    label = str(row.get("annotation") or "").strip().lower()
    if label not in RATINGS:
        return {"refused": None, **row, "human": None}
    human = {**RATINGS[label], "annotator": "continuous-eval", "note": label, "low": 0.0, "high": 1.0}
    refused = {"refused": True, "refused_source": "human"} if label == REFUSAL else {}
    rest = {name: value for name, value in row.items() if name != "annotation"}
    return {"refused": None, **rest, **refused, "human": [human]}


def _is_metrics(peek: Peek) -> bool:
    """Return whether a document is {module: {metric: [{name: value}]}}."""
    modules = list(peek.keys.values())
    metrics = [rows for module in map(mapping, modules) for rows in module.values()]
    first = (isinstance(rows, list) and rows and _is_figures(rows[0]) for rows in metrics)
    return bool(modules) and all(map(mapping, modules)) and all(first)


def _is_figures(row: object) -> bool:
    values = mapping(row).values()
    return bool(values) and all(value is None or isinstance(value, int | float) for value in values)


def _read_data(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a data set, with the metrics of the files beside it joined to its rows by position."""
    figures: list[Row] = []
    for file in options.companions:
        figures = _merged(file, figures, _figures(file))

    def joined(records: Iterator[Record]) -> Iterator[Record]:
        count = 0
        for line, row in ROWS.convert(records):
            count += 1
            if isinstance(row, dict) and count <= len(figures):
                row = {**row, "scores": figures[count - 1]}
            yield line, row
        if figures and options.limit is None and count != len(figures):
            raise source.error(f"has {count:,} rows for metrics of {len(figures):,}", HINT)

    return reader_of(replace(ROWS, convert=joined), "continuous_eval")(source, options, errors)


def _figures(file: InputFile) -> list[Row]:
    """Return the figures of each row in a file of metrics, under our names."""
    rows: list[Row] = []
    for module in file.document().values():
        for listed in module.values():
            if not all(map(_is_figures, listed)):
                raise file.error("holds metrics that are not numbers", "{module: {metric: [{name: number}]}}")
            named = [
                {OWN_NAMES.get(name, metric_name(name)[0]): value for name, value in row.items()}
                for row in listed
            ]
            rows = _merged(file, rows, named)
    return rows


def _merged(file: InputFile, rows: list[Row], more: list[Row]) -> list[Row]:
    if rows and len(rows) != len(more):
        raise file.error(f"has metrics of {len(rows):,} rows and of {len(more):,}", "one value for each row")
    return [{**row, **other} for row, other in zip(rows, more, strict=True)] if rows else more


ROWS = ToolRows(
    lambda names: (
        "question" in names and ("ground_truth_contexts" in names or {"ground_truths", "annotation"} <= names)
    ),
    each(_sample),
    "read as a data set of continuous-eval: an annotation is a human label, a model is a run",
)
IMPORTERS = (
    table_importer(
        "continuous_eval",
        "continuous-eval",
        "JSONL with question, ground_truths and ground_truth_contexts or annotation",
        ROWS,
        _read_data,
        written_by="continuous-eval 0.3",
    ),
    Importer(
        "continuous_eval_metrics",
        "continuous-eval metrics",
        "JSON with {module: {metric: [{name: value}]}}, together with its data set",
        _is_metrics,
        refuse("holds metrics of continuous-eval without their questions", HINT),
        written_by="continuous-eval 0.3",
        companion_of=("continuous_eval",),
        alone=False,
    ),
)
