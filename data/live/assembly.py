"""From spans to calls: the spans of a trace wait for each other, then one sample is read of them.

Spans may come late, twice and in any order: they are kept by trace and span, and a trace is read again when
more of it comes, until its spans are given up.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
import pyarrow as pa

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.spans.samples import sample_of_trace
from ragtriage.data.importers.spans.span import Span
from ragtriage.data.live.calls import (
    FUTURE,
    LATE,
    UNREADABLE,
    Call,
    Calls,
    TraceFacts,
    add_to_count,
    call_of,
    name_list,
    put_calls,
)
from ragtriage.data.live.feedback.records import DISLIKES
from ragtriage.data.live.otlp_spans import StoredSpan, read_span
from ragtriage.data.live.policy import Policy
from ragtriage.data.store.parsed_run import normalise
from ragtriage.data.suites.registry import check_problems
from ragtriage.data.text.refusal_detection import refused_answers

NO_CALLS = "traces without a question"  # fact: how many were given up that are no calls
_ODD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
TRACES_AT_ONCE = 500
AHEAD = 3_600.0  # seconds by which the clock of a system may be wrong
_PUT_SPAN = (
    "INSERT OR REPLACE INTO spans (trace_id, span_id, service, release, content) VALUES (?, ?, ?, ?, ?)"
)
_PUT_TRACE = (
    "INSERT INTO traces (trace_id, last_came) VALUES (?, ?)"
    " ON CONFLICT (trace_id) DO UPDATE SET last_came = max(last_came, excluded.last_came), is_read = 0"
)
_GIVEN_UP = (
    "SELECT trace_id FROM calls WHERE trace_id IN (SELECT value FROM json_each(?))"
    " AND trace_id NOT IN (SELECT trace_id FROM traces)"
)
_DISLIKED = (
    "SELECT DISTINCT trace_id FROM feedback WHERE trace_id IN (SELECT value FROM json_each(?))"  # noqa: S608
    f" AND {DISLIKES}"
)


def put_spans(connection: sqlite3.Connection, spans: Sequence[StoredSpan], now: float) -> None:
    """Keep spans until their trace is read; those of a trace that was given up are only counted."""
    traces = name_list({span.trace_id for span in spans})
    given_up = {row[0] for row in connection.execute(_GIVEN_UP, (traces,))}
    fresh = [span for span in spans if span.trace_id not in given_up]
    if len(fresh) < len(spans):
        add_to_count(connection, LATE, len(spans) - len(fresh))
    rows = [(span.trace_id, span.span_id, span.service, span.release, span.content) for span in fresh]
    connection.executemany(_PUT_SPAN, rows)
    connection.executemany(_PUT_TRACE, [(trace, now) for trace in {span.trace_id for span in fresh}])


def read_traces(calls: Calls, policy: Policy, now: float, *, whole: bool = False) -> int:
    """Turn the traces that no span came to for a while into calls, and return how many were read.

    Args:
        calls: the live traffic.
        policy: says how long to wait, and what is kept.
        now: seconds since 1970.
        whole: whether all traces are whole, as those of a file are; nothing is waited for.
    """
    before = float("inf") if whole else now - policy.windows.settle
    total = 0
    while True:
        with calls.changing() as connection:
            query = (
                "SELECT trace_id FROM traces WHERE NOT is_read AND last_came < ? ORDER BY last_came LIMIT ?"
            )
            ready = [row[0] for row in connection.execute(query, (before, TRACES_AT_ONCE))]
            found = _calls_of(connection, ready, policy, now)
            put_calls(connection, (replace(call, came=now) for call in found))
            connection.executemany(
                "UPDATE traces SET is_read = 1 WHERE trace_id = ?", [(it,) for it in ready]
            )
        total += len(ready)
        if len(ready) < TRACES_AT_ONCE:
            return total


def give_up_spans(calls: Calls, policy: Policy, now: float) -> None:
    """Delete the spans of traces that were read and that no span came to for long."""
    gone = "SELECT trace_id FROM traces WHERE is_read AND last_came < ?"
    before = (now - policy.windows.late,)
    others = f"SELECT count(*) FROM ({gone} EXCEPT SELECT trace_id FROM calls)"  # noqa: S608 -- constant text
    with calls.changing() as connection:
        (more,) = connection.execute(others, before).fetchone()
        if more:
            add_to_count(connection, NO_CALLS, more)
        connection.execute(f"DELETE FROM spans WHERE trace_id IN ({gone})", before)  # noqa: S608 -- constant text
        connection.execute("DELETE FROM traces WHERE is_read AND last_came < ?", before)


def _calls_of(
    connection: sqlite3.Connection, trace_ids: Sequence[str], policy: Policy, now: float
) -> list[Call]:
    """Return the calls of traces; a trace without a question is none."""
    disliked = {row[0] for row in connection.execute(_DISLIKED, (name_list(trace_ids),))}
    asked: list[tuple[str, dict[str, Any], TraceFacts]] = []
    for trace in trace_ids:
        try:
            sample, facts = _sample_of(connection, trace, now)
            usable = sample is None or _is_usable(sample)
        except _ODD:  # a trace may hold anything, and the others must not wait for it
            sample, usable = None, False
        if not usable:
            add_to_count(connection, UNREADABLE, 1)
        elif sample is not None:
            asked.append((trace, sample, facts))
    answers = pa.array([sample.get("answer") for _, sample, _ in asked], pa.string())
    refused = refused_answers(answers).tolist()
    return [
        call_of(trace, sample, facts, refused=refused[place], disliked=trace in disliked, policy=policy)
        for place, (trace, sample, facts) in enumerate(asked)
    ]


def _is_usable(sample: Mapping[str, Any]) -> bool:
    """Return whether a sample can be part of a run, so that one that cannot does not keep its window back."""
    orjson.dumps(sample, default=str)  # raises where JSON has no such value
    known = normalise(sample, 1, ValidationErrors(""))
    return known is not None and not (known["checks"] and any(check_problems(known)))


def _sample_of(
    connection: sqlite3.Connection, trace_id: str, now: float
) -> tuple[dict[str, Any] | None, TraceFacts]:
    """Return the sample of a trace, None without a question, and the facts that its spans say."""
    query = "SELECT trace_id, span_id, service, release, content FROM spans WHERE trace_id = ?"
    stored = [StoredSpan(*row) for row in connection.execute(query, (trace_id,))]
    spans = [read_span(span) for span in stored]
    version = next((span.release for span in stored if span.release), "")
    starts = [span.start for span in spans if span.start is not None]
    began = _time(connection, trace_id, min(starts) / 1e9 if starts else now, now)
    facts = TraceFacts(began, _first(spans, "user_id"), _first(spans, "release") or version)
    return sample_of_trace(spans), facts


def _time(connection: sqlite3.Connection, trace_id: str, began: float, now: float) -> float:
    """Return when a trace began; its arrival where that is in the future, which is counted."""
    if began <= now + AHEAD:
        return began
    known = connection.execute("SELECT time FROM calls WHERE trace_id = ?", (trace_id,)).fetchone()
    if known is not None and known[0] <= now + AHEAD:  # more of it came: it stays in its window
        return float(known[0])
    add_to_count(connection, FUTURE, 1)
    return now


def _first(spans: Iterable[Span], name: str) -> str:
    """Return what the spans say of a fact, a root before the others."""
    roots_first = sorted(spans, key=lambda span: bool(span.parent_id))
    return next((str(span.attributes[name]) for span in roots_first if name in span.attributes), "")
