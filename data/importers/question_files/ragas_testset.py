"""Test sets of Ragas: questions with reference contexts and no responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import decoded, question_in
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.question_files.gold_passages import (
    gold_passages,
    object_rows,
    others,
    question_set,
)
from ragtriage.data.store.parsed_run import ParsedRun, Record

KEY = "ragas_testset"
OF_A_RUN = ("response", "multi_responses", "retrieved_contexts", "retrieved_context_ids")
TAGS = ("persona_name", "query_style", "query_length", "synthesizer_name")
ACCEPTED = "a test set without responses and retrieved contexts, or a run that has them"


def _of_a_run(row: Mapping[str, Any]) -> str:
    """Return the field that shows a run: a response, what was retrieved, a conversation that was answered."""
    turns = decoded(row.get("user_input"))
    last = turns[-1] if isinstance(turns, list) and turns else None
    if isinstance(last, Mapping) and last.get("type", last.get("role")) in ("ai", "assistant"):
        return "user_input"
    return next((name for name in OF_A_RUN if row.get(name) not in (None, "", "[]")), "")


def _detect(peek: Peek) -> bool:
    has_names = "user_input" in peek.columns and bool({"reference", "reference_contexts"} & peek.columns)
    return has_names and not any(map(_of_a_run, peek.rows))


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    return question_set(source, KEY, _records(source, options, errors))


def _records(source: InputFile, options: Options, errors: ValidationErrors) -> Iterator[Record]:
    known = (*OF_A_RUN, *TAGS, "id", "user_input", "reference", "reference_contexts", "reference_context_ids")
    for line, row in object_rows(source, errors, options.limit):
        if name := _of_a_run(row):
            errors.add(line, name, "holds an answer, in a test set of Ragas that has none before", ACCEPTED)
            continue
        record = {
            "question_id": row.get("id") or None,
            "question": question_in(row.get("user_input")),
            "reference_answer": row.get("reference") or None,
            "relevant": _gold(row) or None,
            "tags": {name: str(row[name]) for name in TAGS if row.get(name) not in (None, "")} or None,
        }
        yield line, {**others(row, known), **record}


def _gold(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the reference contexts, with their ids where there is one for each."""
    passages = gold_passages(row.get("reference_contexts"))
    names = decoded(row.get("reference_context_ids"))
    if not isinstance(names, list) or not names:
        return passages
    if not passages:
        return [{"id": name} for name in names]
    if len(names) != len(passages):
        return passages
    return [{"id": name, **passage} for name, passage in zip(names, passages, strict=True)]


IMPORTERS = (
    Importer(
        KEY,
        "Ragas test set",
        "user_input with reference or reference_contexts, and neither response nor retrieved_contexts",
        _detect,
        _read,
        holds="questions",
        written_by="Ragas 0.4.3",
        example="`testset.to_jsonl(path)`",
    ),
)
