"""RGB: questions with passages that hold the answer, passages that do not, and in one set altered ones.

Its four files are for noise and refusals (`en`, `en_refine`), answers of several parts (`en_int`) and altered
facts (`en_fact`). Source: Chen et al. 2024, "Benchmarking large language models in retrieval-augmented
generation" (AAAI).
"""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer, Row, read_each, row_names
from ragtriage.data.importers.parsing.shapes import others

KEY = "rgb"
READ = ("id", "query", "answer", "positive", "negative", "positive_wrong", "fakeanswer")


def _question(row: Row, line: int, errors: ValidationErrors) -> Row | None:
    if not isinstance(row.get("positive"), list) or not isinstance(row.get("negative"), list):
        errors.add(line, "positive and negative", "are not both lists", "lists of passages, as RGB has them")
        return None
    answers = [_texts(part) for part in _listed(row.get("answer"))]
    # a list of texts are ways to say one answer, a list of lists the parts of one
    parts = answers if any(isinstance(part, list) for part in _listed(row.get("answer"))) else []
    accepted = list(chain.from_iterable(answers))
    return {
        **others(row, READ),
        "question_id": row.get("id"),
        "question": row.get("query"),
        "reference_answer": " and ".join(part[0] for part in parts if part) or next(iter(accepted), None),
        "answers": accepted,
        "answer_parts": parts if len(parts) > 1 else None,
        "gold_passages": _passages(row["positive"]),
        "negatives": _passages(row["negative"]),
        "altered_passages": _passages(_listed(row.get("positive_wrong"))),
        "altered_answer": row.get("fakeanswer"),
    }


def _passages(listed: list[Any]) -> list[Row]:
    """Return passages as objects; of an answer of several parts one of each part first."""
    in_parts = any(isinstance(part, list) for part in listed)
    parts = zip_longest(*map(_texts, listed)) if in_parts else [listed]
    return [{"text": text} for text in chain.from_iterable(parts) if isinstance(text, str)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _texts(value: Any) -> list[str]:
    return [str(entry) for entry in _listed(value) if isinstance(entry, str | int | float)]


IMPORTERS = (
    Importer(
        KEY,
        "RGB",
        "rows with query, answer and lists of positive and negative passages",
        row_names("query", "answer", "positive", "negative"),
        read_each(KEY, _question, questions=True),
        holds="questions",
        written_by="RGB",
    ),
)
