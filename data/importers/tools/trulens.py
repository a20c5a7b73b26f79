"""TruLens: its database, records with feedback as a frame, and events, whose evaluations are traces too."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ragtriage.data.declarations import declaration_fault
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Reader, run_of
from ragtriage.data.importers.parsing.containers import RowsByKey, open_sqlite, rows_of, table_names
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import Spool, open_table
from ragtriage.data.importers.parsing.shapes import answer_in, decoded, question_in
from ragtriage.data.importers.parsing.values import (
    Fields,
    error_tag,
    last_line,
    moment,
    nanoseconds,
    number,
    ranked,
    text_in,
    value_in,
    without_blanks,
)
from ragtriage.data.importers.spans.samples import samples_of
from ragtriage.data.importers.spans.span import Labels, Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.store.parsed_run import ParsedRun, Record

OWN = "ai.observability."  # before all attributes of TruLens
EVALUATIONS = ("eval", "eval_root")
RELEVANT_FROM = 0.5
OF_CONTEXTS = "context_relevance"
FAILED = "ERROR"
FAILED_SCORE = -1  # of a feedback that failed, with an error or without one
LOWER = {"direction": "lower"}
DOCUMENTS = ("retrieval.retrieved_contexts", "reranking.contexts", "gen_ai.retrieval.documents")


def runs_of_events(
    events: Iterable[Record], source: InputFile, key: str, errors: ValidationErrors
) -> list[ParsedRun]:
    """Return a run for each app in a version, from events in any order, whose parts may be text."""
    traces, relevance = Traces(errors, "TruLens"), Spool()
    lower: set[str] = set()
    for line, value in events:
        event = Fields(value)
        recorded = event.fields("record_attributes").all
        if f"{OWN}app_name" not in recorded:
            recorded = {**event.fields("resource_attributes").all, **recorded}
        attributes = Fields({str(name).removeprefix(OWN): part for name, part in recorded.items()})
        kind, record_id = attributes.at("span_type"), attributes.text("record_id")
        if not record_id:
            errors.leave_out("an event of no record")
        elif kind not in EVALUATIONS:
            traces.add(line, _span(event, attributes, record_id))
        else:
            target = attributes.text("eval.target_record_id") or record_id
            _keep_evaluation(traces, relevance, line, target, attributes)
            if attributes.at("eval_root.higher_is_better") is False:
                lower.add(_metric(attributes))
    return [
        replace(run, records=_with_relevance(run.records, relevance), metrics=_declared(lower))
        for run in traces.runs(source, key)
    ]


def _declared(lower: set[str]) -> dict[str, Mapping[str, Any]]:
    """Return the declarations of metrics of which lower is better, where they have none of their own."""
    return {metric: LOWER for metric in sorted(lower) if declaration_fault(metric, LOWER) is None}


def _span(event: Fields, attributes: Fields, record_id: str) -> Span:
    record, trace = event.fields("record"), event.fields("trace")
    is_root = attributes.at("span_type") == "record_root"
    kind = kind_of(attributes.at("span_type"))
    error = attributes.all.get("record_root.error") or attributes.all.get("call.error")
    failed = bool(error) or str(record.at("status")).upper().endswith(FAILED)
    run, app = attributes.text("run.name"), _app(attributes)
    return Span(
        record_id,
        trace.text("span_id") or event.text("event_id") or "",
        trace.text("parent_id") or record.text("parent_span_id"),
        record.text("name") or "",
        kind,
        event.nanoseconds("start_timestamp"),
        event.nanoseconds("timestamp"),
        attributes.at("record_root.input") if is_root else None,
        attributes.at("record_root.output") if is_root else attributes.at("call.return"),
        query=attributes.text("retrieval.query_text"),
        documents=attributes.at(*DOCUMENTS) if kind in ("retriever", "reranker") else None,
        error=(last_line(error) or "") if failed else None,
        input_tokens=attributes.amount("cost.num_prompt_tokens"),
        output_tokens=attributes.amount("cost.num_completion_tokens"),
        cost=attributes.amount("cost.cost") if attributes.at("cost.cost_currency") == "USD" else None,
        model=attributes.text("cost.model"),
        run=f"{app}: {run}" if run and app else app or run or "",
        fields=without_blanks(
            {
                "reference_answer": attributes.text("record_root.ground_truth_output"),
                "question_id": attributes.text("input_id"),
                "conversation_id": attributes.text("conversation_id"),
            }
        ),
    )


def _app(row: Fields) -> str:
    return " ".join(filter(None, (row.text("app_name"), row.text("app_version"))))


def _metric(attributes: Fields) -> str:
    return metric_name(attributes.text("eval_root.metric_name", "eval.metric_name") or "score")[0]


def _keep_evaluation(traces: Traces, relevance: Spool, line: int, record_id: str, attributes: Fields) -> None:
    """Keep the score of an evaluation, or what it says of one context; while it runs it has neither."""
    metric = _metric(attributes)
    if attributes.at("span_type") == "eval":
        score, context = attributes.number("eval.score"), attributes.at("call.kwargs.context")
        if metric == OF_CONTEXTS and score is not None and isinstance(context, str):
            relevance.add(record_id, line, [context, score])
        return
    error, score = attributes.text("eval_root.error"), attributes.number("eval_root.score")
    if error or score == FAILED_SCORE:
        value: dict[str, Any] = {"value": None, "reason": last_line(error or "the feedback failed")}
    elif score is not None:
        value = {"value": score, "reason": attributes.text("eval.explanation")}
    else:
        return
    traces.attach(line, Labels(scores={metric: value}), trace_id=record_id)


def _with_relevance(records: Iterable[Record], relevance: Spool) -> Iterator[Record]:
    """Yield records whose passages are relevant where their own score is at least RELEVANT_FROM."""
    for line, record in records:
        if isinstance(record, dict):
            judged = dict(score for _, score in relevance.rows(str(record.get("trace_id"))))
            _judge(record.get("retrieved"), judged)
        yield line, record


def _judge(documents: list[dict[str, Any]] | None, scores: Mapping[str, float]) -> None:
    for document in documents or () if scores else ():
        if document.get("text") in scores:
            document["relevant"] = scores[document["text"]] >= RELEVANT_FROM


CALLS, DIRECTION, ERROR = "_calls", " direction", "_error"
ARGUMENTS = ("context", "contexts", "source", "statement_context")
ORDER = "contexts taken from the evaluator's arguments, order not known"
Calls = Mapping[str, list[Fields]]  # of evaluators, by the name of their metric


def runs_of_records(
    rows: Iterable[Record], source: InputFile, key: str, errors: ValidationErrors
) -> list[ParsedRun]:
    """Return a run for each app in a version of rows as `get_records_and_feedback` gives them."""
    spool = Spool()
    lower: set[str] = set()
    begun: dict[str, datetime] = {}
    for line, value in rows:
        row = Fields(value)
        if not isinstance(value, Mapping):
            errors.leave_out("a row that is not a record")
            continue
        app = _app(row) or row.text("app_id") or ""
        spool.add(app, line, dict(value))
        if started := moment(_iso(row.at("ts"))):
            begun[app] = min(started, begun.get(app, started))
        lower.update(
            metric_name(name.removesuffix(DIRECTION))[0]
            for name, text in value.items()
            if str(name).endswith(DIRECTION) and str(text).strip().lower() == "false"
        )

    def samples(app: str) -> Iterator[Record]:
        lacking = "a record without a question"
        return samples_of(spool.rows(app), lambda row, line: _sample(row, errors, line), errors, lacking)

    return [
        run_of(*(source, key, samples(app), app), metrics=_declared(lower), created_at=begun.get(app))
        for app in spool.keys
    ]


def _sample(row: Fields, errors: ValidationErrors, line: int) -> dict[str, Any] | None:
    question = question_in(row.at("input"))
    if question is None or not question.strip():
        return None
    answer = answer_in(row.at("output"))
    calls = {name.removesuffix(CALLS): row.objects(name) for name in row.all if name.endswith(CALLS)}
    scores = {metric_name(name)[0]: score for name in calls if (score := _score(row, name, calls[name]))}
    retrieved = _contexts(calls, errors, line)
    record = row.fields("record_json") if retrieved is None or not answer else Fields(None)
    retrieved = _recorded(record) if retrieved is None else retrieved
    _judge(retrieved, _relevance(calls))
    seconds, cost = row.number("latency"), row.fields("cost_json")
    return {
        "question_id": row.text("input_id"),
        "answer": answer if answer and answer.strip() else None,
        "question": question,
        "retrieved": retrieved,
        "conversation_id": row.text("conversation_id"),
        "reference_answer": row.text("ground_truth_output"),
        "scores": scores,
        "tags": error_tag(record.at("main_error")),
        "latency_ms": None if seconds is None else seconds * 1000,
        "input_tokens": cost.amount("n_prompt_tokens"),
        "output_tokens": cost.amount("n_completion_tokens"),
        "cost_usd": number(row.all.get("total_cost", cost.at("cost"))) or None,
        "trace_id": row.text("record_id"),
        "started_at": _iso(row.at("ts")),
        "tool": "TruLens",
    }


def _iso(time: object) -> str | None:
    ns = nanoseconds(time)
    return None if ns is None else datetime.fromtimestamp(ns // 1_000_000_000, UTC).isoformat()


def _score(row: Fields, name: str, calls: list[Fields]) -> dict[str, Any] | None:
    """Return a score with its reason; None where the evaluation has not run or has not ended yet."""
    value = value_in(row.at(name))
    if value is not None:
        reasons = (text_in(call.fields("meta").at("reason") or call.at("explanation")) for call in calls)
        return {"value": value, "reason": next(filter(None, reasons), None)}
    faults = (call.text("error") or call.fields("meta").text("error") for call in calls)
    error = row.text(f"{name}{ERROR}") or next(filter(None, faults), None)
    return {"value": None, "reason": last_line(error) or "failed"} if calls or error else None


def _contexts(calls: Calls, errors: ValidationErrors, line: int) -> list[dict[str, Any]] | None:
    """Return the contexts that an evaluator was given: of the one that was given each apart, else of any."""
    contexts = {
        name: [context for context in map(_argument, listed) if context is not None]
        for name, listed in calls.items()
    }
    ordered = sorted(contexts, key=lambda name: (metric_name(name)[0] != OF_CONTEXTS, name))
    chosen = next((contexts[name] for name in ordered if contexts[name]), None)
    if chosen is None:
        return None
    errors.remark(ORDER, line)
    return ranked([text for each in chosen for text in (each if isinstance(each, list) else [each])])


def _argument(call: Fields) -> Any:
    args = call.fields("args").all
    values = (decoded(args.get(name), 1) for name in ARGUMENTS)
    return next((value for value in values if value not in (None, "")), None)


def _relevance(calls: Calls) -> dict[str, float]:
    """Return context -> the score that an evaluator of contexts gave it."""
    of_contexts = (call for name in calls if metric_name(name)[0] == OF_CONTEXTS for call in calls[name])
    scores = ((_argument(call), call.number("ret")) for call in of_contexts)
    return {text: score for text, score in scores if isinstance(text, str) and score is not None}


def _recorded(record: Fields) -> list[dict[str, Any]] | None:
    """Return what a call of a retriever in a record returned."""
    for call in record.objects("calls"):
        stack, returned = call.objects("stack"), decoded(call.at("rets"), 1)
        method = str(stack[-1].fields("method").at("name")) if stack else ""
        if "retriev" in method.lower() and isinstance(returned, list):
            return ranked(returned)
    return None


ACCEPTED = "a database of TruLens with records (1.x) or events (2.x), or session.get_records_and_feedback()"


def _prefix(tables: Iterable[str]) -> str | None:
    """Return the prefix of TruLens' tables, which its user may choose; None where they are none of its."""
    names = set(tables)
    prefixes = sorted(name.removesuffix("feedbacks") for name in names if name.endswith("feedbacks"))
    return next((prefix for prefix in prefixes if {f"{prefix}apps", f"{prefix}records"} <= names), None)


def _read_database(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a database: events of 2.x, records of 1.x, or both."""
    tables, key = table_names(source), "trulens_database"
    prefix = _prefix(tables)
    prefix = "trulens_" if prefix is None else prefix
    runs = []
    with open_sqlite(source) as connection:
        if f"{prefix}events" in tables:
            rows = rows_of(connection, f"{prefix}events")
            events: Iterator[Record] = ((line, dict(row)) for line, row in enumerate(rows, start=1))
            runs += runs_of_events(events, source, key, errors)
        if {f"{prefix}records", f"{prefix}feedbacks"} <= tables:
            records = _records(connection, prefix, tables)
            runs += runs_of_records(records, source, key, errors)
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
        performed = Fields(record.get("perf_json"))
        begun, ended = moment(performed.at("start_time")), moment(performed.at("end_time"))
        record["latency"] = (ended - begun).total_seconds() if begun and ended and ended >= begun else None
        for result in feedback.of(str(record.get("record_id"))):
            record |= _result(result)
        yield line, record


def _result(row: dict[str, Any]) -> dict[str, Any]:
    """Return a feedback as the columns of a frame; one that is still running has none."""
    name, status = str(row.get("name") or "feedback"), str(row.get("status") or "").rpartition(".")[2].lower()
    calls = {f"{name}{CALLS}": Fields(row.get("calls_json")).at("calls") or []}
    if status in ("done", "") and row.get("result") is not None:
        return {name: row["result"], **calls}
    if status == "failed" or row.get("error"):
        return {**calls, f"{name}{ERROR}": row.get("error") or "failed"}
    return {}


def _read_events(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read events: spans of records, and their evaluations."""
    events = open_table(source, errors).rows()
    runs = runs_of_events(events, source, "trulens_events", errors)
    if not runs:
        raise source.error("holds events of TruLens and no record with a question among them", ACCEPTED)
    return runs


READERS = {
    "trulens_database": Reader(
        _read_database,
        lambda peek: (
            bool({"trulens_events", "trulens_records"} & peek.tables) or _prefix(peek.tables) is not None
        ),
    ),
    "trulens_events": Reader(_read_events),
    "trulens": Reader(
        lambda source, _options, errors: runs_of_records(
            open_table(source, errors).rows(), source, "trulens", errors
        ),
        lambda peek: any(name.endswith(CALLS) for name in peek.columns),
    ),
}
