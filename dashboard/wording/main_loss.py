"""The first sentence on a run: where it loses most of its cases."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.dashboard.wording.escaping import in_sentence, shorten
from ragtriage.data.diagnosis.context import part_title
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.main_loss import MainLoss, main_loss
from ragtriage.metrics.diagnosis.slices import Concentration
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.sanity.rule import Finding

MOST_VALUES = 3  # of a slice that are named
LONGEST_VALUE = 40


def slice_values(where: Concentration) -> str:
    """Return the dimension and its values, such as "language zh or ar"."""
    named = [shorten(value, LONGEST_VALUE) for value in where.values[:MOST_VALUES]]
    more = len(where.values) - MOST_VALUES
    name = where.name.replace("_", " ")
    listed = f"{', '.join(named)} or {more:,} more" if more > 0 else " or ".join(named)
    return f"{name} {listed}"


def loss_sentence(diagnosis: Diagnosis, findings: Sequence[Finding], with_stage: bool = True) -> str:
    """Return where most cases are lost, without full stop; "" where no place stands out.

    Args:
        diagnosis: of the run.
        findings: of its sanity checks.
        with_stage: whether to name a stage that is not of the retriever; False where stages stand beside it.
    """
    loss = main_loss(diagnosis, findings)
    if loss is None:
        return ""
    clauses = [_place(loss)] if loss.lacking or (loss.stage and with_stage) else []
    if loss.where is not None:
        bad = "bad questions" if len(diagnosis.scored.question_ids) < diagnosis.scored.n else "bad cases"
        clauses.append(
            f"{slice_values(loss.where)} accounts for {loss.where.n_bad:,} of {loss.where.n_bad_all:,} {bad}"
        )
    if loss.say_more:
        asked = f"on average {percent(loss.asked_for)} of what they claim was asked for"
        clauses.append(f"{wordy_statement(loss)}: {asked}")
    return "; ".join(clauses)


def loss_statement(loss: MainLoss) -> str:
    """Return where many cases are lost in the few words of a title; "" where no place stands out."""
    cases = f"of {count(loss.of, 'case')}"
    if loss.lacking:
        lack = "lacks" if loss.lacking == 1 else "lack"
        what = "the answer, or part of it," if loss.partial else "the answer"
        return f"{loss.lacking:,} {cases} {lack} {what} in the context"
    return f"{loss.n:,} {cases}: {in_sentence(STAGES[stage_code(loss.stage)].title)}" if loss.stage else ""


def _place(loss: MainLoss) -> str:
    text = loss_statement(loss)
    if loss.part is not None and 2 * loss.part[1] >= loss.lacking:
        text += f" ({part_title(loss.part[0])} in {loss.part[1]:,})"
    if loss.mostly_from_memory:
        are = "is" if loss.from_memory == 1 else "are"
        text += f", and {loss.from_memory:,} of these {are} answered correctly from the model's memory"
    return text


def wordy_statement(loss: MainLoss) -> str:
    """Return how many answers say more than asked; "" where these are few."""
    if not loss.say_more:
        return ""
    say = "says" if loss.say_more == 1 else "say"
    return f"{loss.say_more:,} of {count(loss.answers, 'answer')} {say} more than asked"
