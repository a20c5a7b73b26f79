"""Answers with a label for each sentence and its citations, as AttributionBench groups HAGRID's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragtriage.data.importers.formats.table import reader_of
from ragtriage.data.importers.formats.tool_rows import Row, ToolRows, each
from ragtriage.data.importers.importer import Importer

LABELS = ("attributable", "supported", "attributable_label")
CITED = ("cited", "citations", "ids")


def _sample(row: Row) -> Row:
    """Return a row with its numbered passages as documents and its sentences as citations."""
    passages, sentences = row.get("passages"), row.get("sentences")
    rest = {name: value for name, value in row.items() if name not in ("passages", "sentences")}
    return {
        **rest,
        "retrieved": [_document(passage) for passage in passages] if isinstance(passages, list) else passages,
        "citations": [_sentence(entry) for entry in sentences] if isinstance(sentences, list) else sentences,
    }


def _document(passage: Any) -> Any:
    if not isinstance(passage, Mapping):
        return passage
    rest = {name: value for name, value in passage.items() if name != "number"}
    return {"id": str(passage["number"]), **rest} if "number" in passage else rest


def _sentence(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    cited: list[Any] = next((entry[name] for name in CITED if isinstance(entry.get(name), list)), [])
    label = next((entry[name] for name in LABELS if isinstance(entry.get(name), bool)), None)
    return {"sentence": entry.get("text"), "ids": [str(name) for name in cited], "supported": label}


ROWS = ToolRows(
    lambda names: {"question", "answer", "sentences", "passages"} <= names,
    each(_sample),
    "read as answers with labelled sentences: the label is of a sentence with all its citations together",
)
IMPORTERS = (
    Importer(
        "cited_answers",
        "Answers with labelled citations",
        "JSONL with question, answer, passages [{number, text}], sentences [{text, cited, attributable}]",
        lambda peek: ROWS.fits(set(peek.columns)),
        reader_of(ROWS, "cited_answers"),
        mapped=True,
        rows=ROWS,
        written_by="HAGRID",
        unit="answer",
    ),
)
