"""Values in spans of any tool: times, numbers, texts of errors, ranked documents."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ragtriage.data.importers.parsing.documents import ID_KEYS, TEXT_KEYS, document_of
from ragtriage.data.importers.parsing.payloads import contexts_in, decoded

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_ERROR = 300
MOST_NANOSECONDS = 1 << 62
# The unit of a number that counts from 1970 is known by its size: the year 5138 in one is 1973 in the next.
_UNITS = ((1e11, 1_000_000_000), (1e14, 1_000_000), (1e17, 1_000))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_score(value: object) -> bool:
    return isinstance(value, int | float) and number(value) is not None


def _is_position(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_NANOSECONDS


# Native fields of a document, and what may stand in them.
_FITS: dict[str, Callable[[object], bool]] = {
    **{"id": _is_text, "doc_id": _is_text, "text": _is_text, "score": _is_score},
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
    """Return a ranked list of documents in the native form, or None where the value is no list.

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
        found = contexts_in(value)
        return None if found is None else ranked(found)
    if not isinstance(value, list):
        return None
    return ranked(value) if all(map(_is_document, value)) else None


def _is_document(item: object) -> bool:
    """Return whether an object looks like a document, and is no message of a conversation."""
    if not isinstance(item, Mapping) or "role" in item:
        return False
    return any(key in item for key in (*TEXT_KEYS, *ID_KEYS, "document", "node", "title"))
