"""UpTrain: steps of an experiment on documents, and results of its checks."""

from __future__ import annotations

from ragtriage.data.importers.formats.table import reader_of
from ragtriage.data.importers.formats.tool_rows import Row, ToolRows, each
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.metric_names import metric_name

EMPTY = {"EMPTY MESSAGE", "<EMPTY MESSAGE>"}
SCORE, REASON = "score_", "explanation_"


def _of_experiment(row: Row) -> Row:
    """Return a row with the passage cut out of a document as the context, and the document as candidate."""
    sample = {name: value for name, value in row.items() if name not in ("response", "document_text")}
    passage, document = row.get("response"), row.get("document_text")
    if _is_empty(row.get("answer")):
        sample["answer"] = None
    sample["retrieved"] = [] if _is_empty(passage) or not passage else [{"text": passage}]
    sample["candidates"] = [{"text": document}] if document else []
    if row.get("question_idx") is not None and row.get("row_idx") is not None:
        sample["question_id"] = f"{row['question_idx']}-{row['row_idx']}"
    if row.get("experiment_id") is not None:
        persona = f" ({row['persona']})" if row.get("persona") else ""
        sample["run"] = f"experiment {row['experiment_id']}{persona}"
    return sample


def _is_empty(text: object) -> bool:
    return isinstance(text, str) and text in EMPTY


def _is_result(names: set[str]) -> bool:
    checks = {name.removeprefix(SCORE) for name in names if name.startswith(SCORE)}
    return "question" in names and any(f"{REASON}{check}" in names for check in checks)


def _of_result(row: Row) -> Row:
    """Return a row with each check as a score and its explanation as the reason."""
    checks = [name.removeprefix(SCORE) for name in row if name.startswith(SCORE)]
    used = {f"{prefix}{check}" for check in checks for prefix in (SCORE, REASON)}
    sample = {name: value for name, value in row.items() if name not in used}
    sample["scores"] = {
        metric_name(check)[0]: {"value": _number(row[f"{SCORE}{check}"]), "reason": _text(row, check)}
        for check in checks
    }
    return sample


def _number(value: object) -> object:
    """Return the number in a cell; None, for a check that failed, where it is blank."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return None if not value.strip() else value


def _text(row: Row, check: str) -> str | None:
    reason = row.get(f"{REASON}{check}")
    return reason if isinstance(reason, str) and reason else None


EXPERIMENT = ToolRows(
    lambda names: {"question", "question_idx", "document_text", "response", "answer"} <= names,
    each(_of_experiment),
    "read as an experiment of UpTrain: `response` is the passage that was cut out of `document_text`, "
    "EMPTY MESSAGE is none",
)
RESULTS = ToolRows(
    _is_result,
    each(_of_result),
    "read as results of UpTrain: `score_` columns are scores, `explanation_` columns their reasons",
)
IMPORTERS = (
    Importer(
        "uptrain_experiment",
        "UpTrain experiment",
        "rows with question, document_text, response, answer, experiment_id: a run for each experiment",
        lambda peek: EXPERIMENT.fits(set(peek.columns)),
        reader_of(EXPERIMENT, "uptrain_experiment"),
        mapped=True,
        written_by="UpTrain",
        rows=EXPERIMENT,
    ),
    Importer(
        "uptrain",
        "UpTrain results",
        "rows with question, context, response, score_<check>, explanation_<check>",
        lambda peek: RESULTS.fits(set(peek.columns)),
        reader_of(RESULTS, "uptrain"),
        mapped=True,
        written_by="UpTrain",
        rows=RESULTS,
    ),
)
