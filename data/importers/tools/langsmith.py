"""LangSmith: results of an experiment as a table or one a line, and exported runs of traces.

A failed evaluator is an empty cell in a table; only the lines with `evaluation_results` say why it failed.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, run_of
from ragtriage.data.importers.parsing.cells import CellError, is_blank, read_score
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import Spool, open_table, rows_at
from ragtriage.data.importers.parsing.shapes import (
    CONTEXT_KEYS,
    Numbering,
    all_tags_of,
    answer_in,
    contexts_in,
    decoded,
    mapping,
    milliseconds,
    objects,
    question_in,
    reference_in,
    storable,
    tag_value,
)
from ragtriage.data.importers.parsing.values import (
    Fields,
    error_tag,
    last_line,
    milliseconds_between,
    number,
    tags_of,
    without_blanks,
)
from ragtriage.data.importers.spans.samples import SCORED_WITHOUT_ANSWER
from ragtriage.data.importers.spans.span import Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_models import is_finite

PARTS = ("inputs", "outputs", "reference", "feedback")
NO_SCORE = "the evaluator gave no score; this file does not say why"


def _is_table(peek: Peek) -> bool:
    parts = {name.partition(".")[0] for name in peek.columns if "." in name}
    return "inputs" in parts and bool(parts & {"outputs", "reference", "feedback"})


def read_table(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a table with the columns inputs.*, outputs.*, reference.* and feedback.*: a run."""
    rows = open_table(source, errors, options.limit).rows()
    return [run_of(source, "langsmith_table", _of_table(rows, errors))]


def _of_table(rows: Iterator[Record], errors: ValidationErrors) -> Iterator[Record]:
    numbering = Numbering()
    for line, row in rows:
        if not isinstance(row, dict):
            yield line, row
            continue
        parts: dict[str, Row] = {part: {} for part in PARTS}
        rest: Row = {}
        for name, value in row.items():
            part, _, key = str(name).partition(".")
            blank = is_blank(value, blank_text=False) or value == ""
            if part in parts and key and (part == "feedback" or not blank):
                parts[part][key] = value
            elif not blank:
                rest[str(name)] = value
        scores, tags = _feedback(parts["feedback"])
        record = _record(parts["inputs"], parts["outputs"], parts["reference"], rest.pop("error", None))
        record["latency_ms"] = milliseconds(rest.pop("execution_time", None))
        example, run = rest.pop("example_id", None), rest.pop("id", None)
        rest = {f"{name} (column)" if name in record else name: value for name, value in rest.items()}
        record |= {"run_id": run, "example_id": example, "tags": record["tags"] | tags}
        record = _scored(record, scores, errors, line)
        yield line, {**rest, **record, **numbering.of(example, record["question"])}


def read_results(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one result of an experiment a line: a run for each experiment."""
    spool, numberings = Spool(), dict[str, Numbering]()
    for line, row in islice(open_table(source, errors).rows(), options.limit):
        if not isinstance(row, dict) or not isinstance(row.get("run"), dict):
            errors.add(line, "run", "is not an object", "an object with run, example and evaluation_results")
            continue
        run, example = row["run"], mapping(row.get("example"))
        name = storable(run.get("session_name") or source.stem)
        inputs = mapping(run.get("inputs")) or mapping(example.get("inputs"))
        outputs, reference = mapping(run.get("outputs")), mapping(example.get("outputs"))
        record = _record(inputs, outputs, reference, run.get("error"))
        record["latency_ms"] = milliseconds_between(run.get("start_time"), run.get("end_time"))
        scores, tags = _evaluated(mapping(row.get("evaluation_results")).get("results"))
        own_tags = {**all_tags_of(example.get("metadata")), **all_tags_of(run.get("tags"))}
        example_id = example.get("id") or run.get("reference_example_id")
        record |= {"run_id": run.get("id"), "trace_id": run.get("trace_id"), "example_id": example_id}
        record["tags"] = {**own_tags, **record["tags"], **tags}
        record |= numberings.setdefault(name, Numbering()).of(example_id, record["question"])
        spool.add(name, line, _scored(record, scores, errors, line))
    titles = {name: None if name == source.stem else name for name in spool.keys}
    return [run_of(source, "langsmith", spool.rows(name), title) for name, title in titles.items()]


def _record(
    inputs: Mapping[str, Any], outputs: Mapping[str, Any], reference: Mapping[str, Any], error: Any
) -> Row:
    """Return what the pipeline was asked, what it answered and what it should have answered."""
    texts = {name: value for name, value in outputs.items() if name not in CONTEXT_KEYS}
    several = {"inputs": inputs, "outputs": texts, "reference": reference}
    return {
        "question": question_in(dict(inputs)),
        "answer": answer_in(texts),
        "reference_answer": reference_in(dict(reference)),
        "retrieved": contexts_in(dict(outputs)),
        "tags": error_tag(error),
        "tool": "LangSmith",
        **{name: dict(values) for name, values in several.items() if len(values) > 1},
    }


def _feedback(values: Mapping[str, Any]) -> tuple[Row, Row]:
    """Return the feedback of a table as scores, and as tags where it is a category."""
    scores: Row = {}
    tags: Row = {}
    for name, cell in values.items():
        value = decoded(cell)
        try:
            score = read_score(value)
        except CellError:
            score = None
        if isinstance(score, int | float):
            failed = {"value": None, "reason": NO_SCORE}
            scores[metric_name(name)[0]] = failed if math.isnan(score) else score
        else:
            tags[f"feedback.{name}"] = tag_value(value)
    return scores, tags


def _evaluated(results: object) -> tuple[Row, Row]:
    """Return the results of the evaluators as scores, and as tags where they are a category."""
    scores: Row = {}
    tags: Row = {}
    for result in objects(results):
        name, score = str(result.get("key") or "feedback"), result.get("score")
        failed = bool(mapping(result.get("extra")).get("error"))
        comment = result.get("comment")
        if score is None and not failed and result.get("value") is not None:
            tags[f"feedback.{name}"] = tag_value(result["value"])
        elif isinstance(score, bool | int | float) and is_finite(score) and not failed:
            scores[metric_name(name)[0]] = {"value": float(score), "reason": comment}
        else:
            reason = comment if score is None or failed else f"the score is {str(score)[:40]!r}"
            scores[metric_name(name)[0]] = {"value": None, "reason": reason or "the evaluator gave no score"}
    return scores, tags


def _scored(record: Row, scores: Row, errors: ValidationErrors, line: int) -> Row:
    values = [score["value"] if isinstance(score, dict) else score for score in scores.values()]
    if record["answer"] is None and any(value is not None for value in values):
        errors.remark(SCORED_WITHOUT_ANSWER, line)
    return record | ({"scores": scores} if scores else {})


KEYS = {"run_type", "inputs"}
PLACES = {"dotted_order", "trace_id", "parent_run_id", "child_runs"}
DEEPEST = 100
CONVERSATIONS = ("session_id", "thread_id", "conversation_id")
NO_TAGS = ("runtime", "revision_id", "thread_id", "session_id", "conversation_id", "ls_method")


def _is_runs(peek: Peek) -> bool:
    rows = (peek.keys, *objects(peek.keys.get("runs")), *peek.rows)
    return any(row.keys() >= KEYS and bool(row.keys() & PLACES) for row in rows)


def read_runs(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read exported runs: a sample for each trace, a run for each project or experiment."""
    traces = Traces(errors, "LangSmith").read(
        rows_at(source, "runs", errors, alone=True),
        lambda row: [_span(*run) for run in _tree(row, errors)],
        "run",
    )
    return traces.runs(source, "langsmith_runs")


def _tree(root: Mapping[str, Any], errors: ValidationErrors) -> Iterator[tuple[Fields, str | None, str]]:
    """Yield a run and those below it, each with the ids of its parent and of its trace."""
    top = Fields(root)
    # The id of a trace is that of its first run in order, `<time>Z<id>.<time>Z<id>`, else of this run.
    first = (top.text("dotted_order") or "").partition(".")[0].partition("Z")[2]
    trace = top.text("trace_id") or first or ("" if top.at("parent_run_id") else top.text("id") or "")
    waiting: list[tuple[Fields, str | None, int]] = [(top, top.text("parent_run_id"), 0)]
    while waiting:
        run, parent, depth = waiting.pop()
        yield run, parent, trace
        if depth == DEEPEST:
            errors.remark(f"runs below the {DEEPEST}th level of a trace are left out")
            continue
        name, children = run.text("id"), run.objects("child_runs")
        waiting += [(child, child.text("parent_run_id") or name, depth + 1) for child in children]


def _span(run: Fields, parent: str | None, trace: str) -> Span:
    kind, extra = kind_of(run.at("run_type")), run.fields("extra")
    metadata = extra.fields("metadata")
    inputs, outputs = run.decoded("inputs"), run.decoded("outputs")
    of_kind: dict[str, Any] = {}
    if kind == "retriever":
        documents = run.fields("outputs").at("documents")
        of_kind = {"query": run.fields("inputs").text("query"), "documents": documents}
    elif kind == "llm":  # a chain repeats the sums of what the models in it used
        usage = run.fields("outputs").fields("usage_metadata") or metadata
        of_kind = {
            "input_tokens": number(run.at("prompt_tokens") or usage.at("input_tokens")),
            "output_tokens": number(run.at("completion_tokens") or usage.at("output_tokens")),
            "cost": run.number("total_cost"),
            "model": metadata.text("ls_model_name"),
        }
        generations = run.fields("outputs").at("generations")
        while isinstance(generations, list) and generations:  # what a model said is the first of them
            generations = generations[0]
        outputs = generations if isinstance(generations, Mapping) else outputs
    return Span(
        trace,
        run.text("id") or "",
        parent or None,
        run.text("name") or "",
        kind,
        run.nanoseconds("start_time"),
        run.nanoseconds("end_time"),
        inputs,
        outputs,
        error=last_line(run.decoded("error")),
        tools=extra.fields("invocation_params").at("tools"),
        run=run.text("session_name") or run.text("session_id") or "",
        **of_kind,
        **({} if parent else _of_root(run, metadata)),
    )


def _of_root(run: Fields, metadata: Fields) -> dict[str, Any]:
    """Return the parts of a span that a root alone has: feedback, tags, and fields of the sample."""
    example = run.text("reference_example_id")
    fields = {
        "question_id": example,
        "example_id": example,
        "run_id": run.text("id"),
        "conversation_id": next(filter(None, map(metadata.text, CONVERSATIONS)), None),
        "trace_url": run.text("url"),
    }
    stats = run.fields("feedback_stats").all.items()
    averages = [(str(name), Fields(entry).number("avg")) for name, entry in stats]
    return {
        "scores": {metric_name(name)[0]: value for name, value in averages if value is not None},
        "tags": tags_of(metadata.all, run.at("tags"), but=NO_TAGS),
        "fields": without_blanks(fields),
    }


READERS = {
    "langsmith": Reader(
        read_results,
        lambda peek: any(
            isinstance(row.get("run"), dict) and "evaluation_results" in row for row in peek.rows
        ),
    ),
    "langsmith_table": Reader(read_table, _is_table),
    "langsmith_runs": Reader(read_runs, _is_runs),
}
