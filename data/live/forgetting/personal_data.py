"""What a project's live traffic has of one user: which traces, in the journal and in the database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import ModuleType

from ragtriage.data.datasets.regressions import regression_id
from ragtriage.data.errors import DataError
from ragtriage.data.live.calls import JOURNAL, Calls, name_list
from ragtriage.data.live.feedback.records import plain_trace
from ragtriage.data.live.journal import Kind, read_journal, rewrite
from ragtriage.data.live.redacting import SALT, redactor_of

_BY_TRACE = "WHERE trace_id IN (SELECT value FROM json_each(:traces))"
_BY_USER = (
    "WHERE trace_id IN (SELECT value FROM json_each(:traces))"
    " OR user_id IN (SELECT value FROM json_each(:ids))"
)
# table -> which of its rows are a user's
_OF_PERSON = {"calls": _BY_USER, "feedback": _BY_USER, "spans": _BY_TRACE, "traces": _BY_TRACE}


@dataclass
class Person:
    """One user, as everything that is theirs is known by."""

    ids: set[str]  # as it was given, and as it is stored where users are hashed
    traces: set[str] = field(default_factory=set)  # hexadecimal
    questions: set[str] = field(default_factory=set)  # that nobody else asked in the same words

    @property
    def items(self) -> set[str]:
        """The ids that these questions have in datasets."""
        return {regression_id(question) for question in self.questions}

    @property
    def names(self) -> set[str]:
        """The ids of the user and of the traces."""
        return self.ids | self.traces


def strings_in(value: object) -> Iterator[str]:
    """Yield the texts in a value, those in texts of JSON too."""
    if isinstance(value, str):
        yield value
        if value[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                yield from strings_in(json.loads(value))
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from strings_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from strings_in(each)


def find_person(person: Person, calls: Calls) -> None:
    """Add what a project knows of a user: the id that it is stored under, the traces, the questions."""
    folder = calls.path.parent
    if (folder / SALT).exists():
        redactor = redactor_of(folder)
        person.ids |= {redactor.user(user_id) for user_id in list(person.ids)}
    person.traces |= _traces_in_journal(calls, person.ids)
    if not calls.path.exists():  # a journal that nobody has read yet
        return
    with calls.open() as connection:
        person.traces |= _traces_of(connection, person.ids)
        rows = connection.execute(
            "SELECT trace_id, question FROM calls WHERE question IN"
            " (SELECT question FROM calls WHERE trace_id IN (SELECT value FROM json_each(?)))",
            (name_list(person.traces),),
        ).fetchall()
    mine = {question for trace, question in rows if trace in person.traces}
    person.questions |= mine - {question for trace, question in rows if trace not in person.traces}


def _traces_of(connection: sqlite3.Connection, ids: Collection[str]) -> set[str]:
    """Return the traces of a user's calls, feedback and spans."""
    listed = (name_list(ids),)
    of_calls = "SELECT trace_id FROM calls WHERE user_id IN (SELECT value FROM json_each(?1))"
    of_feedback = (  # of a call that nobody else made
        "SELECT feedback.trace_id FROM feedback LEFT JOIN calls USING (trace_id)"
        " WHERE feedback.trace_id != '' AND feedback.user_id IN (SELECT value FROM json_each(?1))"
        " AND ifnull(calls.user_id, '') = ''"
    )
    traces = {row[0] for row in connection.execute(f"{of_calls} UNION {of_feedback}", listed)}
    spans = connection.execute("SELECT trace_id, span_id, service, release, content FROM spans")
    for row in spans:
        if _may_name(row[4], ids) and _messages().user_of(row) in ids:
            traces.add(row[0])
    return traces


def _may_name(content: bytes, ids: Collection[str]) -> bool:
    """Return whether a message may name a user; a number is not written as text there."""
    return any(user_id.isdecimal() or user_id.encode() in content for user_id in ids)


def _traces_in_journal(calls: Calls, ids: Collection[str]) -> set[str]:
    """Return the traces in which a span names the user."""
    traces: set[str] = set()
    for _, kind, payload in read_journal(calls.path.parent / JOURNAL, skipped=lambda _: None):
        if kind == Kind.TRACES and _may_name(payload, ids):
            traces |= _messages().traces_naming(payload, ids)
    return traces


def _messages() -> ModuleType:
    """Return what reads the messages of OTLP, which not every installation has.

    Raises:
        DataError: this one has not.
    """
    try:
        from ragtriage.data.live.forgetting import span_messages
    except ImportError as error:
        needed = 'the journal needs the messages of OTLP; accepted: pip install "ragtriage[live]"'
        raise DataError(needed) from error
    return span_messages


def forget_in_journal(person: Person, calls: Calls, *, dry: bool) -> int:
    """Take the user's spans and feedback out of a journal that is held; return how many records have any."""
    folder = calls.path.parent / JOURNAL
    if not folder.exists():
        return 0
    without = _without(person)
    if dry:
        records = read_journal(folder, skipped=lambda _: None)
        return sum(without(kind, payload) != payload for _, kind, payload in records)
    return rewrite(folder, without)


def _without(person: Person) -> Callable[[Kind, bytes], bytes]:
    """Return what takes a user out of the payload of a record."""
    traces = {bytes.fromhex(trace) for trace in person.traces if len(trace) == 32}

    def changed(kind: Kind, payload: bytes) -> bytes:
        try:
            if kind == Kind.FEEDBACK:
                return _without_answers(payload, person)
            without: bytes = _messages().without_spans(payload, traces, person.ids)
        except (ValueError, TypeError, KeyError):  # nobody can read what it holds
            named = any(name.encode() in payload for name in person.names)
            return payload if not named else b"[]" if kind == Kind.FEEDBACK else b""
        return without

    return changed


def _without_answers(payload: bytes, person: Person) -> bytes:
    answers = json.loads(payload)
    left = [it for it in answers if not is_of(person, it["user_id"], plain_trace(it["trace_id"]))]
    return payload if len(left) == len(answers) else json.dumps(left).encode()


def is_of(person: Person, user_id: str, trace_id: str) -> bool:
    """Return whether something with a user and a trace belongs to a person."""
    return user_id in person.ids or trace_id in person.traces


def forget_calls(person: Person, calls: Calls, *, dry: bool) -> dict[str, int]:
    """Delete the user's calls, feedback and waiting spans; return how many there are by table."""
    values = {"traces": name_list(person.traces), "ids": name_list(person.ids)}
    found: dict[str, int] = {}
    with calls.open() if dry else calls.changing() as connection:
        for table, which in _OF_PERSON.items():
            (found[table],) = connection.execute(f"SELECT count(*) FROM {table} {which}", values).fetchone()  # noqa: S608
            if not dry:
                connection.execute(f"DELETE FROM {table} {which}", values)  # noqa: S608 -- constant text
    return found


def move_windows(calls: Calls, old: str, new: str | None) -> None:
    """Note that the run of a window is another one, or none any more."""
    with calls.changing() as connection:
        if new is None:
            connection.execute("DELETE FROM windows WHERE run_id = ?", (old,))
        else:
            connection.execute("UPDATE windows SET run_id = ? WHERE run_id = ?", (new, old))
