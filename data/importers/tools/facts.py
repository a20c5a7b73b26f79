"""Facts in the rows of tools: numbers as text, times, categories, the last line of a traceback.

Nothing here raises: a value that cannot be read as what is asked for is None, or empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from ragtriage.data.importers.parsing.cells import CellError, read_score
from ragtriage.data.importers.parsing.payloads import QUESTION_KEYS, decoded, reference_in
from ragtriage.data.importers.spans.values import documents_in, error_line, number

MOST_TAG = 200
ID_KEYS = ("question_id", "qid", "query_id", "questionId")
WORDS = {
    **dict.fromkeys(("good", "pass", "passed", "correct", "positive"), 1.0),
    **dict.fromkeys(("bad", "fail", "failed", "incorrect", "negative"), 0.0),
}
TEXT_KEYS = {"page_content", "text", "passage", "chunk"}
RETRIEVAL = re.compile(r"retriev|search", re.IGNORECASE)


def fields_in(value: object) -> Mapping[str, Any]:
    """Return the object that a value is or that its text reads as; an empty one where it is none."""
    found = decoded(value)
    return found if isinstance(found, Mapping) else {}


def objects_in(value: object) -> list[Mapping[str, Any]]:
    """Return the objects of a list, or of its text; what is no object is left out."""
    found = decoded(value)
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def field_of(row: Mapping[str, Any], *names: str) -> Any:
    """Return the first of some fields that has a value."""
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def text_in(value: object) -> str | None:
    """Return a text or a number as text; None for anything else, and for empty text."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value).strip() or None


def value_in(value: object) -> float | None:
    """Return a score: a number, a truth value, or a word as good, bad, pass, fail; None for another one."""
    if isinstance(value, str) and value.strip().lower() in WORDS:
        return WORDS[value.strip().lower()]
    if isinstance(value, list | dict):
        return None
    try:
        score = read_score(value)
    except (CellError, OverflowError):
        return None
    return float(score) if isinstance(score, bool) else number(score)


def moment(value: object) -> datetime | None:
    """Return a time, naive in UTC, of ISO text or of seconds since 1970."""
    seconds = number(value)
    try:
        if seconds is not None:
            return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
        if not isinstance(value, str):
            return None
        time = datetime.fromisoformat(value.strip())
        return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        return None


def milliseconds_between(start: object, end: object) -> float | None:
    """Return the time between two moments; None where one is missing or they are in the wrong order."""
    begun, ended = moment(start), moment(end)
    if begun is None or ended is None or ended < begun:
        return None
    return round((ended - begun).total_seconds() * 1000, 3)


def last_line(error: object) -> str | None:
    """Return what an error says in a line; None where there is none."""
    if isinstance(error, Mapping):
        error = field_of(error, "message", "error", "exception_type", "traceback") or error
    return error_line(error) if error else None


def question_id_in(*fields: Mapping[str, Any]) -> str | None:
    """Return the id of the question that is named as one in some objects; None where there is none."""
    return next((text for one in fields for key in ID_KEYS if (text := text_in(one.get(key)))), None)


def reference_beside_question(example: object) -> str | None:
    """Return the reference answer of an example that holds its question too; None where it has none.

    An object with one text alone is that text to `reference_in`: neither a question nor its id may be left.
    """
    fields = fields_in(example)
    return reference_in(
        {key: value for key, value in fields.items() if key not in (*QUESTION_KEYS, *ID_KEYS)}
    )


def kind_in(kind: str, name: object, output: object) -> str:
    """Return the kind of a span, a retriever where a step of no telling kind returns passages.

    A list of objects with texts is one of passages, and any list of documents under a name as "retrieve".
    """
    if kind not in ("tool", "chain", "other"):
        return kind
    found = decoded(output)
    listed = found if isinstance(found, list) and found else [None]
    passages = all(
        isinstance(one, Mapping) and TEXT_KEYS & one.keys() and "role" not in one for one in listed
    )
    named = isinstance(name, str) and bool(RETRIEVAL.search(name))
    return "retriever" if passages or (named and documents_in(found) is not None) else kind


def tags_of(*sources: object, but: Iterable[str] = ()) -> dict[str, Any]:
    """Return tags from objects with short plain values, and from lists, where each item is a tag."""
    left_out = {*ID_KEYS, *but}
    return dict(tag for source in sources for tag in _tags(decoded(source)) if tag[0] not in left_out)


def _tags(source: object) -> Iterator[tuple[str, Any]]:
    if isinstance(source, Mapping):
        for key, value in source.items():
            short = isinstance(value, str) and 0 < len(value) <= MOST_TAG
            if short or isinstance(value, bool) or (not isinstance(value, str) and number(value) is not None):
                yield str(key), value
    elif isinstance(source, list):
        yield from ((f"tag_{item}", True) for item in source if isinstance(item, str) and item.strip())


def without_blanks(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record without the fields that have no value."""
    return {name: value for name, value in record.items() if value is not None and value != {}}
