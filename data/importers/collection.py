"""What a test collection holds beside a run: queries and corpus, in the BEIR form or as plain columns."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from data.errors import Problems
from data.importers.source import Source

__all__ = ["read_queries", "read_texts"]

QUERIES_ACCEPTED = "JSONL of {_id, text} as BEIR writes it, or lines of question id, tab, text"
CORPUS_ACCEPTED = "JSONL of {_id, title, text} as BEIR writes it"


def read_queries(source: Source) -> dict[str, str]:
    """Read question id -> text.

    Raises:
        InputError: some line is neither of the accepted forms.
    """
    problems = Problems(source.name)
    found: dict[str, str] = {}
    for line, text in source.lines(problems):
        pair = _query(text)
        if pair is None:
            problems.add(line, "", f"found {text.strip()[:60]!r}", QUERIES_ACCEPTED)
        else:
            found[pair[0]] = pair[1]
    problems.raise_if_any()
    return found


def _query(text: str) -> tuple[str, str] | None:
    if text.lstrip().startswith("{"):
        record = _object(text)
        name, words = _identifier(record), record.get("text") if record else None
        return (name, words) if name and isinstance(words, str) and words.strip() else None
    name, tab, words = text.strip("\r\n").partition("\t")
    return (name.strip(), words.strip()) if tab and name.strip() and words.strip() else None


def read_texts(source: Source, wanted: Collection[str]) -> dict[str, str]:
    """Read the texts of some documents of a corpus, title first; the others are passed over.

    Raises:
        InputError: a line is no document.
    """
    problems = Problems(source.name)
    found = {name: text for _, name, text in _documents(source, problems) if name in wanted}
    problems.raise_if_any()
    return found


def _documents(source: Source, problems: Problems) -> Iterator[tuple[int, str, str]]:
    for line, text in source.lines(problems):
        record = _object(text)
        name, body = _identifier(record), record.get("text") if record else None
        if not name or record is None or not isinstance(body, str):
            problems.add(line, "", f"found {text.strip()[:60]!r}", CORPUS_ACCEPTED)
            continue
        title = record.get("title")
        yield line, name, f"{title}\n{body}" if isinstance(title, str) and title.strip() else body


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _identifier(record: dict[str, Any] | None) -> str:
    for key in ("_id", "id", "qid", "query_id", "doc_id"):
        value = record.get(key) if record else None
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)
    return ""
