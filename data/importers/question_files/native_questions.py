"""Question sets in the native form: rows with a question and its gold or reference, and nothing of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats import native
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.cells import is_blank
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.question_sets import OF_A_RUN

GOLD = ("reference_answer", "reference_claims", "relevant", "relevant_spans")


def is_of_a_run(record: object) -> bool:
    """Return whether a record in the native form has something that only a system's run has."""
    return isinstance(record, Mapping) and any(_has_value(record, name) for name in OF_A_RUN)


def _has_value(record: Mapping[str, Any], name: str) -> bool:
    return name in record and not is_blank(record[name], blank_text=True)


def _detect(peek: Peek) -> bool:
    if native.HEADER in peek.columns or "run" in peek.keys or not native.is_native(peek.columns):
        return False
    has_gold = any(_has_value(row, name) for row in peek.rows for name in GOLD)
    return has_gold and not any(map(is_of_a_run, peek.rows))


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a question set; where a later row turns out to have an answer, the file is a run after all."""
    runs = [replace(run, records=list(run.records)) for run in native.read(source, options, errors)]
    of_a_run = any(is_of_a_run(record) for run in runs for _, record in run.records)
    return [replace(run, questions=not of_a_run) for run in runs]


IMPORTERS = (
    Importer(
        "native_questions",
        "Questions in the native form",
        "rows with `question` and `relevant`, `relevant_spans` or `reference_answer`, and no answers",
        _detect,
        _read,
        holds="questions",
    ),
)
