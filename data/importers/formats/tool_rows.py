"""Rows of tools whose columns hold something else than their names say, or a sample in several rows.

Each is brought to columns that `parsing.columns` maps; nothing is dropped: what has no field stays a column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from data.importers.parsing.metric_names import metric_name
from data.importers.parsing.rows import Table
from data.store.parsed_run import Record

__all__ = ["brought_to_samples", "has_spans"]

Row = dict[str, Any]


@dataclass(frozen=True)
class ToolRows:
    """How the rows of a tool are recognised and converted.

    Attributes:
        fits: whether these are the tool's column names.
        convert: its rows as rows with the usual columns.
        note: what was done, for the reader.
    """

    fits: Callable[[set[str]], bool]
    convert: Callable[[Iterator[Record]], Iterable[Record]]
    note: str


def brought_to_samples(table: Table) -> Table:
    """Return a table with one row per sample and columns that say what they hold; others as they are."""
    tool = next((tool for tool in TOOLS if tool.fits(set(table.columns))), None)
    if tool is None:
        return table
    return Table.of(table.kind, tool.convert(table.rows()), notes=(*table.notes, tool.note))


def has_spans(names: set[str]) -> bool:
    """Return whether these are the columns of spans, of which several belong to one question."""
    return any(marks <= names for marks in SPAN_COLUMNS)


def _each(convert: Callable[[Row], Row]) -> Callable[[Iterator[Record]], Iterator[Record]]:
    def rows(records: Iterator[Record]) -> Iterator[Record]:
        for line, row in records:
            yield line, convert(row) if isinstance(row, dict) else row

    return rows


DEEPEVAL_NAMES = {
    "name": "question_id",
    "actualOutput": "answer",
    "actual_output": "answer",
    "expectedOutput": "reference_answer",
    "expected_output": "reference_answer",
    "context": "reference_contexts",
    "retrievalContext": "retrieved",
    "retrieval_context": "retrieved",
    "completionTime": "latency_s",
    "tokenCost": "cost_usd",
}
DEEPEVAL_OWN = ("metricsData", "metrics_data", "runDuration", "evaluationCost", "order", "index")


def _is_deepeval(names: set[str]) -> bool:
    is_golden = {"input", "expected_output", "context", "source_file"} <= names
    return "input" in names and (bool({"metricsData", "metrics_data"} & names) or is_golden)


def _of_deepeval(row: Row) -> Row:
    """Return a test case with the results of its metrics as scores and, unless a metric failed, as checks."""
    sample = {
        DEEPEVAL_NAMES.get(name, name): value for name, value in row.items() if name not in DEEPEVAL_OWN
    }
    if own := {name: row[name] for name in DEEPEVAL_OWN if row.get(name) is not None}:
        sample["deepeval"] = own
    results = row.get("metricsData") or row.get("metrics_data") or []
    scores: dict[str, Row] = {}
    checks: list[Row] = []
    for result in results if isinstance(results, list) else []:
        if not isinstance(result, dict):
            continue
        name, error = str(result.get("name")), result.get("error")
        value = None if error else result.get("score")
        scores[metric_name(name)[0]] = {"value": value, "reason": error or result.get("reason")}
        if error:  # DeepEval writes no success then, though nothing was measured that could fail
            continue
        limit, passed = result.get("threshold"), result.get("success")
        checks.append({"name": name, "kind": "metric", "expected": limit, "actual": value, "passed": passed})
    metadata = sample.get("metadata")
    ids = metadata.get("chunk_ids") if isinstance(metadata, dict) else None
    documents = sample.get("retrieved")
    if isinstance(ids, list) and isinstance(documents, list) and len(ids) == len(documents):
        sample["retrieved_ids"] = ids
    return {**sample, "scores": scores, "checks": checks} if scores else sample


SPAN_COLUMNS: tuple[set[str], ...] = (
    {"traceId", "isRootObservation"},
    {"traceId", "parentObservationId"},
    {"root_span_id", "span_id"},
    {"trace_id", "span_id"},
)
EMPTY = {"EMPTY MESSAGE", "<EMPTY MESSAGE>"}


def _of_uptrain(row: Row) -> Row:
    """Return a row with the passage cut out of a document as the context, and the document as candidate."""
    sample = {name: value for name, value in row.items() if name not in ("response", "document_text")}
    passage, document = row.get("response"), row.get("document_text")
    if row.get("answer") in EMPTY:
        sample["answer"] = ""
    sample["retrieved"] = [] if passage in EMPTY or not passage else [{"text": passage}]
    sample["candidates"] = [{"text": document}] if document else []
    if "question_idx" in row and "row_idx" in row:
        sample["question_id"] = f"{row['question_idx']}-{row['row_idx']}"
    if "experiment_id" in row:
        sample["run"] = f"experiment {row['experiment_id']}"
    return sample


def _of_open_rag_eval(records: Iterator[Record]) -> Iterator[Record]:
    """Yield one row for each answer: it stands on the first of several rows, one for each passage."""

    def sample_of(record: Record) -> object:
        row = record[1]
        return (row.get("query_id"), row.get("query_run")) if isinstance(row, dict) else record[0]

    for _, group in groupby(records, key=sample_of):
        rows = list(group)
        line, first = rows[0]
        if not isinstance(first, dict):
            yield line, first
            continue
        parts = [row for _, row in rows if isinstance(row, dict)]
        passages = [
            {"text": part["passage"], "passage_id": str(part.get("passage_id")).strip("[]")}
            for part in parts
            if part.get("passage")
        ]
        answer = next((part["generated_answer"] for part in parts if part.get("generated_answer")), None)
        rest = {name: value for name, value in first.items() if name not in ("passage", "passage_id")}
        yield line, {**rest, "generated_answer": answer, "retrieved": passages}


def _is_autorag(names: set[str]) -> bool:
    return {"qid", "query", "retrieval_gt"} <= names


def _of_autorag(row: Row) -> Row:
    """Return a row with its last retrieval in the usual columns; earlier ones stay under their names."""
    parts = ("retrieved_contents", "retrieved_ids", "retrieve_scores")
    variants = [name.removeprefix("retrieved_ids") for name in row if name.startswith("retrieved_ids")]
    last = "" if "" in variants else next(reversed(variants), None)
    sample: Row = {}
    for name, value in row.items():
        base = next((part for part in parts if name == f"{part}{last}"), None)
        is_score = isinstance(value, float) and base is None
        sample[base or (f"scores.{name}" if is_score else name)] = value
    return sample


def _of_ares(row: Row) -> Row:
    document = row.get("Document")
    sample = {name: value for name, value in row.items() if name != "Document"}
    return {**sample, "retrieved": [{"text": document}] if document else []}


TOOLS = (
    ToolRows(
        lambda names: {"Query", "Document", "Answer"} <= names,
        _each(_of_ares),
        "read as rows of ARES: `Document` is the only retrieved one",
    ),
    ToolRows(
        _is_deepeval,
        _each(_of_deepeval),
        "read as test cases of DeepEval: `context` is the gold, `retrievalContext` what was retrieved, "
        "the results of metrics are scores and checks",
    ),
    ToolRows(
        lambda names: {"question", "question_idx", "document_text", "response", "answer"} <= names,
        _each(_of_uptrain),
        "read as an experiment of UpTrain: `response` is the passage that was cut out of `document_text`, "
        "EMPTY MESSAGE is none",
    ),
    ToolRows(
        lambda names: {"query_id", "query", "passage_id", "passage", "generated_answer"} <= names,
        _of_open_rag_eval,
        "read as rows of open-rag-eval: the rows of one query and run are the passages of one sample",
    ),
    ToolRows(
        _is_autorag,
        _each(_of_autorag),
        "read as a node of AutoRAG: the last retrieval is the context; figures keep the name of their node",
    ),
)
