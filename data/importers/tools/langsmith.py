"""LangSmith: results of an experiment as a table or one a line, and exported runs of traces.

A failed evaluator is an empty cell in a table; only the lines with `evaluation_results` say why it failed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer, Row
from ragtriage.data.importers.parsing.cells import CellError, read_score
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import (
    CONTEXT_KEYS,
    answer_in,
    contexts_in,
    decoded,
    question_in,
    reference_in,
)
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import open_table, rows_at
from ragtriage.data.importers.parsing.shapes import (
    Numbering,
    all_tags_of,
    mapping,
    milliseconds,
    objects,
    storable,
    tag_value,
)
from ragtriage.data.importers.parsing.spool import Spool
from ragtriage.data.importers.parsing.values import (
    fields_in,
    last_line,
    milliseconds_between,
    nanoseconds,
    number,
    tags_of,
    text_in,
    without_blanks,
)
from ragtriage.data.importers.spans.samples import SCORED_WITHOUT_ANSWER
from ragtriage.data.importers.spans.span import Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_models import is_finite

ACCEPTED = "results.to_pandas() as CSV or JSONL, or one {run, example, evaluation_results} a line"
PARTS = ("inputs", "outputs", "reference", "feedback")
NO_SCORE = "the evaluator gave no score; this file does not say why"
OWN = ("error", "execution_time", "example_id", "id")


def _is_table(peek: Peek) -> bool:
    parts = {name.partition(".")[0] for name in peek.columns if "." in name}
    return "inputs" in parts and bool(parts & {"outputs", "reference", "feedback"})


def read_table(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a table with the columns inputs.*, outputs.*, reference.* and feedback.*: a run."""
    rows = open_table(source, errors, options.limit).rows()
    return [ParsedRun(source.stem, _of_table(rows, errors), source.name, "langsmith_table")]


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
            if part in parts and key:
                if part == "feedback" or not _is_blank(value):
                    parts[part][key] = value
            elif not _is_blank(value):
                rest[str(name)] = value
        scores, tags = _feedback(parts["feedback"])
        record = _record(parts["inputs"], parts["outputs"], parts["reference"], rest.get("error"))
        record["latency_ms"] = milliseconds(rest.get("execution_time"))
        record["tags"] |= tags
        _tell_scored(record, scores, errors, line)
        own = {"run_id": rest.get("id"), "example_id": rest.get("example_id")}
        others = {name: value for name, value in rest.items() if name not in OWN}
        yield (
            line,
            {
                **{f"{name} (column)" if name in record else name: value for name, value in others.items()},
                **record,
                **({"scores": scores} if scores else {}),
                **own,
                **numbering.of(rest.get("example_id"), record["question"]),
            },
        )


def read_results(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one result of an experiment a line: a run for each experiment."""
    spool, numberings = Spool(), dict[str, Numbering]()
    for line, row in islice(open_table(source, errors).rows(), options.limit):
        if not isinstance(row, dict) or not isinstance(row.get("run"), dict):
            errors.add(line, "run", "is no object", "an object with run, example and evaluation_results")
            continue
        run, example = row["run"], mapping(row.get("example"))
        name = storable(run.get("session_name") or source.stem)
        record = _record(
            mapping(run.get("inputs")) or mapping(example.get("inputs")),
            mapping(run.get("outputs")),
            mapping(example.get("outputs")),
            run.get("error"),
        )
        record["latency_ms"] = milliseconds_between(run.get("start_time"), run.get("end_time"))
        record["tags"] = {
            **all_tags_of(example.get("metadata")),
            **all_tags_of(run.get("tags")),
            **record["tags"],
        }
        scores, tags = _evaluated(mapping(row.get("evaluation_results")).get("results"))
        record["tags"] |= tags
        _tell_scored(record, scores, errors, line)
        example_id = example.get("id") or run.get("reference_example_id")
        record |= {"run_id": run.get("id"), "trace_id": run.get("trace_id"), "example_id": example_id}
        record |= {"scores": scores} if scores else {}
        record |= numberings.setdefault(name, Numbering()).of(example_id, record["question"])
        spool.add(name, line, record)
    return [
        ParsedRun(name, spool.rows(name), source.name, "langsmith", named_by_content=name != source.stem)
        for name in spool.keys
    ]


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
        "tags": {"error": last_line(error)} if error else {},
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
            tags[f"feedback.{name}"] = tag_value(value)
            continue
        if isinstance(score, float) and math.isnan(score):
            scores[metric_name(name)[0]] = {"value": None, "reason": NO_SCORE}
        elif isinstance(score, int | float):
            scores[metric_name(name)[0]] = score
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


def _tell_scored(record: Row, scores: Row, errors: ValidationErrors, line: int) -> None:
    values = [score["value"] if isinstance(score, dict) else score for score in scores.values()]
    if record["answer"] is None and any(value is not None for value in values):
        errors.remark(SCORED_WITHOUT_ANSWER, line)


def _is_blank(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


KEYS = {"run_type", "inputs"}
PLACES = {"dotted_order", "trace_id", "parent_run_id", "child_runs"}
DEEPEST = 100
CONVERSATIONS = ("session_id", "thread_id", "conversation_id")
NO_TAGS = ("runtime", "revision_id", "thread_id", "session_id", "conversation_id", "ls_method")


def _is_runs(peek: Peek) -> bool:
    rows = (peek.keys, *objects(peek.keys.get("runs")), *peek.rows)
    return any(row.keys() >= KEYS and bool(row.keys() & PLACES) for row in rows)


def read_runs(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read exported runs: a sample for each trace, a run for each project or experiment."""
    traces = Traces(errors, "LangSmith").read(
        rows_at(source, "runs", errors, alone=True),
        lambda row: [_span(*run) for run in _tree(row, errors)],
        "run",
    )
    return traces.runs(source, "langsmith_runs", options.limit)


def _tree(
    root: Mapping[str, Any], errors: ValidationErrors
) -> Iterator[tuple[Mapping[str, Any], str | None, str]]:
    """Yield a run and those below it, each with the ids of its parent and of its trace."""
    trace = text_in(root.get("trace_id")) or _trace_of(root)
    waiting: list[tuple[Mapping[str, Any], str | None, int]] = [(root, text_in(root.get("parent_run_id")), 0)]
    while waiting:
        run, parent, depth = waiting.pop()
        yield run, parent, trace
        children = decoded(run.get("child_runs"))
        if depth == DEEPEST:
            errors.remark(f"runs below the {DEEPEST}th level of a trace are left out")
        elif isinstance(children, list):
            name = text_in(run.get("id"))
            below = [child for child in children if isinstance(child, Mapping)]
            waiting += [(child, text_in(child.get("parent_run_id")) or name, depth + 1) for child in below]


def _trace_of(run: Mapping[str, Any]) -> str:
    """Return the id of a trace from the order of its runs, `<time>Z<id>.<time>Z<id>`, else of the run."""
    first = (text_in(run.get("dotted_order")) or "").partition(".")[0]
    return first.partition("Z")[2] or ("" if run.get("parent_run_id") else text_in(run.get("id")) or "")


def _span(run: Mapping[str, Any], parent: str | None, trace: str) -> Span:
    kind = kind_of(run.get("run_type"))
    inputs, outputs = decoded(run.get("inputs")), decoded(run.get("outputs"))
    metadata = fields_in(fields_in(run.get("extra")).get("metadata"))
    is_model = kind == "llm"
    usage = fields_in(fields_in(outputs).get("usage_metadata")) or metadata
    return Span(
        trace,
        text_in(run.get("id")) or "",
        parent or None,
        text_in(run.get("name")) or "",
        kind,
        nanoseconds(run.get("start_time")),
        nanoseconds(run.get("end_time")),
        inputs,
        _said(outputs) if is_model else outputs,
        query=text_in(fields_in(inputs).get("query")) if kind == "retriever" else None,
        documents=fields_in(outputs).get("documents") if kind == "retriever" else None,
        error=last_line(decoded(run.get("error"))),
        # A chain repeats the sums of what the models in it used.
        input_tokens=number(run.get("prompt_tokens") or usage.get("input_tokens")) if is_model else None,
        output_tokens=number(run.get("completion_tokens") or usage.get("output_tokens"))
        if is_model
        else None,
        cost=number(run.get("total_cost")) if is_model else None,
        model=text_in(metadata.get("ls_model_name")) if is_model else None,
        tools=fields_in(fields_in(run.get("extra")).get("invocation_params")).get("tools"),
        run=text_in(run.get("session_name")) or text_in(run.get("session_id")) or "",
        **({} if parent else _of_root(run, metadata)),
    )


def _said(outputs: Any) -> Any:
    """Return what a model said: the first of its generations, or its outputs where there are none."""
    generations = fields_in(outputs).get("generations")
    while isinstance(generations, list) and generations:
        generations = generations[0]
    return generations if isinstance(generations, Mapping) else outputs


def _of_root(run: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a span that a root alone has: feedback, tags, and fields of the sample."""
    example = text_in(run.get("reference_example_id"))
    fields = {
        "question_id": example,
        "example_id": example,
        "run_id": text_in(run.get("id")),
        "conversation_id": next(filter(None, (text_in(metadata.get(name)) for name in CONVERSATIONS)), None),
        "trace_url": text_in(run.get("url")),
    }
    stats = fields_in(run.get("feedback_stats")).items()
    averages = [(str(name), number(fields_in(entry).get("avg"))) for name, entry in stats]
    return {
        "scores": {metric_name(name)[0]: value for name, value in averages if value is not None},
        "tags": tags_of(metadata, run.get("tags"), but=NO_TAGS),
        "fields": without_blanks(fields),
    }


IMPORTERS = (
    Importer(
        "langsmith",
        "LangSmith results",
        "one {run, example, evaluation_results} a line",
        lambda peek: any(
            isinstance(row.get("run"), dict) and "evaluation_results" in row for row in peek.rows
        ),
        read_results,
        written_by="LangSmith 0.15",
        example="for row in client.evaluate(...): file.write(json.dumps(row, default=lambda o: o.dict()))",
    ),
    Importer(
        "langsmith_table",
        "LangSmith table",
        "a table with inputs.*, outputs.*, reference.* and feedback.*",
        _is_table,
        read_table,
        written_by="LangSmith 0.15",
        example="client.evaluate(...).to_pandas().to_csv('results.csv')",
    ),
    Importer(
        "langsmith_runs",
        "LangSmith runs",
        "runs of traces with run_type, inputs, outputs and parent_run_id, one a row or as a tree",
        _is_runs,
        read_runs,
        written_by="LangSmith 0.15",
        example="for run in client.list_runs(project_name=...): file.write(run.json() + chr(10))",
    ),
)
