"""Feedback and the calls that it is about: joined by the trace, else by user, question and time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from time import time as now
from typing import Any

import numpy as np

from ragtriage.data.ab.reading import DAY
from ragtriage.data.live.calls import CallFacts, Calls, name_list, put_feedback
from ragtriage.data.live.feedback.records import SYSTEM, Answer, answers_of
from ragtriage.data.live.feedback.results import RELEASE, FeedbackRows, cells_of, times_of

FARTHEST = DAY  # seconds between a call and an answer that is joined by its question
EVER = 1e15  # seconds since 1970
NO_CALL = -1  # in the place of a call


@dataclass(frozen=True)
class Joined:
    """How many answers were joined to a call, and how."""

    by_trace: int
    by_question: int  # by user and question, the call nearest in time
    ambiguous: int  # two calls are as near, or no time says which it was
    unjoined: int

    @property
    def answers(self) -> int:
        """All answers."""
        return self.by_trace + self.by_question + self.ambiguous + self.unjoined

    def to_dict(self) -> dict[str, int]:
        """Return the counts as JSON values."""
        return {**asdict(self), "answers": self.answers}


@dataclass(frozen=True)
class Stored:
    """What became of answers that were stored in a project."""

    answers: int
    new: int  # answers that were not there before
    joined: Joined  # of these answers


_AMBIGUOUS, _UNJOINED = "?", ""  # in the place of a trace


def store_feedback(calls: Calls, answers: Sequence[Answer]) -> Stored:
    """Store answers in a project's live traffic; those that are there already change nothing.

    An answer without a time is kept with that of the first time it was stored.
    """
    moment = now()
    timed = [answer if answer.time is not None else replace(answer, time=moment) for answer in answers]
    with calls.changing() as connection:
        fresh = put_feedback(connection, [record for answer in timed for record in answer.records])
    new = sum(any(record.feedback_id in fresh for record in answer.records) for answer in answers)
    return Stored(len(answers), new, _counted(answers, _traces_of(calls, answers)))


def feedback_of(calls: Calls, first: float = 0.0, last: float = EVER) -> dict[str, dict[str, float | str]]:
    """Return what users said of the calls of a time: trace -> name -> value; of two of a name the later one.

    Calls without feedback are left out. What is joined by user and question counts, too.
    """
    answers = answers_of(calls.feedback_on(first, last))
    found: dict[str, dict[str, float | str]] = {}
    for answer, trace in zip(answers, _traces_of(calls, answers), strict=True):
        if trace not in (_AMBIGUOUS, _UNJOINED):
            found.setdefault(trace, {}).update(answer.values)
    return found


def rows_of_calls(calls: Calls) -> tuple[FeedbackRows, Joined]:
    """Return every call with what its users said, and how the answers were joined.

    Of two answers of one user to one call, values of the later one count.
    """
    answers = answers_of(calls.feedback(0.0, EVER))
    traces = _traces_of(calls, answers)
    facts = calls.facts(0.0, EVER)
    places = {trace: place for place, trace in enumerate(facts.trace_id)}
    said: dict[tuple[int, str], Answer] = {}
    alone: list[Answer] = []
    for answer, trace in zip(answers, traces, strict=True):
        place = places.get(trace)
        if place is None:
            alone.append(answer)
            continue
        key = place, answer.user_id or facts.user_id[place]
        earlier = said.get(key)
        said[key] = answer if earlier is None else _merged(earlier, answer)
    silent = sorted(set(range(len(facts.trace_id))) - {place for place, _ in said})
    rows: list[tuple[int, str, Answer | None]] = [
        *((place, user, answer) for (place, user), answer in said.items()),
        *((place, facts.user_id[place], None) for place in silent),
        *((NO_CALL, answer.user_id, answer) for answer in alone),
    ]
    return _rows(rows, facts), _counted(answers, traces)


def _merged(earlier: Answer, later: Answer) -> Answer:
    values = {**earlier.values, **later.values}
    return Answer(later.feedback_id, later.trace_id, later.user_id, later.time, "", later.system_type, values)


def _rows(rows: Sequence[tuple[int, str, Answer | None]], facts: CallFacts) -> FeedbackRows:
    times = [
        facts.time[place] if place >= 0 else None if answer is None else answer.time
        for place, _, answer in rows
    ]
    return FeedbackRows(
        call=np.array([place for place, _, _ in rows], dtype=np.int64),
        users=[user for _, user, _ in rows],
        times=times_of(times),
        cells=cells_of([{} if answer is None else answer.values for _, _, answer in rows]),
        groups={
            RELEASE: [facts.release[place] if place >= 0 else "" for place, _, _ in rows],
            SYSTEM: ["" if answer is None else answer.system_type for _, _, answer in rows],
        },
        calls=True,
    )


def _counted(answers: Sequence[Answer], traces: Sequence[str]) -> Joined:
    ways = Counter(
        trace if trace in (_AMBIGUOUS, _UNJOINED) else "by trace" if answer.trace_id else "by question"
        for answer, trace in zip(answers, traces, strict=True)
    )
    return Joined(ways["by trace"], ways["by question"], ways[_AMBIGUOUS], ways[_UNJOINED])


def _traces_of(calls: Calls, answers: Sequence[Answer]) -> list[str]:
    """Return the trace of the call that each answer is about; _AMBIGUOUS or _UNJOINED for none."""
    named = name_list({answer.trace_id for answer in answers if answer.trace_id})
    users = name_list({answer.user_id for answer in answers if answer.user_id and not answer.trace_id})
    of_traces = "SELECT trace_id FROM calls WHERE trace_id IN (SELECT value FROM json_each(?))"
    of_users = (
        "SELECT user_id, question, time, trace_id FROM calls WHERE question IS NOT NULL AND user_id != ''"
        " AND user_id IN (SELECT value FROM json_each(?))"
    )
    asked: dict[tuple[str, str], list[tuple[float, str]]] = {}
    with calls.open() as connection:
        known = {trace for (trace,) in connection.execute(of_traces, (named,))}
        for user, question, time, trace in connection.execute(of_users, (users,)):
            asked.setdefault(_asked(user, question), []).append((time, trace))
    found = []
    for answer in answers:
        trace = answer.trace_id
        if not trace:
            trace = _nearest(answer.time, asked.get(_asked(answer.user_id, answer.question), ()))
        found.append(trace if trace in known or not answer.trace_id else _UNJOINED)
    return found


def _asked(user: str, question: str) -> tuple[str, str]:
    return user, " ".join(question.casefold().split())


def _nearest(time: float | None, asked: Sequence[tuple[float, str]]) -> str:
    """Return the trace of the call nearest in time; without a time, that of the only call."""
    if time is None:
        return asked[0][1] if len(asked) == 1 else _AMBIGUOUS if asked else _UNJOINED
    near = sorted((abs(moment - time), trace) for moment, trace in asked if abs(moment - time) <= FARTHEST)
    if len(near) > 1 and near[0][0] == near[1][0]:
        return _AMBIGUOUS
    return near[0][1] if near else _UNJOINED


def user_ratings(said: Mapping[str, float | str]) -> list[dict[str, Any]]:
    """Return what a user said of a call as human scores of its sample, from 0 to 1."""
    comment = said.get("comment")
    known = {name: said.get(name) for name in _RATED}
    return [
        {
            "annotator": "user",
            "metric": _RATED[name][0],
            "value": (value - _RATED[name][1]) / (_RATED[name][2] - _RATED[name][1]),
            "note": comment if isinstance(comment, str) else None,
        }
        for name, value in known.items()
        if isinstance(value, float)
    ]


# name -> its metric, and the ends of its scale; of two with one metric the first counts
_RATED = {
    "thumb": ("user_feedback", 0, 1),
    "task_completed": ("user_task_completed", 0, 1),
    "satisfaction_score": ("user_satisfaction", 1, 5),
}


def with_feedback(
    calls: Calls, samples: Iterable[dict[str, Any]], first: float, last: float
) -> Iterator[dict[str, Any]]:
    """Yield samples of the calls of a time with what users said as human scores, which are no labels."""
    said = feedback_of(calls, first, last)
    for sample in samples:
        ratings = user_ratings(said.get(sample["trace_id"], {}))
        yield {**sample, "human": [*(sample.get("human") or ()), *ratings]} if ratings else sample
