"""LangSmith: exported runs of traces, one a row or as trees; each trace becomes a sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.documents_in_json import items_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.metric_names import metric_name
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import decoded
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.importers.spans.span import Span, kind_of
from ragtriage.data.importers.spans.traces import Traces, runs_of_spans
from ragtriage.data.importers.spans.values import nanoseconds, number
from ragtriage.data.importers.tools.facts import fields_in, last_line, tags_of, text_in, without_blanks
from ragtriage.data.store.parsed_run import ParsedRun, Record

Row = Mapping[str, Any]

KEYS = {"run_type", "inputs"}
PLACES = {"dotted_order", "trace_id", "parent_run_id", "child_runs"}
DEEPEST = 100
CONVERSATIONS = ("session_id", "thread_id", "conversation_id")
NO_TAGS = ("runtime", "revision_id", "thread_id", "session_id", "conversation_id", "ls_method")


def _is_runs(peek: Peek) -> bool:
    listed = peek.keys.get("runs")
    rows = (peek.keys, *(listed if isinstance(listed, list) else ()), *peek.rows)
    return any(isinstance(row, Mapping) and row.keys() >= KEYS and bool(row.keys() & PLACES) for row in rows)


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read exported runs: a sample for each trace, a run for each project or experiment."""
    traces = Traces(errors, {"tool": "LangSmith"})
    for line, row in _rows(source, errors):
        if not isinstance(row, Mapping):
            errors.leave_out("a row that is no run")
            continue
        for run, parent, trace in _tree(row, errors):
            traces.add(line, _span(run, parent, trace))
    return runs_of_spans(traces, ParsedRun(source.stem, (), source.name, "langsmith_runs"), options.limit)


def _rows(source: InputFile, errors: ValidationErrors) -> Iterator[Record]:
    peek = Peek(source)
    if peek.kind != "json":
        yield from open_table(source, errors).rows()
    elif isinstance(peek.keys.get("runs"), list):
        yield from items_at(source, "runs")
    elif peek.keys:
        yield 1, source.document()
    else:
        yield from items_at(source, "")


def _tree(root: Row, errors: ValidationErrors) -> Iterator[tuple[Row, str | None, str]]:
    """Yield a run and those below it, each with the ids of its parent and of its trace."""
    trace = text_in(root.get("trace_id")) or _trace_of(root)
    waiting: list[tuple[Row, str | None, int]] = [(root, text_in(root.get("parent_run_id")), 0)]
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


def _trace_of(run: Row) -> str:
    """Return the id of a trace from the order of its runs, `<time>Z<id>.<time>Z<id>`, else of the run."""
    first = (text_in(run.get("dotted_order")) or "").partition(".")[0]
    return first.partition("Z")[2] or ("" if run.get("parent_run_id") else text_in(run.get("id")) or "")


def _span(run: Row, parent: str | None, trace: str) -> Span:
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


def _of_root(run: Row, metadata: Row) -> dict[str, Any]:
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
        "langsmith_runs",
        "LangSmith runs",
        "runs of traces with run_type, inputs, outputs and parent_run_id, one a row or as a tree",
        _is_runs,
        read,
        written_by="LangSmith 0.15",
        example="for run in client.list_runs(project_name=...): file.write(run.json() + chr(10))",
    ),
)
