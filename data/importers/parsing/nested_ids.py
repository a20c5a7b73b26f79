"""Document ids that a file keeps inside its documents, as `context_docs[].metadata.section_id`."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.data.importers.parsing.cells import CellError, read_cell
from ragtriage.data.importers.parsing.shapes import ID_KEYS, document_of
from ragtriage.data.store.parsed_run import Record

INSIDE = "[]."
MAX_DEPTH = 3
OWN = {"id", "text", "doc_id"}  # of the document itself, see docs/format.md
NAMES = {*ID_KEYS, "section_id", "source_id", "parent_id", "uuid", "key", "source", "file_name", "url"}


@dataclass(frozen=True)
class NestedIds:
    """Where the documents of a table keep their ids."""

    # `column[].path` -> its first value, for every path that could hold the ids
    examples: Mapping[str, object]
    chosen: str  # the path at which gold ids occur, or "" when the documents' own ids are to be used
    notes: tuple[str, ...]  # what was assumed, or what has to be asked


def is_nested(name: str) -> bool:
    """Return whether a name is that of a path inside the documents of a column."""
    return INSIDE in name


def nested_value(document: Mapping[str, Any], name: str) -> str | None:
    """Return the id of a document in the native form at a path, or None if it has none there."""
    value: Any = document
    for key in name.partition(INSIDE)[2].split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return str(value) if _is_identifier(value) else None


def gold_ids_of(rows: Collection[Record], column: str | None) -> set[str]:
    """Return the ids that a column with gold documents names in these rows."""
    gold: set[str] = set()
    for _, row in rows:
        for item in _cell(row, column, "relevant"):
            name = item.get("id") if isinstance(item, Mapping) else item
            if _is_identifier(name):
                gold.add(str(name))
    return gold


def nested_ids(rows: Collection[Record], column: str | None, gold: Collection[str]) -> NestedIds:
    """Find the ids of the documents of a column, where they are not under one of the usual keys.

    The ids of the gold documents decide; without any, the paths are only offered.
    """
    values: dict[str, set[str]] = defaultdict(set)
    examples: dict[str, object] = {}
    own: set[str] = set()
    for _, row in rows:
        for item in _cell(row, column, "retrieved"):
            document = document_of(item)
            if not isinstance(document, Mapping):
                continue
            own |= {str(document[key]) for key in ("id", "text") if _is_identifier(document.get(key))}
            for path, value in _leaves(document):
                values[f"{column}{INSIDE}{path}"].add(str(value))
                examples.setdefault(f"{column}{INSIDE}{path}", value)
    if not (own or values) or own & set(gold):
        return NestedIds({}, "", ())
    hits = {path: len(ids & set(gold)) for path, ids in values.items()}
    chosen = max(hits, key=lambda path: hits[path], default="")
    if hits.get(chosen):
        note = (
            f"the ids of the documents are read from {chosen}, where {hits[chosen]:,} of {len(gold):,} gold "
            f"ids occur (in the first {len(rows):,} rows)"
        )
        return NestedIds({chosen: examples[chosen]}, chosen, (note,))
    offered = {path: examples[path] for path in examples if re.split(r"\W", path)[-1] in NAMES}
    where = f"read them from {' or '.join(offered)}" if offered else "name the column that holds them"
    note = (
        f"ids do not match: none of {len(gold):,} gold ids is the id of a retrieved document in the first "
        f"{len(rows):,} rows; {where}, with a mapping to retrieved_ids"
    )
    return NestedIds(offered, "", (note,) if gold else ())


def _cell(row: object, column: str | None, field: str) -> list[Any]:
    if not isinstance(row, Mapping) or column is None or row.get(column) is None:
        return []
    try:
        items = read_cell(field, row[column])
    except CellError:
        return []
    return items if isinstance(items, list) else []


def _leaves(value: Mapping[str, Any], depth: int = 1) -> Iterator[tuple[str, object]]:
    for key, item in value.items():
        if isinstance(item, Mapping) and depth < MAX_DEPTH:
            yield from ((f"{key}.{path}", leaf) for path, leaf in _leaves(item, depth + 1))
        elif _is_identifier(item) and not (depth == 1 and key in OWN):
            yield str(key), item


def _is_identifier(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""
