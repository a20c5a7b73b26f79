"""Records of TruLens: the frame of `get_records_and_feedback`, and the tables of its 1.x databases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from ragtriage.data.declarations import declaration_fault
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.metric_names import metric_name
from ragtriage.data.importers.parsing.payloads import answer_in, decoded, question_in
from ragtriage.data.importers.parsing.spool import Spool
from ragtriage.data.importers.spans.samples import SCORED_WITHOUT_ANSWER
from ragtriage.data.importers.spans.values import nanoseconds, number, ranked
from ragtriage.data.importers.tools.facts import (
    fields_in,
    last_line,
    moment,
    objects_in,
    text_in,
    value_in,
    without_blanks,
)
from ragtriage.data.importers.tools.trulens.events import LOWER, RELEVANT_FROM
from ragtriage.data.store.parsed_run import ParsedRun, Record

CALLS, DIRECTION, ERROR = "_calls", " direction", "_error"
OF_CONTEXTS = "context_relevance"
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
    asked: dict[str, int] = {}
    for line, row in rows:
        sample = _sample(row, errors, line) if isinstance(row, Mapping) else None
        if sample is None:
            errors.leave_out("a record without a question")
            continue
        key = str(sample.get("question_id") or sample["question"])
        if repeat := asked.get(key, 0):
            sample["repeat"] = repeat
        asked[key] = repeat + 1
        yield line, sample


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
    if not answer and scores:
        errors.remark(SCORED_WITHOUT_ANSWER, line)
    seconds, cost = number(row.get("latency")), fields_in(row.get("cost_json"))
    return without_blanks(
        {
            "question_id": text_in(row.get("input_id")),
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
    ) | {"answer": answer if answer and answer.strip() else None}


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
    found = {name: [one for one in listed if one is not None] for name, listed in by_metric.items()}
    ordered = sorted(found, key=lambda name: (metric_name(name)[0] != OF_CONTEXTS, name))
    given = next((found[name] for name in ordered if found[name]), None)
    if given is None:
        return None
    errors.remark(ORDER, line)
    documents = [text for one in given for text in (one if isinstance(one, list) else [one])]
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
