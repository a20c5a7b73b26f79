"""The first sentence on a run: where it loses most of its cases."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.dashboard.wording.escaping import in_sentence, shorten
from ragtriage.data.diagnosis.context import part_title
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.main_loss import MainLoss, main_loss
from ragtriage.metrics.diagnosis.slices import Concentration
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.number_text import count
from ragtriage.metrics.sanity.rule import Finding

MOST_VALUES = 3  # of a slice that are named
LONGEST_VALUE = 40


def slice_values(where: Concentration) -> str:
    """Return the dimension and its values, such as "language zh, ar"."""
    named = [shorten(value, LONGEST_VALUE) for value in where.values[:MOST_VALUES]]
    more = len(where.values) - MOST_VALUES
    name = where.name.replace("_", " ")
    return f"{name} {', '.join(named)}{f' and {more:,} more' if more > 0 else ''}"


def loss_sentence(diagnosis: Diagnosis, findings: Sequence[Finding]) -> str:
    """Return where most cases are lost, without full stop; "" where no place stands out."""
    loss = main_loss(diagnosis, findings)
    if loss is None:
        return ""
    cases = f"of {count(loss.of, 'case')}"
    clauses = []
    if loss.lacking:
        clauses = [_lacking(loss, cases)]
    elif loss.stage:
        clauses = [f"{loss.n:,} {cases}: {in_sentence(STAGES[stage_code(loss.stage)].title)}"]
    if loss.where is not None:
        clauses.append(_slice_clause(loss.where, len(diagnosis.scored.question_ids) < diagnosis.scored.n))
    return "; ".join(clauses)


def _lacking(loss: MainLoss, cases: str) -> str:
    lack = "lacks" if loss.lacking == 1 else "lack"
    what = "the answer, or part of it," if loss.partial else "the answer"
    text = f"{loss.lacking:,} {cases} {lack} {what} in the context"
    if loss.part is not None and 2 * loss.part[1] >= loss.lacking:
        text += f" ({part_title(loss.part[0])} in {loss.part[1]:,})"
    if loss.mostly_from_memory:
        are = "is" if loss.from_memory == 1 else "are"
        text += f", and {loss.from_memory:,} of these {are} answered correctly from the model's memory"
    return text


def _slice_clause(where: Concentration, repeated: bool) -> str:
    bad = "bad questions" if repeated else "bad cases"
    return f"{where.n_bad:,} of {where.n_bad_all:,} {bad} have {slice_values(where)}"
