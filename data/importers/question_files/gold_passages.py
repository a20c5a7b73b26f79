"""What the importers of question sets share: rows, gold passages with their hops, the set they make."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.payloads import decoded
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_schema import FIELDS

_HOP = re.compile(r"<(\d{1,2})-hop>\s*")  # as Ragas writes in front of the passages of a multi-hop question


def gold_passages(value: object) -> list[dict[str, Any]]:
    """Return gold passages in the native form, from a list of texts, its text, or a single passage."""
    listed = decoded(value) if isinstance(value, str) and value.lstrip().startswith("[") else value
    if isinstance(listed, str):
        listed = [listed]
    passages = []
    for item in listed if isinstance(listed, list | tuple) else ():
        text = item.get("text", item.get("content")) if isinstance(item, Mapping) else item
        if not isinstance(text, str) or not text.strip():
            continue
        hop = _HOP.match(text)
        passages.append({"text": text[hop.end() :], "hop": hop[1]} if hop else {"text": text})
    return passages


def others(row: Mapping[str, Any], read: Iterable[str]) -> dict[str, Any]:
    """Return what a row has besides the columns that were read, under names that no sample has."""
    known = set(read)
    return {
        f"{name} (column)" if name in FIELDS else str(name): value
        for name, value in row.items()
        if name not in known and value not in (None, "", [], {})
    }


def object_rows(
    source: InputFile, errors: ValidationErrors, limit: int | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a file that are objects; others are reported."""
    for line, row in open_table(source, errors, limit).rows():
        if isinstance(row, dict):
            yield line, row
        else:
            errors.add(line, "", f"found {type_name(row)}", "an object with a question")


def question_set(source: InputFile, key: str, records: Iterable[Record], **facts: Any) -> list[ParsedRun]:
    """Return the questions of a file as its only question set."""
    return [ParsedRun(source.stem, records, source.name, key, questions=True, **facts)]
