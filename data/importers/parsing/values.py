"""Values in rows and spans of any tool: times, numbers, texts, errors, tags, ranked documents.

Nothing here raises: a value that cannot be read as what is asked for is None, or empty.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ragtriage.data.importers.parsing.cells import CellError, read_score
from ragtriage.data.importers.parsing.shapes import (
    ID_KEYS,
    QUESTION_KEYS,
    TEXT_KEYS,
    contexts_in,
    decoded,
    document_of,
    reference_in,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_ERROR = 300
MOST_NANOSECONDS = 1 << 62
# The unit of a number that counts from 1970 is known by its size: the year 5138 in one is 1973 in the next.
_UNITS = ((1e11, 1_000_000_000), (1e14, 1_000_000), (1e17, 1_000))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_position(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_NANOSECONDS


# Native fields of a document, and what may stand in them.
_FITS: dict[str, Callable[[object], bool]] = {
    **{"id": _is_text, "doc_id": _is_text, "text": _is_text},
    "score": lambda value: isinstance(value, int | float) and number(value) is not None,
    **{"start": _is_position, "end": _is_position, "relevant": lambda value: isinstance(value, bool)},
}


def nanoseconds(value: object) -> int | None:
    """Return a moment as nanoseconds since 1970; None where it is none.

    Args:
        value: ISO text, a datetime, a number since 1970 in seconds, ms, us or ns (also as text), or the
            pair [seconds, nanoseconds].
    """
    if isinstance(value, list | tuple) and len(value) == 2:
        seconds, rest = number(value[0]), number(value[1])
        return None if seconds is None or rest is None else _bounded(int(seconds) * 1_000_000_000 + int(rest))
    if isinstance(value, str):
        text = value.strip()
        if text.isdecimal() and len(text) < 25:
            return _bounded(int(text) * _factor(int(text)))
        try:
            value = datetime.fromisoformat(text)
        except ValueError:
            amount = number(text)
            return None if amount is None else nanoseconds(amount)
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        try:
            return _bounded((moment - EPOCH) // timedelta(microseconds=1) * 1_000)
        except OverflowError:  # the first hours of year 1 are in year 0 elsewhere
            return None
    if not isinstance(value, int | float) or number(value) is None:
        return None
    return _bounded(value * _factor(value) if isinstance(value, int) else round(value * _factor(value)))


def _factor(value: float) -> int:
    """Return how many nanoseconds the unit of a number since 1970 has."""
    return next((factor for bound, factor in _UNITS if abs(value) < bound), 1)


def _bounded(value: int) -> int | None:
    return value if 0 < value < MOST_NANOSECONDS else None


def number(value: object) -> float | None:
    """Return a finite number, also one that is written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = float(value)
    except (ValueError, OverflowError):
        return None
    return amount if math.isfinite(amount) else None


def error_line(error: object) -> str:
    """Return what an error says in a line: the last of a traceback, shortened."""
    text = error if isinstance(error, str) else json.dumps(error, default=str, ensure_ascii=False)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = lines[-1] if lines else "failed, with no reason recorded"
    return line if len(line) <= LONGEST_ERROR else line[: LONGEST_ERROR - 3] + "..."


def ranked(value: object) -> list[dict[str, Any]] | None:
    """Return a ranked list of documents in the native form, or None where the value is not a list.

    Items with neither id nor text are left out, and values of the wrong type do not stand in native fields:
    what a tracing tool wrote in part must not refuse the whole file.
    """
    items = decoded(value)
    if not isinstance(items, list | tuple):
        return None
    documents = (_document(item) for item in items)
    return [document for document in documents if document is not None]


def _document(item: object) -> dict[str, Any] | None:
    wrapped = item.get("document") or item.get("node") if isinstance(item, Mapping) else None
    if isinstance(wrapped, Mapping) and isinstance(item, Mapping):
        item = {**{key: value for key, value in item.items() if key not in ("document", "node")}, **wrapped}
    document = document_of(item)
    if not isinstance(document, dict):
        return None
    if isinstance(document.get("metadata"), str):
        document["metadata"] = decoded(document["metadata"])
    extra = {}
    for key, fits in _FITS.items():
        if document.get(key) is not None and not fits(document[key]):
            extra[f"{key} (as recorded)"] = document.pop(key)
    for key in ("id", "doc_id"):
        recorded = extra.pop(f"{key} (as recorded)", None)
        if isinstance(recorded, int | float):
            document[key] = str(recorded)
    if document.get("id") == "":
        del document["id"]
    if document.get("id") is None and not document.get("text"):
        return None
    return {**document, **extra}


def documents_in(output: object) -> list[dict[str, Any]] | None:
    """Return the documents of an output: a list of objects with texts or ids, or a list under a usual key.

    Texts alone are taken under a key such as `contexts`, not from a bare list, which may be anything.
    """
    value = decoded(output)
    if isinstance(value, Mapping):
        documents = contexts_in(value)
        return None if documents is None else ranked(documents)
    if not isinstance(value, list):
        return None
    looks = (
        isinstance(item, Mapping) and "role" not in item and not DOCUMENT_KEYS.isdisjoint(item)
        for item in value
    )
    return ranked(value) if all(looks) else None  # a message of a conversation is not a document


DOCUMENT_KEYS = {*TEXT_KEYS, *ID_KEYS, "document", "node", "title"}
MOST_TAG = 200
QUESTION_IDS = ("question_id", "qid", "query_id", "questionId")
WORDS = {
    **dict.fromkeys(("good", "pass", "passed", "correct", "positive"), 1.0),
    **dict.fromkeys(("bad", "fail", "failed", "incorrect", "negative"), 0.0),
}
PASSAGE_KEYS = {"page_content", "text", "passage", "chunk"}
RETRIEVAL = re.compile(r"retriev|search", re.IGNORECASE)


class Fields:
    """An object of a tool's file, asked by the names under which the tool, in any version, keeps a value.

    Of several names the first with a value counts. Text that is an object or a list is read as such, and what
    cannot be read as what is asked for is None, or empty.

    Attributes:
        all: the object itself; an empty one where the value is none.
    """

    __slots__ = ("all",)

    def __init__(self, value: object) -> None:
        self.all = fields_in(value)

    def __bool__(self) -> bool:
        return bool(self.all)

    def at(self, *names: str) -> Any:
        """Return the first of some fields that is filled, as it is; where none is, the last: None or ""."""
        filled = (self.all[name] for name in names if self.all.get(name) not in (None, ""))
        return next(filled, self.all.get(names[-1]))

    def text(self, *names: str) -> str | None:
        """Return a text, or a number as text."""
        return text_in(self.at(*names))

    def number(self, *names: str) -> float | None:
        """Return a finite number, also one that is written as text."""
        return number(self.at(*names))

    def decoded(self, *names: str) -> Any:
        """Return a value with JSON in its text decoded."""
        return decoded(self.at(*names))

    def fields(self, *names: str) -> Fields:
        """Return an object in this one."""
        return Fields(self.at(*names))

    def objects(self, *names: str) -> list[Fields]:
        """Return the objects of a list."""
        return [Fields(item) for item in objects_in(self.at(*names))]

    def nanoseconds(self, *names: str) -> int | None:
        """Return a moment as nanoseconds since 1970."""
        return nanoseconds(self.at(*names))

    def error(self, *names: str) -> str | None:
        """Return what an error says in a line."""
        return last_line(self.at(*names))

    def amount(self, *names: str) -> float | None:
        """Return the first number that is not 0, which tools write where nothing was counted."""
        return next((amount for name in names if (amount := number(self.all.get(name)))), None)


def fields_in(value: object) -> Mapping[str, Any]:
    """Return the object that a value is or that its text reads as; an empty one where it is none."""
    fields = decoded(value)
    return fields if isinstance(fields, Mapping) else {}


def objects_in(value: object) -> list[Mapping[str, Any]]:
    """Return the objects of a list, or of its text; what is not an object is left out."""
    items = decoded(value)
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


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
        error = Fields(error).at("message", "error", "exception_type", "traceback") or error
    return error_line(error) if error else None


def error_tag(error: object) -> dict[str, str]:
    """Return the tag of an error; none where there is none."""
    line = last_line(error)
    return {"error": line} if line else {}


def question_id_in(*values: object) -> str | None:
    """Return the id of the question that is named as one in some objects; None where there is none."""
    listed = (fields_in(value) for value in values)
    return next((text for each in listed for key in QUESTION_IDS if (text := text_in(each.get(key)))), None)


def reference_beside_question(example: object) -> str | None:
    """Return the reference answer of an example that holds its question too; None where it has none.

    An object with one text alone is that text to `reference_in`: neither a question nor its id may be left.
    """
    asked = (*QUESTION_KEYS, *QUESTION_IDS)
    return reference_in({key: value for key, value in fields_in(example).items() if key not in asked})


def kind_in(kind: str, name: object, output: object) -> str:
    """Return the kind of a span, a retriever where a step of no telling kind returns passages.

    A list of objects with texts is one of passages, and any list of documents under a name as "retrieve".
    """
    if kind not in ("tool", "chain", "other"):
        return kind
    returned = decoded(output)
    listed = returned if isinstance(returned, list) and returned else [None]
    items = [item.keys() if isinstance(item, Mapping) else set[str]() for item in listed]
    passages = all(PASSAGE_KEYS & keys and "role" not in keys for keys in items)
    named = isinstance(name, str) and bool(RETRIEVAL.search(name))
    return "retriever" if passages or (named and documents_in(returned) is not None) else kind


def tags_of(*sources: object, but: Iterable[str] = ()) -> dict[str, Any]:
    """Return tags from objects with short plain values, and from lists, where each item is a tag."""
    left_out = {*QUESTION_IDS, *but}
    tags: dict[str, Any] = {}
    for source in map(decoded, sources):
        if isinstance(source, list):
            tags |= {f"tag_{item}": True for item in source if isinstance(item, str) and item.strip()}
        for key, value in source.items() if isinstance(source, Mapping) else ():
            short = isinstance(value, str) and 0 < len(value) <= MOST_TAG
            if short or isinstance(value, bool) or (not isinstance(value, str) and number(value) is not None):
                tags[str(key)] = value
    return {name: value for name, value in tags.items() if name not in left_out}


def without_blanks(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record without the fields that have no value."""
    return {name: value for name, value in record.items() if value is not None and value != {}}
