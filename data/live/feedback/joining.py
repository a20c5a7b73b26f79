"""Feedback and the calls that it is about: joined by the trace, else by user, question and time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ragtriage.data.ab.reading import DAY
from ragtriage.data.live.calls import CallFacts, Calls, Feedback, put_feedback
from ragtriage.data.live.feedback.records import SYSTEM, Answer, answers_of
from ragtriage.data.live.feedback.results import RELEASE, FeedbackRows

FARTHEST = DAY  # seconds between a call and an answer that is joined by its question
EVER = 1e15  # seconds since 1970


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


_AMBIGUOUS, _UNJOINED = -2, -1


def store_feedback(calls: Calls, answers: Sequence[Answer]) -> Stored:
    """Store answers in a project's live traffic; those that are there already change nothing."""
    before = {record.feedback_id for record in stored_records(calls)}
    with calls.changing() as connection:
        put_feedback(connection, [record for answer in answers for record in answer.records])
    new = sum(any(record.feedback_id not in before for record in answer.records) for answer in answers)
    facts = calls.facts(0.0, EVER)
    return Stored(len(answers), new, _counted(answers, _places(answers, facts)))


def stored_records(calls: Calls, trace_ids: Collection[str] | None = None) -> list[Feedback]:
    """Return the records of feedback in order of time; those of some traces, or all."""
    records = calls.feedback(0.0, EVER)
    return records if trace_ids is None else [record for record in records if record.trace_id in trace_ids]


def feedback_of(calls: Calls, trace_ids: Collection[str]) -> dict[str, dict[str, float | str]]:
    """Return what users said of some calls: trace -> name -> value; of two answers of a name the later one.

    Calls without feedback are left out. What is joined by user and question counts, too.
    """
    answers = answers_of(stored_records(calls))
    facts = calls.facts(0.0, EVER) if answers else None
    found: dict[str, dict[str, float | str]] = {}
    if facts is None:
        return found
    for answer, place in zip(answers, _places(answers, facts), strict=True):
        if place >= 0 and facts.trace_id[place] in trace_ids:
            found.setdefault(facts.trace_id[place], {}).update(answer.values)
    return found


def rows_of_calls(calls: Calls) -> tuple[FeedbackRows, Joined]:
    """Return every call with what its users said, and how the answers were joined.

    Of two answers of one user to one call, values of the later one count.
    """
    facts = calls.facts(0.0, EVER)
    answers = answers_of(stored_records(calls))
    places = _places(answers, facts)
    said: dict[tuple[int, str], Answer] = {}
    alone: list[Answer] = []
    for answer, place in zip(answers, places, strict=True):
        if place < 0:
            alone.append(answer)
            continue
        key = place, answer.user_id or facts.user_id[place]
        earlier = said.get(key)
        said[key] = answer if earlier is None else _merged(earlier, answer)
    silent = sorted(set(range(len(facts.trace_id))) - {place for place, _ in said})
    rows: list[tuple[int, str, Answer | None]] = [
        *((place, user, answer) for (place, user), answer in said.items()),
        *((place, facts.user_id[place], None) for place in silent),
        *((_UNJOINED, answer.user_id, answer) for answer in alone),
    ]
    return _rows(rows, facts), _counted(answers, places)


def _merged(earlier: Answer, later: Answer) -> Answer:
    values = {**earlier.values, **later.values}
    return Answer(later.feedback_id, later.trace_id, later.user_id, later.time, "", later.system_type, values)


def _rows(rows: Sequence[tuple[int, str, Answer | None]], facts: CallFacts) -> FeedbackRows:
    values: list[Mapping[str, float | str]] = [
        {} if answer is None else answer.values for _, _, answer in rows
    ]
    names = dict.fromkeys(name for row in values for name in row)
    times = [
        facts.time[place] if place >= 0 else np.nan if answer is None or answer.time is None else answer.time
        for place, _, answer in rows
    ]
    return FeedbackRows(
        call=np.array([place for place, _, _ in rows], dtype=np.int64),
        users=[user for _, user, _ in rows],
        times=np.array(times, dtype=np.float64),
        cells={name: [row.get(name) for row in values] for name in names},
        groups={
            RELEASE: [facts.release[place] if place >= 0 else "" for place, _, _ in rows],
            SYSTEM: ["" if answer is None else answer.system_type for _, _, answer in rows],
        },
        calls=True,
    )


def _counted(answers: Sequence[Answer], places: Sequence[int]) -> Joined:
    traced = sum(place >= 0 and bool(answer.trace_id) for answer, place in zip(answers, places, strict=True))
    joined = sum(place >= 0 for place in places)
    return Joined(
        traced, joined - traced, sum(place == _AMBIGUOUS for place in places), places.count(_UNJOINED)
    )


def _places(answers: Sequence[Answer], facts: CallFacts) -> list[int]:
    """Return the call that each answer is about, as an index; _AMBIGUOUS or _UNJOINED for none."""
    traces = {trace: place for place, trace in enumerate(facts.trace_id)}
    asking = {_asked(answer.user_id, answer.question) for answer in answers if not answer.trace_id}
    asked: dict[tuple[str, str], list[int]] = {}
    for place, (user, question) in enumerate(zip(facts.user_id, facts.question, strict=True)):
        if user and question and (key := _asked(user, question)) in asking:
            asked.setdefault(key, []).append(place)
    return [
        traces.get(_trace(answer.trace_id), _UNJOINED)
        if answer.trace_id
        else _nearest(answer.time, asked.get(_asked(answer.user_id, answer.question), ()), facts)
        for answer in answers
    ]


def _trace(trace_id: str) -> str:
    """Return the id of a trace as OpenTelemetry writes it: 32 digits, however they are grouped."""
    plain = trace_id.lower().removeprefix("0x").replace("-", "")
    return plain if len(plain) == 32 else trace_id


def _asked(user: str, question: str) -> tuple[str, str]:
    return user, " ".join(question.casefold().split())


def _nearest(time: float | None, places: Iterable[int], facts: CallFacts) -> int:
    candidates = list(places)
    if time is None or len(candidates) < 2:
        near = (
            candidates
            if time is None
            else [at for at in candidates if abs(facts.time[at] - time) <= FARTHEST]
        )
        return near[0] if len(near) == 1 else _AMBIGUOUS if near else _UNJOINED
    distances = sorted((abs(float(facts.time[at]) - time), at) for at in candidates)
    if distances[0][0] > FARTHEST:
        return _UNJOINED
    return _AMBIGUOUS if distances[0][0] == distances[1][0] else distances[0][1]
