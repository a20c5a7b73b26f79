"""JSON documents: the items of a list in a large one, read one by one, and the rows that one holds."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, BinaryIO

import ijson
import numpy as np

from ragtriage.data.errors import InputError, ValidationError
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import guessed_fields

DEEPEST = 500  # levels; the json module ends at about a thousand
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_OTHER = bytes(set(range(256)) - set(b'[]{}"'))
_OPENING = tuple(b"[{")
WHOLE_UP_TO = 16 << 20  # smaller documents are parsed at once
OUTLINE_ITEMS = 20
NOT_JSON_NUMBERS = re.compile(rb"[:,\[]\s*-?(?:NaN|Infinity)")
ACCEPTED = "one JSON document, or JSONL: one JSON object per line"


class JsonDepth:
    """The depth of a JSON text that is read a piece at a time."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escape = b""  # a backslash that ended the last piece

    def read(self, piece: bytes) -> None:
        """Follow a piece of the text.

        Raises:
            RecursionError: it is nested more than DEEPEST levels deep.
        """
        text = self._escape + piece
        self._escape = b""
        if b"\\" in text:  # JSON has it within strings alone: it goes with what it escapes
            text = _ESCAPED.sub(b"", text)
            if text.endswith(b"\\"):
                text, self._escape = text[:-1], b"\\"
        parts = text.translate(None, _OTHER).split(b'"')
        outside = b"".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        opens = np.isin(np.frombuffer(outside, dtype=np.uint8), _OPENING)
        depths = self._depth + np.cumsum(np.where(opens, 1, -1))
        if depths.max(initial=0) > DEEPEST:
            raise RecursionError(f"nested more than {DEEPEST} levels deep")
        self._depth = int(depths[-1]) if len(depths) else self._depth


def items_at(source: InputFile, path: str) -> Iterator[tuple[int, Any]]:
    """Yield the items of the list at a path of a document, with their 1-based positions.

    The path is keys separated by dots, e.g. "results.results"; "" where the document itself is the list.

    Raises:
        InputError: it is not JSON, or is damaged further down.
    """
    if _parsed_at_once(source):
        listed = value_at(source, path)
        yield from enumerate(listed if isinstance(listed, list) else (), start=1)
        return
    with _streamed(source) as stream:
        yield from enumerate(ijson.items(stream, _prefix(path, "item"), use_float=True), start=1)


def value_at(source: InputFile, path: str) -> Any:
    """Return the value at a path of a document; None where there is none.

    Of a large document, ask for small values alone: what stands before them is read past.
    """
    if _parsed_at_once(source):
        value = source.document()
        for key in filter(None, path.split(".")):
            value = value.get(key) if isinstance(value, dict) else None
        return value
    with _streamed(source) as stream:
        return next(ijson.items(stream, path, use_float=True), None)


def names_of(source: InputFile) -> list[str]:
    """Return the keys of a document that is an object; none of any other.

    Raises:
        InputError: it is not JSON, or is damaged further down.
    """
    if _parsed_at_once(source):
        document = source.document()
        return list(document) if isinstance(document, dict) else []
    with _streamed(source) as stream:
        events = ijson.parse(stream)
        return [value for prefix, event, value in events if event == "map_key" and not prefix]


def small_values(source: InputFile, path: str, names: Collection[str]) -> dict[str, Any]:
    """Return the values of some keys of the object at a path, those that it has; read in one pass.

    Of a large document, ask for small values alone.

    Raises:
        InputError: it is not JSON, or is damaged further down.
    """
    if _parsed_at_once(source):
        value = value_at(source, path)
        return {name: value[name] for name in names if name in value} if isinstance(value, dict) else {}
    wanted = {_prefix(path, name): name for name in names}
    values: dict[str, Any] = {}
    with _streamed(source) as stream:
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
    return values


def outline(source: InputFile) -> Any:
    """Return a document; of a large one, its first keys, with the first items where a value is a list.

    Raises:
        InputError: it is not JSON.
    """
    if _parsed_at_once(source):
        return source.document()
    head = source.head(WHOLE_UP_TO)
    if head.lstrip()[:1] == b"[":
        return [item for _, item in islice(items_at(source, ""), OUTLINE_ITEMS)]
    return _beginning(head)


def beginning(source: InputFile) -> Any:
    """Return what stands at the beginning of a document that is damaged further down; {} for nothing.

    Raises:
        InputError: it is nested too deeply.
    """
    head = source.head(WHOLE_UP_TO)
    _follow(source, JsonDepth(), head)
    return _beginning(head)


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
                node: Any = {} if event == "start_map" else [] if event == "start_array" else value
                if not builders:
                    root = node
                else:
                    parent = builders[-1]
                    name = names[-1]
                    if isinstance(parent, dict):
                        parent[name] = node
                    elif len(parent) < OUTLINE_ITEMS:
                        parent.append(node)
                if event in ("start_map", "start_array"):
                    builders.append(node)
                    names.append("")
    except (ijson.JSONError, UnicodeDecodeError):
        return root  # cut in the middle, as it must be
    return root


def _parsed_at_once(source: InputFile) -> bool:
    """Return whether a document is small, or holds NaN, which is not JSON and which ijson does not read.

    Raises:
        InputError: a large one is nested too deeply. Every reader of large documents asks here first, since
            what ijson builds of nested lists takes hundreds of bytes for each bracket.
    """
    if source.size <= WHOLE_UP_TO and len(source.head(WHOLE_UP_TO + 1)) <= WHOLE_UP_TO:
        return True

    def has_not_json_numbers() -> bool:
        tail, depth, holds = b"", JsonDepth(), False
        with source.open() as stream:
            while chunk := stream.read(1 << 20):
                _follow(source, depth, chunk)
                holds = holds or NOT_JSON_NUMBERS.search(tail + chunk) is not None
                tail = chunk[-16:]
        return holds

    return source.remembered("not_json_numbers", has_not_json_numbers)


def _follow(source: InputFile, depth: JsonDepth, piece: bytes) -> None:
    try:
        depth.read(piece)
    except RecursionError as error:
        raise source.error(f"is {error}", "a JSON document that is nested less deeply") from error


def _prefix(*parts: str) -> str:
    return ".".join(filter(None, parts))


@contextmanager
def _streamed(source: InputFile) -> Iterator[BinaryIO]:
    """Open a large document to read its parts one by one.

    Raises:
        InputError: it is not JSON, or is damaged further down.
    """
    with source.open() as stream:
        try:
            yield stream
        except (ijson.JSONError, UnicodeDecodeError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise source.error(f"is not JSON, or is cut short ({reason})", ACCEPTED) from error


HEAD_ROWS = 200
SHOWN_LISTS = 6
WRAPPER = "testRunData"  # around the document itself, in the latest run that DeepEval keeps
LIST_KEYS = ("samples", "results", "records", "rows", "data", "examples", "questions", "items")


class SeveralListsError(InputError):
    """A document with several lists of rows that could each be a run: which one to read has to be asked."""

    def __init__(self, file: str, lists: Mapping[str, int]) -> None:
        self.lists = lists
        what = f"holds several lists of questions: {_listed(lists)}"
        accepted = "the name of the one to read: --rows NAME, or the choice on the page Runs"
        super().__init__([ValidationError(file, None, "", what, accepted)])


def _listed(lists: Mapping[str, int]) -> str:
    shown = ", ".join(f"{name!r} ({count:,})" for name, count in list(lists.items())[:SHOWN_LISTS])
    return shown + (f" and {len(lists) - SHOWN_LISTS:,} more" if len(lists) > SHOWN_LISTS else "")


@dataclass(frozen=True)
class JsonRows:
    """The rows of a document, and what was assumed to get them."""

    rows: Sequence[Any]
    notes: tuple[str, ...] = ()


def rows_of_document(source: InputFile, wanted: str = "") -> JsonRows:
    """Return the rows of a JSON document.

    `wanted` names the list of rows to read; "" for the only one with a question.

    Raises:
        SeveralListsError: several lists have a question, and none is wanted.
        InputError: it has no rows, no such list, or columns that cannot be paired.
    """
    document = source.document()
    if isinstance(document, list):
        return JsonRows(document)
    if not isinstance(document, dict):
        accepted = "a list of objects, or an object that holds one"
        raise source.error("holds a single value", accepted)
    if isinstance(document.get(WRAPPER), dict):
        document = document[WRAPPER]
    filled = {key: value for key, value in document.items() if isinstance(value, list) and value}
    lists = {
        key: rows for key, rows in filled.items() if all(isinstance(row, dict) for row in rows[:HEAD_ROWS])
    }
    if lists or wanted:
        chosen, notes = chosen_list(lists, wanted, source)
        return JsonRows(lists[chosen], notes)
    names, rows = document.get("columns"), document.get("data")  # one of the forms of pandas
    is_split = isinstance(names, list) and isinstance(rows, list) and bool(rows)
    if is_split and all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return JsonRows([dict(zip(map(str, names), row, strict=True)) for row in rows])
    return _of_columns(document, source) or JsonRows([document])


def chosen_list(
    lists: Mapping[str, Sequence[Any]], wanted: str, source: InputFile
) -> tuple[str, tuple[str, ...]]:
    """Return the name of the list of rows to read, and what to say of the others.

    Raises:
        SeveralListsError: several lists have a question, and none is wanted.
        InputError: there is no list of the name that is wanted.
    """
    counts = {name: len(rows) for name, rows in lists.items()}
    if wanted and wanted not in lists:
        accepted = _listed(counts) if counts else "no name: it holds no list of rows under a name"
        raise source.error(f"holds no list of rows named {wanted!r}", accepted)
    with_question = lists_with_question(lists)
    if len(with_question) > 1 and not wanted:
        raise SeveralListsError(source.name, {name: counts[name] for name in with_question})
    usual = [name for name in LIST_KEYS if name in lists]
    chosen = wanted or [*with_question, *usual, *lists][0]
    others = {name: count for name, count in counts.items() if name != chosen}
    note = f"rows are read from {chosen!r}; lists of rows that are left out: {_listed(others)}"
    return chosen, (note,) if others else ()


def lists_with_question(lists: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the names of the lists whose rows have a name that reads as the question."""
    names = {name: dict.fromkeys(chain.from_iterable(rows[:HEAD_ROWS])) for name, rows in lists.items()}
    return [name for name, columns in names.items() if "question" in guessed_fields(columns)]


def _of_columns(document: Mapping[str, Any], source: InputFile) -> JsonRows | None:
    """Return the rows of {column: {row key: cell}} or {column: [cell]}; None if these are not columns."""
    columns = list(document.values())
    if columns and all(isinstance(cells, dict) and cells for cells in columns):
        return _keyed_rows(document)
    is_listed = [isinstance(cells, list) and bool(cells) for cells in columns]
    if columns and all(is_listed) and len({len(cells) for cells in columns}) == 1:
        return JsonRows([dict(zip(document, cells, strict=True)) for cells in zip(*columns, strict=True)])
    held_together = all(isinstance(cells, list | dict) for cells in columns)
    if not held_together or "question" not in guessed_fields(document):
        return None
    sizes = ", ".join(f"{name} {len(cells):,}" for name, cells in document.items())
    raise source.error(
        f"holds columns that cannot be paired: cells by key and by position, or different numbers ({sizes})",
        "every column as an object of row key: cell, or every column as a list of one length",
    )


def _keyed_rows(document: Mapping[str, Mapping[str, Any]]) -> JsonRows | None:
    """Return rows paired by their keys: the order of cells may differ from column to column."""
    keys = dict.fromkeys(chain.from_iterable(document.values()))
    numbered = all(key.isdigit() for key in keys)
    if not numbered and ("question" not in guessed_fields(document) or len(keys) < 2):
        by_key = "question" in guessed_fields(keys)
        return JsonRows(_identified(document)) if by_key else None
    rows = {key: {name: cells[key] for name, cells in document.items() if key in cells} for key in keys}
    lacking = [
        f"{name!r} for {len(keys) - len(cells):,}"
        for name, cells in document.items()
        if len(cells) < len(keys)
    ]
    note = f"columns without a cell: {', '.join(lacking)} of {len(keys):,} rows; cells are paired by key"
    return JsonRows(_identified(rows), (note,) if lacking else ())


def _identified(rows: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    """Return rows that stood under keys; the keys are their ids unless they are numbers or ids are there."""
    names = chain.from_iterable(rows.values())
    if "question_id" in guessed_fields(names) or all(key.isdigit() for key in rows):
        return list(rows.values())
    return [{"question_id": key, **row} for key, row in rows.items()]
