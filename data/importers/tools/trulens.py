"""TruLens: its database, records with feedback as a frame, and events, whose evaluations are traces too."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from ragtriage.data.declarations import declaration_fault
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import answer_in, decoded, question_in
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.importers.parsing.spool import Spool
from ragtriage.data.importers.parsing.sqlite_file import RowsByKey, open_sqlite, rows_of, table_names
from ragtriage.data.importers.spans.samples import samples_of
from ragtriage.data.importers.spans.span import Labels, Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.importers.spans.values import (
    fields_in,
    last_line,
    moment,
    nanoseconds,
    number,
    objects_in,
    ranked,
    text_in,
    value_in,
)
from ragtriage.data.store.parsed_run import ParsedRun, Record

OWN = "ai.observability."
EVALUATIONS = ("eval", "eval_root")
RELEVANT_FROM = 0.5
OF_CONTEXTS = "context_relevance"
FAILED = "ERROR"
LOWER = {"direction": "lower"}
Event = Mapping[str, Any]


def runs_of_events(
    events: Iterable[Record], source: InputFile, key: str, errors: ValidationErrors, limit: int | None
) -> list[ParsedRun]:
    """Return a run for each app in a version, from events in any order, whose parts may be text."""
    traces, relevance = Traces(errors, "TruLens"), Spool()
    lower: set[str] = set()
    for line, event in events:
        attributes = _attributes(event) if isinstance(event, Mapping) else {}
        kind, record_id = attributes.get("span_type"), text_in(attributes.get("record_id"))
        if not record_id or not isinstance(event, Mapping):
            errors.leave_out("an event of no record")
        elif kind not in EVALUATIONS:
            traces.add(line, _span(event, attributes, record_id))
        else:
            target = text_in(attributes.get("eval.target_record_id")) or record_id
            _keep_evaluation(traces, relevance, line, target, attributes)
            if attributes.get("eval_root.higher_is_better") is False:
                lower.add(_metric(attributes))
    runs = traces.runs(source, key, limit)
    unknown = sorted(metric for metric in lower if declaration_fault(metric, LOWER) is None)
    return [
        replace(run, records=_with_relevance(run.records, relevance), metrics=dict.fromkeys(unknown, LOWER))
        for run in runs
    ]


def _attributes(event: Event) -> dict[str, Any]:
    """Return the attributes of an event without the prefix that all of TruLens' own have."""
    attributes = fields_in(event.get("record_attributes"))
    if f"{OWN}app_name" not in attributes:
        attributes = {**fields_in(event.get("resource_attributes")), **attributes}
    return {str(name).removeprefix(OWN): value for name, value in attributes.items()}


def _span(event: Event, attributes: Mapping[str, Any], record_id: str) -> Span:
    record, trace = fields_in(event.get("record")), fields_in(event.get("trace"))
    is_root = attributes.get("span_type") == "record_root"
    kind = kind_of(attributes.get("span_type"))
    error = attributes.get("record_root.error") or attributes.get("call.error")
    failed = bool(error) or str(record.get("status")).upper().endswith(FAILED)
    fields = {
        "reference_answer": text_in(attributes.get("record_root.ground_truth_output")),
        "question_id": text_in(attributes.get("input_id")),
        "conversation_id": text_in(attributes.get("conversation_id")),
    }
    return Span(
        record_id,
        text_in(trace.get("span_id")) or text_in(event.get("event_id")) or "",
        text_in(trace.get("parent_id")) or text_in(record.get("parent_span_id")),
        text_in(record.get("name")) or "",
        kind,
        nanoseconds(event.get("start_timestamp")),
        nanoseconds(event.get("timestamp")),
        attributes.get("record_root.input") if is_root else None,
        attributes.get("record_root.output") if is_root else attributes.get("call.return"),
        query=text_in(attributes.get("retrieval.query_text")),
        documents=_documents(attributes) if kind in ("retriever", "reranker") else None,
        error=(last_line(error) or "") if failed else None,
        input_tokens=_count(attributes.get("cost.num_prompt_tokens")),
        output_tokens=_count(attributes.get("cost.num_completion_tokens")),
        cost=_count(attributes.get("cost.cost")) if attributes.get("cost.cost_currency") == "USD" else None,
        model=text_in(attributes.get("cost.model")),
        run=_run(attributes),
        fields={name: value for name, value in fields.items() if value is not None},
    )


def _documents(attributes: Mapping[str, Any]) -> Any:
    for name in ("retrieval.retrieved_contexts", "reranking.contexts", "gen_ai.retrieval.documents"):
        if attributes.get(name) is not None:
            return attributes[name]
    return None


def _count(value: object) -> float | None:
    """Return a number of tokens or a cost; none of it is what TruLens writes where nothing was counted."""
    amount = number(value)
    return amount or None


def _run(attributes: Mapping[str, Any]) -> str:
    app = " ".join(filter(None, (text_in(attributes.get(name)) for name in ("app_name", "app_version"))))
    run = text_in(attributes.get("run.name"))
    return f"{app}: {run}" if run and app else app or run or ""


def _metric(attributes: Mapping[str, Any]) -> str:
    name = attributes.get("eval_root.metric_name") or attributes.get("eval.metric_name")
    return metric_name(text_in(name) or "score")[0]


def _keep_evaluation(
    traces: Traces, relevance: Spool, line: int, record_id: str, attributes: Mapping[str, Any]
) -> None:
    """Keep the score of an evaluation, or what it says of one context; while it runs it has neither."""
    metric = _metric(attributes)
    if attributes.get("span_type") == "eval":
        score, context = number(attributes.get("eval.score")), attributes.get("call.kwargs.context")
        if metric == OF_CONTEXTS and score is not None and isinstance(context, str):
            relevance.add(record_id, line, [context, score])
        return
    error, score = text_in(attributes.get("eval_root.error")), number(attributes.get("eval_root.score"))
    if error:  # with a score of -1 beside it
        value: dict[str, Any] = {"value": None, "reason": last_line(error)}
    elif score is not None:
        value = {"value": score, "reason": text_in(attributes.get("eval.explanation"))}
    else:
        return
    traces.attach(line, Labels(scores={metric: value}), trace_id=record_id)


def _with_relevance(records: Iterable[Record], relevance: Spool) -> Iterator[Record]:
    """Yield records whose passages are relevant where their own score is at least RELEVANT_FROM."""
    for line, record in records:
        if isinstance(record, dict):
            judged = dict(score for _, score in relevance.rows(str(record.get("trace_id"))))
            for document in record.get("retrieved") or () if judged else ():
                if document.get("text") in judged:
                    document["relevant"] = judged[document["text"]] >= RELEVANT_FROM
        yield line, record


CALLS, DIRECTION, ERROR = "_calls", " direction", "_error"
ARGUMENTS = ("context", "contexts", "source", "statement_context")
ORDER = "contexts taken from the evaluator's arguments, order not known"
Row = Mapping[str, Any]


def runs_of_records(
    rows: Iterable[Record], base: ParsedRun, errors: ValidationErrors, limit: int | None
) -> list[ParsedRun]:
    """Return a run for each app in a version of rows as `get_records_and_feedback` gives them."""
    spool = Spool()
    lower: set[str] = set()
    begun: dict[str, datetime] = {}
    for line, row in rows:
        if not isinstance(row, Mapping):
            errors.leave_out("a row that is no record")
            continue
        app = _app(row)
        spool.add(app, line, dict(row))
        if started := moment(_iso(row.get("ts"))):
            begun[app] = min(started, begun.get(app, started))
        lower.update(
            metric_name(name.removesuffix(DIRECTION))[0]
            for name, value in row.items()
            if str(name).endswith(DIRECTION) and str(value).strip().lower() == "false"
        )
    unknown = sorted(metric for metric in lower if declaration_fault(metric, LOWER) is None)
    return [
        replace(
            base,
            name=app or base.name,
            named_by_content=bool(app),
            records=islice(_samples(spool.rows(app), errors), limit),
            metrics=dict.fromkeys(unknown, LOWER),
            created_at=begun.get(app, base.created_at),
        )
        for app in spool.keys
    ]


def _app(row: Row) -> str:
    named = " ".join(filter(None, (text_in(row.get(name)) for name in ("app_name", "app_version"))))
    return named or text_in(row.get("app_id")) or ""


def _samples(rows: Iterator[Record], errors: ValidationErrors) -> Iterator[Record]:
    return samples_of(
        rows, lambda row, line: _sample(row, errors, line), errors, "a record without a question"
    )


def _sample(row: Row, errors: ValidationErrors, line: int) -> dict[str, Any] | None:
    question = question_in(row.get("input"))
    if question is None or not question.strip():
        return None
    answer = answer_in(row.get("output"))
    calls = {name.removesuffix(CALLS): objects_in(row[name]) for name in row if name.endswith(CALLS)}
    scores = {metric_name(name)[0]: score for name in calls if (score := _score(row, name, calls[name]))}
    retrieved, judged = _contexts(calls, errors, line), _relevance(calls)
    record = fields_in(row.get("record_json")) if retrieved is None or not answer else {}
    failed = last_line(record.get("main_error"))
    retrieved = _recorded(record) if retrieved is None else retrieved
    for document in retrieved or ():
        if document.get("text") in judged:
            document["relevant"] = judged[document["text"]]
    seconds, cost = number(row.get("latency")), fields_in(row.get("cost_json"))
    return {
        "question_id": text_in(row.get("input_id")),
        "answer": answer if answer and answer.strip() else None,
        "question": question,
        "retrieved": retrieved,
        "conversation_id": text_in(row.get("conversation_id")),
        "reference_answer": text_in(row.get("ground_truth_output")),
        "scores": scores,
        "tags": {"error": failed} if failed else None,
        "latency_ms": None if seconds is None else seconds * 1000,
        "input_tokens": number(cost.get("n_prompt_tokens")) or None,
        "output_tokens": number(cost.get("n_completion_tokens")) or None,
        "cost_usd": number(row.get("total_cost", cost.get("cost"))) or None,
        "trace_id": text_in(row.get("record_id")),
        "started_at": _iso(row.get("ts")),
        "tool": "TruLens",
    }


def _iso(time: object) -> str | None:
    since_1970 = nanoseconds(time)
    return (
        None if since_1970 is None else datetime.fromtimestamp(since_1970 // 1_000_000_000, UTC).isoformat()
    )


def _score(row: Row, name: str, calls: list[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return a score with its reason; None where the evaluation has not run or has not ended yet."""
    value = value_in(row.get(name))
    if value is not None:
        metas = (fields_in(call.get("meta")).get("reason") or call.get("explanation") for call in calls)
        reasons = map(text_in, metas)
        return {"value": value, "reason": next(filter(None, reasons), None)}
    error = text_in(row.get(f"{name}{ERROR}")) or next(filter(None, map(_error, calls)), None)
    return {"value": None, "reason": last_line(error) or "failed"} if calls or error else None


def _error(call: Mapping[str, Any]) -> str | None:
    return text_in(call.get("error")) or text_in(fields_in(call.get("meta")).get("error"))


def _contexts(
    calls: Mapping[str, list[Mapping[str, Any]]], errors: ValidationErrors, line: int
) -> list[dict[str, Any]] | None:
    """Return the contexts that an evaluator was given: of the one that was given each apart, else of any."""
    by_metric = {name: [_argument(call) for call in listed] for name, listed in calls.items()}
    contexts = {
        name: [context for context in listed if context is not None] for name, listed in by_metric.items()
    }
    ordered = sorted(contexts, key=lambda name: (metric_name(name)[0] != OF_CONTEXTS, name))
    chosen = next((contexts[name] for name in ordered if contexts[name]), None)
    if chosen is None:
        return None
    errors.remark(ORDER, line)
    documents = [text for context in chosen for text in (context if isinstance(context, list) else [context])]
    return ranked(documents)


def _argument(call: Mapping[str, Any]) -> Any:
    args = fields_in(call.get("args"))
    values = (decoded(args.get(name), 1) for name in ARGUMENTS)
    return next((value for value in values if value not in (None, "")), None)


def _relevance(calls: Mapping[str, list[Mapping[str, Any]]]) -> dict[str, bool]:
    judged = {}
    for name, listed in calls.items():
        for call in listed if metric_name(name)[0] == OF_CONTEXTS else ():
            context, score = _argument(call), number(call.get("ret"))
            if isinstance(context, str) and score is not None:
                judged[context] = score >= RELEVANT_FROM
    return judged


def _recorded(record: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return what a call of a retriever in a record returned."""
    for call in objects_in(record.get("calls")):
        stack = objects_in(call.get("stack"))
        method = fields_in(stack[-1].get("method")) if stack else {}
        returned = decoded(call.get("rets"), 1)
        if "retriev" in str(method.get("name")).lower() and isinstance(returned, list):
            return ranked(returned)
    return None


ACCEPTED = "a database of TruLens with records (1.x) or events (2.x), or session.get_records_and_feedback()"
FRAME = {"record_id", "app_id", "input", "output"}
EVENTS = {"record_attributes", "resource_attributes"}


def _prefix(tables: Iterable[str]) -> str | None:
    """Return the prefix of TruLens' tables, which its user may choose; None where they are none of its."""
    names = set(tables)
    prefixes = sorted(name.removesuffix("feedbacks") for name in names if name.endswith("feedbacks"))
    return next((prefix for prefix in prefixes if {f"{prefix}apps", f"{prefix}records"} <= names), None)


def _read_database(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a database: events of 2.x, records of 1.x, or both."""
    tables = table_names(source)
    prefix = _prefix(tables)
    prefix = "trulens_" if prefix is None else prefix
    base = ParsedRun(source.stem, (), source.name, "trulens_database")
    runs = []
    with open_sqlite(source) as connection:
        if f"{prefix}events" in tables:
            rows = rows_of(connection, f"{prefix}events")
            events: Iterator[Record] = ((line, dict(row)) for line, row in enumerate(rows, start=1))
            runs += runs_of_events(events, source, "trulens_database", errors, options.limit)
        if {f"{prefix}records", f"{prefix}feedbacks"} <= tables:
            runs += runs_of_records(_records(connection, prefix, tables), base, errors, options.limit)
    if not runs:
        raise source.error("is a database of TruLens that holds no record", ACCEPTED)
    return runs


def _records(connection: sqlite3.Connection, prefix: str, tables: Iterable[str]) -> Iterator[Record]:
    """Yield the records of 1.x with their feedback, as `get_records_and_feedback` gives them."""
    apps: dict[str, dict[str, Any]] = {}
    if f"{prefix}apps" in tables:
        listed = map(dict, rows_of(connection, f"{prefix}apps"))
        apps = {str(app.get("app_id")): app for app in listed}
    feedback = RowsByKey(connection, f"{prefix}feedbacks", "record_id")
    records = map(dict, rows_of(connection, f"{prefix}records", "record_id"))
    for line, record in enumerate(records, start=1):
        app = apps.get(str(record.get("app_id")), {})
        record |= {name: app[name] for name in ("app_name", "app_version") if app.get(name)}
        performed = fields_in(record.get("perf_json"))
        start = performed.get("start_time")
        end = performed.get("end_time")
        begun, ended = moment(start), moment(end)
        record["latency"] = (ended - begun).total_seconds() if begun and ended and ended >= begun else None
        for result in feedback.of(str(record.get("record_id"))):
            record |= _result(result)
        yield line, record


def _result(row: dict[str, Any]) -> dict[str, Any]:
    """Return a feedback as the columns of a frame; one that is still running has none."""
    name, status = str(row.get("name") or "feedback"), str(row.get("status") or "").rpartition(".")[2].lower()
    calls = fields_in(row.get("calls_json")).get("calls")
    if status in ("done", "") and row.get("result") is not None:
        return {name: row["result"], f"{name}{CALLS}": calls or []}
    if status == "failed" or row.get("error"):
        return {f"{name}{CALLS}": calls or [], f"{name}_error": row.get("error") or "failed"}
    return {}


def _read_events(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read events: spans of records, and their evaluations."""
    events = open_table(source, errors).rows()
    runs = runs_of_events(events, source, "trulens_events", errors, options.limit)
    if not runs:
        raise source.error("holds events of TruLens and no record with a question among them", ACCEPTED)
    return runs


def _read_frame(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    base = ParsedRun(source.stem, (), source.name, "trulens")
    return runs_of_records(open_table(source, errors).rows(), base, errors, options.limit)


WRITTEN_BY = "TruLens 2.16"


IMPORTERS = (
    Importer(
        "trulens_database",
        "TruLens database",
        "default.sqlite with trulens_events (2.x) or trulens_records (1.x)",
        lambda peek: (
            bool({"trulens_events", "trulens_records"} & peek.tables) or _prefix(peek.tables) is not None
        ),
        _read_database,
        written_by=f"{WRITTEN_BY}, tables of 1.x",
    ),
    Importer(
        "trulens_events",
        "TruLens events",
        "CSV, JSONL or Parquet with record_attributes and resource_attributes",
        lambda peek: peek.columns >= EVENTS,
        _read_events,
        written_by=WRITTEN_BY,
    ),
    Importer(
        "trulens",
        "TruLens records",
        "CSV, JSONL or Parquet with record_id, app_id, input, output, <metric>, <metric>_calls",
        lambda peek: peek.columns >= FRAME and any(name.endswith(CALLS) for name in peek.columns),
        _read_frame,
        written_by=WRITTEN_BY,
        example="session.get_records_and_feedback()[0].to_json(FILE, orient='records', lines=True)",
    ),
)
