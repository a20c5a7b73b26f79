"""Answers labelled by whether their context attributes them: BEGIN, FaithDial's audit, AIS-like tables.

The labels are written in many ways ("Fully attributable", "entailment,hallucination", "entailmentt"). Each is
brought to one of LABELS and told where its spelling differs; a person's faithfulness of 1 or 0 is read from
those that say it. The label as written stays as a tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.table import reader_of
from ragtriage.data.importers.formats.tool_rows import Row, ToolRows, each
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.store.parsed_run import ParsedRun, Record

# Label -> a person's faithfulness; None where there is nothing to attribute, or the label does not say.
LABELS: Mapping[str, float | None] = {
    "fully attributable": 1.0,
    "not fully attributable": 0.0,
    "entailment": 1.0,
    "partial hallucination": 0.0,
    "hallucination": 0.0,
    "entailment, uncooperative": 1.0,
    "uncooperative": None,
    "generic": None,
}
COLUMNS = ("begin_label", "attribution_label", "label")
_PARTS: Mapping[frozenset[str], str] = {
    frozenset({"entailment", "hallucination"}): "partial hallucination",
    frozenset({"entailment", "uncooperative"}): "entailment, uncooperative",
}
_STEMS = {
    "entail": "entailment",
    "hallucinat": "hallucination",
    "uncoop": "uncooperative",
    "generic": "generic",
}
NO_QUESTION = "(no question recorded)"


def attribution_label(text: object) -> str | None:
    """Return the label of LABELS that a text spells; None where it spells none."""
    if not isinstance(text, str):
        return None
    plain = " ".join(re.sub(r"[_\-]", " ", text.lower()).split())
    if plain in LABELS:
        return plain
    if re.fullmatch(r"(?:not |un)(?:fully )?attributable", plain):
        return "not fully attributable"
    if re.fullmatch(r"(?:fully )?attributable", plain):
        return "fully attributable"
    parts = [_word(part.strip()) for part in re.split(r"[,;/+&]", plain)]
    if None in parts:
        return None
    names = frozenset(part for part in parts if part)
    return next(iter(names)) if len(names) == 1 else _PARTS.get(names)


def _word(text: str) -> str | None:
    """Return the label that a word begins like: "entailmentt" is entailment."""
    if len(text) > 20:
        return None
    return next((label for stem, label in _STEMS.items() if text.startswith(stem)), None)


def _labelled(row: Row) -> tuple[str, str] | None:
    """Return the label as written and as read; None without one."""
    for column in COLUMNS:
        label = attribution_label(row.get(column))
        if label is not None:
            return str(row[column]), label
    return None


def _sample(row: Row) -> Row:
    found = _labelled(row)
    if found is None:
        return row
    written, label = found
    sample = {**row, "question": row["question"] or NO_QUESTION, "attribution": label}
    value = LABELS[label]
    if value is not None:
        rating = {"annotator": "label", "metric": "faithfulness", "value": value, "note": written}
        sample["human"] = [{**rating, "low": 0, "high": 1}]
    return sample


def _fits(peek: Peek) -> bool:
    rows = [row for row in peek.rows[:50] if isinstance(row, dict)]
    return ROWS.fits(set(peek.columns)) and any(_labelled(row) for row in rows)


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a table; labels that are spelled in another way are told."""
    runs = _read_rows(source, options, errors)
    return [replace(run, records=_told(run, errors)) for run in runs]


def _told(run: ParsedRun, errors: ValidationErrors) -> Iterator[Record]:
    for line, record in run.records:
        tags = record.get("tags") if isinstance(record, dict) else None
        if isinstance(record, dict) and isinstance(tags, Mapping):
            if record.get("question") == NO_QUESTION:
                errors.remark("an answer without a question is kept: it opens a conversation", line)
            written: Any = next((tags[name] for name in COLUMNS if tags.get(name)), None)
            label = attribution_label(written)
            if label is None and written is not None:
                errors.remark(f"label {str(written)[:40]!r} is none of attribution and stays a tag", line)
            elif label is not None and label != str(written).lower():
                errors.remark(f"label {str(written)[:40]!r} is read as {label!r}", line)
        yield line, record


ROWS = ToolRows(
    lambda names: {"question", "context", "answer"} <= names and bool(names & set(COLUMNS)),
    each(_sample),
    "read as answers labelled by attribution: a label that says so is a person's faithfulness of 1 or 0",
)
_read_rows = reader_of(ROWS, "attribution_labels")
IMPORTERS = (
    Importer(
        "attribution_labels",
        "Answers labelled by attribution",
        "a table with question, context, answer and begin_label or label, of BEGIN's labels",
        _fits,
        _read,
        mapped=True,
        written_by="BEGIN",
        unit="answer",
    ),
)
