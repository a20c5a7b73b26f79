"""Large JSON documents read item by item: what is in a list under a path, and an outline of the whole."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any

import ijson

from ragtriage.data.errors import InputError
from ragtriage.data.importers.parsing.input_file import InputFile

WHOLE_UP_TO = 16 << 20  # smaller documents are parsed at once
OUTLINE_ITEMS = 20
NOT_JSON_NUMBERS = re.compile(rb"[:,\[]\s*-?(?:NaN|Infinity)")
ACCEPTED = "one JSON document, or JSONL: one JSON object per line"


def items_at(source: InputFile, path: str) -> Iterator[tuple[int, Any]]:
    """Yield the items of the list at a path of a document, with their 1-based positions.

    Args:
        source: the file.
        path: keys separated by dots, e.g. "results.results"; "" where the document itself is the list.

    Raises:
        InputError: it is no JSON, or is damaged further down.
    """
    if _parsed_at_once(source):
        listed = value_at(source, path)
        yield from enumerate(listed if isinstance(listed, list) else (), start=1)
        return
    with source.open() as stream:
        try:
            yield from enumerate(ijson.items(stream, _prefix(path, "item"), use_float=True), start=1)
        except (ijson.JSONError, UnicodeDecodeError) as error:
            raise _damaged(source, error) from error


def value_at(source: InputFile, path: str) -> Any:
    """Return the value at a path of a document; None where there is none.

    Of a large document, ask for small values alone: what stands before them is read past.
    """
    if _parsed_at_once(source):
        value = source.document()
        for key in filter(None, path.split(".")):
            value = value.get(key) if isinstance(value, dict) else None
        return value
    with source.open() as stream:
        try:
            return next(ijson.items(stream, path, use_float=True), None)
        except (ijson.JSONError, UnicodeDecodeError) as error:
            raise _damaged(source, error) from error


def names_of(source: InputFile) -> list[str]:
    """Return the keys of a document that is an object; none of any other.

    Raises:
        InputError: it is no JSON, or is damaged further down.
    """
    if _parsed_at_once(source):
        document = source.document()
        return list(document) if isinstance(document, dict) else []
    with source.open() as stream:
        try:
            return [
                value for prefix, event, value in ijson.parse(stream) if event == "map_key" and not prefix
            ]
        except (ijson.JSONError, UnicodeDecodeError) as error:
            raise _damaged(source, error) from error


def small_values(source: InputFile, path: str, names: Collection[str]) -> dict[str, Any]:
    """Return the values of some keys of the object at a path, those that it has; read in one pass.

    Of a large document, ask for small values alone.

    Raises:
        InputError: it is no JSON, or is damaged further down.
    """
    if _parsed_at_once(source):
        value = value_at(source, path)
        return {name: value[name] for name in names if name in value} if isinstance(value, dict) else {}
    wanted = {_prefix(path, name): name for name in names}
    values: dict[str, Any] = {}
    with source.open() as stream:
        try:
            events = ijson.parse(stream, use_float=True)
            for prefix, event, value in events:
                name = wanted.get(prefix)
                if name is None or event in ("end_map", "end_array"):
                    continue
                builder = ijson.ObjectBuilder()
                builder.event(event, value)
                if event in ("start_map", "start_array"):
                    for inner, event, value in events:
                        builder.event(event, value)
                        if inner == prefix and event in ("end_map", "end_array"):
                            break
                values[name] = builder.value
        except (ijson.JSONError, UnicodeDecodeError) as error:
            raise _damaged(source, error) from error
    return values


def outline(source: InputFile) -> Any:
    """Return a document; of a large one, its first keys, with the first items where a value is a list.

    Raises:
        InputError: it is no JSON.
    """
    if _parsed_at_once(source):
        return source.document()
    head = source.head(WHOLE_UP_TO)
    if head.lstrip()[:1] == b"[":
        return [item for _, item in islice(items_at(source, ""), OUTLINE_ITEMS)]
    return _beginning(head)


def beginning(source: InputFile) -> Any:
    """Return what stands at the beginning of a document that is damaged further down; {} for nothing."""
    return _beginning(source.head(WHOLE_UP_TO))


def _beginning(head: bytes) -> Any:
    """Return the object or list that begins in some first bytes; lists are cut to their first items."""
    builders: list[Any] = []  # open containers, outermost first
    names: list[str] = []
    root: Any = {}
    try:
        for event, value in ijson.basic_parse(head, use_float=True):
            if event == "map_key":
                names[-1] = value
            elif event in ("end_map", "end_array"):
                builders.pop()
                names.pop()
            else:
                made: Any = {} if event == "start_map" else [] if event == "start_array" else value
                if not builders:
                    root = made
                else:
                    parent = builders[-1]
                    name = names[-1]
                    if isinstance(parent, dict):
                        parent[name] = made
                    elif len(parent) < OUTLINE_ITEMS:
                        parent.append(made)
                if event in ("start_map", "start_array"):
                    builders.append(made)
                    names.append("")
    except (ijson.JSONError, UnicodeDecodeError):
        return root  # cut in the middle, as it must be
    return root


def _parsed_at_once(source: InputFile) -> bool:
    """Return whether a document is small, or holds NaN, which is no JSON and which ijson does not read."""
    if source.size <= WHOLE_UP_TO and len(source.head(WHOLE_UP_TO + 1)) <= WHOLE_UP_TO:
        return True
    return source.remembered("not_json_numbers", lambda: _has_not_json_numbers(source))


def _has_not_json_numbers(source: InputFile) -> bool:
    tail = b""
    with source.open() as stream:
        while chunk := stream.read(1 << 20):
            if NOT_JSON_NUMBERS.search(tail + chunk):
                return True
            tail = chunk[-16:]
    return False


def _prefix(*parts: str) -> str:
    return ".".join(filter(None, parts))


def _damaged(source: InputFile, error: Exception) -> InputError:
    reason = str(error).strip().partition("\n")[0]
    return source.error(f"is not JSON, or is cut short ({reason})", ACCEPTED)
