"""The words of the next steps: the same on pages, slides and in every command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragtriage.dashboard.wording.escaping import capital
from ragtriage.data.gates.next_steps import NextStep
from ragtriage.metrics.diagnosis.stages import STAGES, Owner, stage_code
from ragtriage.metrics.gates.wording import gate_title
from ragtriage.metrics.number_text import count, percent

MOST_NAMED = 2  # gates in one sentence
FINDINGS = {"ids": "Match the ids", "same_list": "Check the retriever"}

_REPAIRS: dict[Owner, str] = {
    "retrieval": "retrieval",
    "reranking": "the reranker",
    "refusal": "the refusals",
    "generation": "generation",
    "format": "the answer format",
    "orchestration": "the orchestration",
    "safety": "isolation and safety",
}


@dataclass(frozen=True)
class StepWords:
    """What to do, as a request, and why, as sentences."""

    what: str
    why: str


def repair_of(owner: Owner) -> str:
    """Return what to repair for the part of the pipeline that fails, as the object of a sentence."""
    return _REPAIRS.get(owner, "")


def step_words(step: NextStep) -> StepWords:
    """Return the words of a step."""
    if step.kind == "stage":
        stage = STAGES[stage_code(step.key)]
        repair = repair_of(stage.owner)
        bound = "" if step.pass_rate is None else f" At most {percent(step.pass_rate)} would pass."
        what = f"{f'Repair {repair}' if repair else 'Read the cases'}: {stage.count(step.n)}"
        return StepWords(what, f"{stage.advice}{bound}")
    if step.kind in ("finding", "scores"):
        what = FINDINGS.get(step.key, "Settle the numbers" if step.kind == "finding" else "Settle the scores")
        return StepWords(what, f"{capital(step.because)}; what follows rests on it.")
    if step.kind == "labels":
        return StepWords(
            f"Label {count(step.n, 'random answer')} by hand",
            "Labels show whether the answers are right and the scores can be trusted.",
        )
    titles = [gate_title(result.gate) for result in step.gates[:MOST_NAMED]]
    more = f"; and {step.n - MOST_NAMED} more" if step.n > MOST_NAMED else ""
    listed = f"{'; '.join(titles)}{more}"
    if step.kind == "gates":
        what = "Meet the gate that fails" if step.n == 1 else f"Meet the {step.n:,} gates that fail"
        return StepWords(what, f"{listed}.")
    if step.kind == "questions":
        return StepWords("Ask more questions", f"The sample cannot tell whether these gates hold: {listed}.")
    return StepWords("Measure what the gates need", f"These gates are not measured: {listed}.")


def step_sentences(steps: Sequence[NextStep]) -> list[str]:
    """Return each step as one line."""
    return [f"{words.what}. {words.why}" for words in map(step_words, steps)]
