"""What an importer of another package is built from: its declaration, the first look, and the readers.

docs/importers.md shows how to write one and how to install it as an entry point.
"""

from __future__ import annotations

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.importer import Importer, Options, Peek
from ragtriage.data.importers.parsing.containers import open_sqlite, rows_of
from ragtriage.data.importers.parsing.documents_in_json import items_at, value_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import Spool, open_table
from ragtriage.data.importers.parsing.shapes import (
    answer_in,
    contexts_in,
    decoded,
    question_in,
    reference_in,
)
from ragtriage.data.store.parsed_run import ParsedRun, Record

__all__ = [
    "Importer",
    "InputError",
    "InputFile",
    "Options",
    "ParsedRun",
    "Peek",
    "Record",
    "Spool",
    "ValidationErrors",
    "answer_in",
    "contexts_in",
    "decoded",
    "items_at",
    "open_sqlite",
    "open_table",
    "question_in",
    "reference_in",
    "rows_of",
    "value_at",
]
