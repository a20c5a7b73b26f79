"""Test sets of Giskard's RAG toolkit: a reference context of numbered documents for each question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import decoded
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.question_files.gold_passages import object_rows, others, question_set
from ragtriage.data.store.parsed_run import ParsedRun, Record

KEY = "giskard_testset"
COLUMNS = {"question", "reference_answer", "reference_context", "conversation_history"}
_DOCUMENT = re.compile(r"^Document \d+: ", re.MULTILINE)
MOST_TAG = 60


def _detect(peek: Peek) -> bool:
    return peek.columns >= COLUMNS and not {"answer", "agent_answer", "retrieved"} & peek.columns


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    return question_set(source, KEY, _records(source, options, errors))


def _records(source: InputFile, options: Options, errors: ValidationErrors) -> Iterator[Record]:
    known = (*COLUMNS, "id", "metadata")
    for line, row in object_rows(source, errors, options.limit):
        metadata = decoded(row.get("metadata"))
        fields = metadata if isinstance(metadata, Mapping) else {}
        turns = decoded(row.get("conversation_history"))
        labels = {key: fields.get(key) for key in ("topic", "seed_document_id")}
        record = {
            "question_id": row.get("id"),
            "question": row.get("question"),
            "history": [_turn(turn) for turn in turns] if isinstance(turns, list) and turns else None,
            "reference_answer": row.get("reference_answer"),
            "relevant": _passages(row.get("reference_context")) or None,
            "query_type": fields.get("question_type"),
            "tags": {
                key: str(value)
                for key, value in labels.items()
                if (value is not None and len(str(value)) <= MOST_TAG)
            }
            or None,
        }
        yield line, {**others(row, known), **record}


def _turn(turn: Any) -> Any:
    return {"role": turn.get("role"), "text": turn.get("content")} if isinstance(turn, Mapping) else turn


def _passages(text: Any) -> list[dict[str, str]]:
    """Split a reference context at its numbered documents; the numbers are no ids outside the toolkit."""
    parts = _DOCUMENT.split(text) if isinstance(text, str) else []
    return [{"text": part.removesuffix("\n\n")} for part in parts if part.strip()]


IMPORTERS = (
    Importer(
        KEY,
        "Giskard test set",
        "JSONL with question, reference_answer, reference_context and conversation_history",
        _detect,
        _read,
        holds="questions",
        written_by="Giskard 2.19",
        example="`testset.save(path)`",
    ),
)
