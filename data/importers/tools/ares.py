"""ARES: the TSV of questions, documents and answers with labels of annotators."""

from __future__ import annotations

from ragtriage.data.importers.formats.table import reader_of
from ragtriage.data.importers.formats.tool_rows import Row, ToolRows, each
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.cells import CellError, read_score

METRICS = {
    "Context_Relevance_Label": "context_relevance",
    "Answer_Faithfulness_Label": "faithfulness",
    "Answer_Relevance_Label": "answer_relevancy",
}
NAMES = {"Query": "question", "Answer": "answer", "input": "input (ARES)", "output": "output (ARES)"}


def _sample(row: Row) -> Row:
    """Return a row with its one document as the context, and its labels as those of a person."""
    labels = {name: _label(row.get(name)) for name in METRICS}
    sample = {NAMES.get(name, name): value for name, value in row.items() if labels.get(name) is None}
    document = sample.pop("Document", None)
    relevant = labels["Context_Relevance_Label"]
    known = {} if relevant is None else {"relevant": relevant == 1.0}
    sample["retrieved"] = [{"text": document, **known}] if document else []
    sample["human"] = [
        {"annotator": "ares", "metric": METRICS[name], "value": value, "low": 0.0, "high": 1.0}
        for name, value in labels.items()
        if value is not None
    ] or None
    return {name: value for name, value in sample.items() if name not in METRICS or value not in (None, "")}


def _label(value: object) -> float | None:
    """Return a label as 1 or 0; None where it is blank or anything else, which then stays as it is."""
    try:
        number = read_score(value)
    except CellError:
        return None
    return float(number) if isinstance(number, bool | int | float) and number in (0, 1) else None


ROWS = ToolRows(
    lambda names: {"Query", "Document", "Answer"} <= names,
    each(_sample),
    "read as rows of ARES: `Document` is the only retrieved one, a label is a person's, a blank is none",
)
IMPORTERS = (
    Importer(
        "ares",
        "ARES",
        "TSV or CSV with Query, Document, Answer and *_Label",
        lambda peek: ROWS.fits(set(peek.columns)),
        reader_of(ROWS, "ares"),
        mapped=True,
        written_by="ARES",
        rows=ROWS,
    ),
)
