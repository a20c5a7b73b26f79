"""Groups of cases by people and a metric: where they disagree, and the cells of their confusion matrix.

A mark's value is "QUANTITY:METRIC:SOURCE", with the two cut-offs behind it where they are not 0.5; a cell
stands before it. Colons inside a name are written as %3A.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote, unquote

from data.labels.agreement import CELLS, DEFAULT_CUTS, BinaryLabels, Cell, Cuts, binary_labels_of
from data.labels.evaluated_metric import EvaluatedMetric, evaluated_metric_of
from data.labels.human_ratings import DEGREES, dimension_title, human_ratings, words_of
from data.scoring.scored_run import ScoredRun
from data.store.ledger import Ledger
from data.store.workspace import Workspace
from metrics.schema.scores import BoolArray

__all__ = ["AGREEMENT_MARKS", "confusion_cohort", "disagreement_cohort"]

Chosen = tuple[str, EvaluatedMetric, Cuts]
_ACCEPTED = "QUANTITY:METRIC:SOURCE or QUANTITY:METRIC:SOURCE:CUT:CUT"


def disagreement_cohort(quantity: str, held: EvaluatedMetric, cuts: Cuts = DEFAULT_CUTS) -> str:
    """Name the cases on which people and a metric differ."""
    return f"disagree:{_written(quantity, held, cuts)}"


def confusion_cohort(cell: Cell, quantity: str, held: EvaluatedMetric, cuts: Cuts = DEFAULT_CUTS) -> str:
    """Name the cases of one cell of the confusion matrix."""
    return f"verdicts:{cell}:{_written(quantity, held, cuts)}"


def _written(quantity: str, held: EvaluatedMetric, cuts: Cuts) -> str:
    names = f"{quote(quantity, safe='')}:{quote(held.metric, safe='')}:{held.source.label}"
    return names if cuts == DEFAULT_CUTS else f"{names}:{cuts[0]:g}:{cuts[1]:g}"


def _read(value: str) -> Chosen:
    parts = value.split(":")
    if len(parts) not in (3, 5):
        raise ValueError(f"{value[:60]!r}; accepted: {_ACCEPTED}")
    quantity, metric, source = unquote(parts[0]), unquote(parts[1]), parts[2]
    cuts = (_cut(parts[3]), _cut(parts[4])) if len(parts) == 5 else DEFAULT_CUTS
    return quantity, evaluated_metric_of(f"{metric}:{source}"), cuts


def _cut(text: str) -> float:
    found = float(text)
    if not 0.0 <= found <= 1.0:
        raise ValueError(f"{text[:20]!r}; accepted: a cut-off from 0 to 1")
    return found


def _verdicts(scored: ScoredRun, value: str) -> BinaryLabels:
    quantity, held, cuts = _read(value)
    ledger = Ledger(Workspace(scored.samples_path.parents[2]).ledger_path)
    return binary_labels_of(scored, human_ratings(scored, ledger, quantity), held, cuts)


def _apart(scored: ScoredRun, value: str) -> BoolArray:
    return _verdicts(scored, value).apart


def _apart_title(value: str) -> str:
    quantity, held, _ = _read(value)
    return f"people ({dimension_title(quantity)}) and {held.title} disagree"


def _celled(value: str) -> tuple[Cell, str]:
    cell, _, rest = value.partition(":")
    for known in CELLS:
        if cell == known:
            return known, rest
    raise ValueError(f"{cell[:20]!r}; accepted: {', '.join(CELLS)}")


def _in_cell(scored: ScoredRun, value: str) -> BoolArray:
    cell, rest = _celled(value)
    return _verdicts(scored, rest).cell(cell)


def _cell_title(value: str) -> str:
    cell, rest = _celled(value)
    people, other = cell.split("-")
    quantity, held, _ = _read(rest)
    said, is_ = words_of(quantity)[people == "no"], DEGREES[other == "no"]
    return f"people say {dimension_title(quantity)}: {said}, and {held.title} is {is_}"


AGREEMENT_MARKS: dict[str, tuple[Callable[[str], str], Callable[[ScoredRun, str], BoolArray]]] = {
    "disagree": (_apart_title, _apart),
    "verdicts": (_cell_title, _in_cell),
}
