"""Feedback of users: thumbs, stars, surveys and comments, checked in one place whichever way they come."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from time import time as now
from typing import Any

from ragtriage.data.ab.measures import NO, YES
from ragtriage.data.ab.reading import TIME_NAMES, USER_NAMES
from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import plain_name
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.importers.parsing.values import nanoseconds, number
from ragtriage.data.live.calls import Feedback
from ragtriage.data.store.sample_models import is_unicode

IDS = ("feedback_id", "response_id", "id")
TRACES = ("trace_id", "traceid", "trace")
QUESTIONS = ("query", "question")
SYSTEMS = ("system_type",)
SPECIAL = (IDS, TRACES, USER_NAMES, TIME_NAMES, QUESTIONS, SYSTEMS)
WHOLE_SCALES: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("satisfaction_score", "satisfaction", "csat", "stars"), (1, 5)),
    **dict.fromkeys(("nps_score", "nps"), (0, 10)),
}
LOW = {  # name -> the highest value with which a user says that an answer was bad
    **dict.fromkeys(("thumb", "thumbs"), 0),
    **dict.fromkeys(("satisfaction_score", "satisfaction", "csat", "stars"), 2),
}
_LOWS = (f"(name = '{name}' AND value <= {low})" for name, low in LOW.items())
DISLIKES = f"({' OR '.join(_LOWS)})"  # of rows of feedback, in SQL
YES_NO = ("thumb", "thumbs", "task_completed", "completed")
DURATIONS = ("response_time", "response_time_s", "response_time_ms", "latency", "latency_s", "latency_ms")
QUERY, SYSTEM = "query", "system_type"  # names of the records that hold these of an answer
OWN_NAMES = (QUERY, SYSTEM)
MOST_ANSWERS = 10_000  # of one request
MOST_VALUES = 100  # of one answer
LONGEST_ID, LONGEST_NAME, LONGEST_TEXT = 200, 64, 10_000
ANSWER = "an object such as {trace_id, user_id, thumb: up or down, comment}, or a list of them"
EXAMPLE = "a value such as thumb, stars, satisfaction_score, task_completed, nps_score or comment"


@dataclass(frozen=True)
class Answer:
    """What one user said at one time."""

    feedback_id: str  # as it was given, else a hash of the content
    trace_id: str = ""  # of the call that it is about; "" where that is not known
    user_id: str = ""
    time: float | None = None  # seconds since 1970
    question: str = ""
    system_type: str = ""
    values: Mapping[str, float | str] = field(default_factory=dict)  # name -> number, or text

    @property
    def records(self) -> list[Feedback]:
        """Its rows in the table of feedback: one for each value, and for the question and the system."""
        own = {QUERY: self.question, SYSTEM: self.system_type}
        values = {**self.values, **{name: text for name, text in own.items() if text}}
        return [
            Feedback(
                f"{self.feedback_id}/{name}",
                self.trace_id,
                self.user_id,
                self.time or 0.0,
                name,
                None if isinstance(value, str) else float(value),
                value if isinstance(value, str) else None,
            )
            for name, value in values.items()
        ]

    def redacted(self, redact: Callable[[str], str], of_user: Callable[[str], str] = str) -> Answer:
        """Return the answer with its texts as one function leaves them, and its user as another does."""
        values = {
            name: redact(value) if isinstance(value, str) else value for name, value in self.values.items()
        }
        user_id = of_user(self.user_id) if self.user_id else ""
        return replace(self, question=redact(self.question), user_id=user_id, values=values)


def feedback_records(body: object, received: float | None = None) -> list[Answer]:
    """Return the answers in the body of a request: one object, or a list of them.

    Args:
        body: the values of the JSON.
        received: seconds since 1970, the time of answers that name none; now when left out.

    Raises:
        InputError: one of them cannot be used; nothing of the body is then.
    """
    rows = body if isinstance(body, list) else [body]
    errors = ValidationErrors("feedback")
    if not rows or len(rows) > MOST_ANSWERS:
        errors.add(None, "", f"holds {len(rows):,} answers", f"1 to {MOST_ANSWERS:,} in one request")
    numbered = ((at if len(rows) > 1 else None, row) for at, row in enumerate(rows[:MOST_ANSWERS], 1))
    answers = list(_answers(numbered, errors, needs_value=True))
    errors.raise_if_any()
    moment = now() if received is None else received
    return [answer if answer.time is not None else _at(answer, moment) for answer in answers]


def _at(answer: Answer, moment: float) -> Answer:
    """Return an answer with the time of its receipt; without a trace, two alike at two times are two."""
    if answer.trace_id or not answer.feedback_id.startswith(_HASHED):
        return replace(answer, time=moment)
    return replace(answer, time=moment, feedback_id=_hashed((answer.feedback_id, moment)))


def read_feedback(path: str | Path) -> list[Answer]:
    """Return the answers in a file (CSV, TSV, JSONL, JSON, Parquet, XLSX) with a row for each, in its order.

    A row that holds no more than a user and a time counts as a visit.

    Raises:
        InputError: it cannot be read, or everything in it that cannot be used.
    """
    file = InputFile.from_path(path)
    errors = ValidationErrors(file.name)
    table = open_table(file, errors)
    answers = list(_answers(table.rows(), errors, needs_value=False))
    errors.raise_if_any()
    if not answers:
        raise file.error("holds no row", "a table with a row for each answer")
    return answers


def as_json(answers: Iterable[Answer]) -> list[dict[str, Any]]:
    """Return answers as JSON values, for the journal."""
    return [asdict(answer) for answer in answers]


def answers_from(payload: Iterable[Mapping[str, Any]]) -> list[Answer]:
    """Return the answers that `as_json` returned the values of."""
    return [Answer(**{**entry, "trace_id": plain_trace(entry["trace_id"])}) for entry in payload]


def answers_of(records: Iterable[Feedback]) -> list[Answer]:
    """Return the answers whose records these are, in the order of their first records."""
    parts: dict[str, list[Feedback]] = {}
    for record in records:
        parts.setdefault(record.feedback_id.removesuffix(f"/{record.name}"), []).append(record)
    answers = []
    for feedback_id, rows in parts.items():
        values = {row.name: row.value if row.text is None else row.text for row in rows}
        question, system = (str(values.pop(name, "") or "") for name in OWN_NAMES)
        given = {name: value for name, value in values.items() if value is not None}
        first = rows[0]
        time = first.time or None
        trace = plain_trace(first.trace_id)
        answers.append(Answer(feedback_id, trace, first.user_id, time, question, system, given))
    return answers


def plain_trace(trace_id: str) -> str:
    """Return the id of a trace as OpenTelemetry writes it: 32 digits, however they were grouped."""
    plain = trace_id.lower().removeprefix("0x").replace("-", "")
    return plain if len(plain) == 32 else trace_id


_plain = lru_cache(4096)(plain_name)  # asked for every cell
_HASHED = "h-"


_CONTENT = tuple(each.name for each in fields(Answer))


def _hashed(content: object) -> str:
    text = json.dumps(content, ensure_ascii=True, sort_keys=True, default=str)
    return _HASHED + hashlib.sha256(text.encode()).hexdigest()[:32]


def _answers(
    rows: Iterable[tuple[int | None, object]], errors: ValidationErrors, *, needs_value: bool
) -> Iterator[Answer]:
    """Yield the answers of rows; what cannot be used is added to the errors."""
    seen: Counter[str] = Counter()
    given: set[str] = set()
    for line, row in rows:
        if not isinstance(row, Mapping):
            errors.add(line, "", f"is {type_name(row)}", ANSWER)
            continue
        before = errors.total
        answer = _answer(row, line, errors)
        if needs_value and not answer.values and errors.total == before:
            errors.add(line, "", "holds no feedback", EXAMPLE)
        if answer.feedback_id in given:
            errors.add(
                line, "feedback_id", f"{answer.feedback_id!r} comes twice", "an id of its own for each answer"
            )
        elif answer.feedback_id:
            given.add(answer.feedback_id)
        else:  # the second of two rows that are alike is another answer, and the same one in the next reading
            content = _hashed({name: getattr(answer, name) for name in _CONTENT})
            seen[content] += 1
            answer = replace(
                answer, feedback_id=content if seen[content] == 1 else _hashed((content, seen[content]))
            )
        yield answer


def _answer(row: Mapping[Any, object], line: int | None, errors: ValidationErrors) -> Answer:
    """Return the answer of a row; its id is "" where none is given."""
    plain = {_plain(str(name)): str(name) for name in reversed(list(row))}
    columns = [next((plain[name] for name in names if name in plain), None) for names in SPECIAL]
    cells = [None if column is None else row[column] for column in columns]
    feedback_id, trace_id, user_id, question, system = (
        _name_in(cells[at], columns[at] or "", line, errors, LONGEST_TEXT if at in (2, 4) else LONGEST_ID)
        for at in (0, 1, 2, 4, 5)
    )
    time = _time_in(cells[3], columns[3] or "", line, errors)
    values: dict[str, float | str] = {}
    for name, cell in _pairs(row, plain).items():
        if name not in columns and (value := _value_in(str(name), cell, line, errors)) is not None:
            values[_key(str(name))] = value
    if len(values) > MOST_VALUES:
        errors.add(line, "", f"holds {len(values):,} values", f"at most {MOST_VALUES}")
    return Answer(feedback_id, plain_trace(trace_id), user_id, time, question, system, values)


def _pairs(row: Mapping[Any, object], plain: Mapping[str, str]) -> Mapping[Any, object]:
    """Return the values by name; a row of one value may name it in a field of its own."""
    if not {"name", "value"} <= plain.keys() or not isinstance(row[plain["name"]], str):
        return row
    rest = {name: cell for name, cell in row.items() if name not in (plain["name"], plain["value"])}
    return {**rest, row[plain["name"]]: row[plain["value"]]}


def _name_in(cell: object, column: str, line: int | None, errors: ValidationErrors, longest: int) -> str:
    """Return an id or a text; "" where there is none."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    if cell is None or cell != cell:
        return ""
    text = str(cell).strip() if isinstance(cell, str | int) and not isinstance(cell, bool) else None
    if text is None or len(text) > longest or not is_unicode(text):
        what = f"is {type_name(cell)}" if text is None else f"has {len(text):,} characters"
        errors.add(line, column, what, f"text of at most {longest:,} characters")
        return ""
    return text


def _time_in(cell: object, column: str, line: int | None, errors: ValidationErrors) -> float | None:
    if cell is None or cell == "" or cell != cell:
        return None
    moment = nanoseconds(cell)
    if moment is None:
        errors.add(
            line, column, f"{str(cell)[:40]!r}", "ISO text such as 2026-05-01T09:00, or seconds since 1970"
        )
        return None
    return moment / 1e9


def _key(name: str) -> str:
    """Return the name that a value is kept under: that of a known one in its usual spelling."""
    plain = _plain(name)
    return plain if plain in WHOLE_SCALES or plain in YES_NO or plain in DURATIONS else name.strip()


def _value_in(name: str, cell: object, line: int | None, errors: ValidationErrors) -> float | str | None:
    """Return a value as a number or as text; None for a blank."""
    if cell is None or cell != cell or (isinstance(cell, str) and not cell.strip()):
        return None
    if not name.strip() or len(name) > LONGEST_NAME or not is_unicode(name) or _key(name) in OWN_NAMES:
        errors.add(
            line, name[:LONGEST_NAME], "is no name of a value", f"a name of 1 to {LONGEST_NAME} characters"
        )
        return None
    value, accepted = _read(_plain(name), cell)
    if accepted:
        errors.add(line, name, f"{cell!r}"[:60], accepted)
    return value


def _read(name: str, cell: object) -> tuple[float | str | None, str]:
    """Return the value of a cell that is not blank, and what would be accepted where it is none."""
    text = cell.strip() if isinstance(cell, str) else ""
    amount = number(text or cell)
    if name in WHOLE_SCALES:
        low, high = WHOLE_SCALES[name]
        fits = amount is not None and low <= amount <= high and amount == int(amount)
        return (amount, "") if fits else (None, f"a whole number from {low} to {high}")
    if name in YES_NO:
        said = _said(cell, text.strip(" .!").lower(), amount)
        return (said, "") if said is not None else (None, "yes or no, true or false, up or down, 1 or 0")
    if name in DURATIONS:
        return (amount, "") if amount is not None and amount >= 0 else (None, "a number from 0 up")
    if isinstance(cell, str):
        fits = len(text) <= LONGEST_TEXT and is_unicode(text)
        return (text, "") if fits else (None, f"text of at most {LONGEST_TEXT:,} characters")
    if isinstance(cell, bool):
        return float(cell), ""
    return (amount, "") if amount is not None else (None, "a number, text, true or false")


def _said(cell: object, word: str, amount: float | None) -> float | None:
    """Return 1 for a yes and 0 for a no; -1 is a thumb down, too."""
    if isinstance(cell, bool):
        return float(cell)
    if amount is not None:
        return {1.0: 1.0, 0.0: 0.0, -1.0: 0.0}.get(amount)
    return 1.0 if word in YES else 0.0 if word in NO else None
