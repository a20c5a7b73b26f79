"""FRANK's table of metrics beside human factuality: a summary by a system in each row, without texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragtriage.data.importers.formats.table import reader_of
from ragtriage.data.importers.formats.tool_rows import Row, ToolRows, each
from ragtriage.data.importers.importer import Importer

FACTS = ("question_id", "system", "split")
RATED = "human_factuality"


def _sample(row: Row) -> Row:
    """Return a row with its factuality as a person's rating and every other number as a score."""
    facts = {name: row[name] for name in FACTS if row.get(name) not in (None, "")}
    value = _number(row.get(RATED))
    rating = {
        "annotator": "FRANK",
        "metric": "faithfulness",
        "value": value,
        "note": None,
        "low": 0,
        "high": 1,
    }
    return {
        **facts,
        "question": f"article {row.get('question_id')}",
        "human": [{**rating, "low": 0, "high": 1}],
        "scores": dict(_scores(row)),
    }


def _scores(row: Row) -> Iterator[tuple[str, float | None]]:
    for name, value in row.items():
        if name not in (*FACTS, RATED):
            yield name, _number(value)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


ROWS = ToolRows(
    lambda names: {"question_id", "system", RATED, "FactCC"} <= names,
    each(_sample),
    "read as FRANK's scores: human factuality is a person's faithfulness, and no texts are there",
)
IMPORTERS = (
    Importer(
        "frank",
        "FRANK scores",
        "CSV with question_id, system, human_factuality and a column for each metric",
        lambda peek: ROWS.fits(set(peek.columns)),
        reader_of(ROWS, "frank"),
        mapped=True,
        written_by="FRANK",
        rows=ROWS,
        unit="summary",
    ),
)
