"""The steps of a pipeline: how many cases of a run survive each, and where the others are lost."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.metrics.diagnosis.stage_rules import WHOLE, equals, reaches
from ragtriage.metrics.diagnosis.stages import STAGES
from ragtriage.metrics.schema.scores import BoolArray, FloatArray

Basis = Literal["measured", "inferred", "not recorded", "not checked"]
UNCHECKED = "No fault found"  # what cases have whose answers nothing checked
NOT_JUDGED = ""  # the key of the cases of which nothing says whether they are good
STEPS = {
    "asked": "Asked",
    "routed": "Routed",
    "found": "Found",
    "ranked": "In top k",
    "answered": "Answered",
    "faithful": "Faithful",
    "complete": "On the question",
    "good": "Good",
}
_BY_STAGE = {"left_out": "complete", "off_question": "complete", "refused": "answered"}
_BY_OWNER = {
    "orchestration": "routed",
    "retrieval": "found",
    "reranking": "ranked",
    "refusal": "answered",
    "generation": "faithful",
}  # every other stage is found last: a format, a safety check, a wrong answer, what nothing explains


@dataclass(frozen=True)
class Loss:
    """The bad cases of one failure stage."""

    key: str  # of the stage; NOT_JUDGED for cases that nothing measures
    n: int  # number of these cases, or of the calls that they stand for
    n_inferred: int = 0  # of them, those attributed by the context metric, since no gold is recorded


@dataclass(frozen=True)
class PipelineStep:
    """One step."""

    key: str
    title: str  # what a case that survives it has
    survivors: int  # cases that are left after it
    losses: tuple[Loss, ...]  # the cases that it loses, by failure stage, most first
    basis: Basis  # whether the run records what decides this step

    @property
    def lost(self) -> int:
        """Cases that it loses."""
        return sum(loss.n for loss in self.losses)


@dataclass(frozen=True)
class Pipeline:
    """The steps of one run in order, from all its cases to the good ones."""

    n: int  # cases of the run, or the calls that it is a weighted sample of
    steps: tuple[PipelineStep, ...]  # in order; the survivors of one and the losses of the next add up
    noun: str = "case"  # what is counted

    @property
    def good(self) -> int:
        """Cases that survive every step."""
        return self.steps[-1].survivors

    def share(self, key: str) -> float | None:
        """Return the share of cases that survive a step; None where the run has none, or not that step."""
        left = [step.survivors for step in self.steps if step.key == key]
        return left[0] / self.n if left and self.n else None

    def losses(self) -> tuple[Loss, ...]:
        """The losses of all steps, in the order of the steps."""
        return tuple(loss for step in self.steps for loss in step.losses)


def pipeline_of(diagnosis: Diagnosis) -> Pipeline:
    """Count the cases of a run that survive each step of its pipeline.

    A bad case is lost at the step of its failure stage; one with part of its gold at the ranking where all of
    it is among the candidates. What cannot be called good or bad is lost at the last
    step, so survivors and losses add up to all cases. Where too few answers were checked, none is called
    good.
    """
    lost = _losses(diagnosis)
    n = diagnosis.stand_for(np.ones(diagnosis.scored.n, dtype=np.bool_))
    left, steps = n, []
    for key, title in STEPS.items():
        losses = tuple(sorted(lost.get(key, ()), key=lambda loss: (loss.key == NOT_JUDGED, -loss.n)))
        if key == "routed" and not losses:
            continue  # most pipelines have no router
        left -= sum(loss.n for loss in losses)
        steps.append(PipelineStep(key, title, left, losses, _basis(diagnosis, key, losses)))
    if not diagnosis.answers.enough:
        steps[-1] = replace(steps[-1], title=UNCHECKED, basis="not checked")
    return Pipeline(n, tuple(steps), "case" if diagnosis.scored.question_weights is None else "call")


def _losses(diagnosis: Diagnosis) -> dict[str, list[Loss]]:
    stage, inferred = diagnosis.stages.stage, diagnosis.stages.inferred
    lost: dict[str, list[Loss]] = {}
    found = reaches(diagnosis.features, "gold_in_candidates", WHOLE)
    found &= ~equals(diagnosis.features, "has_candidates", 0)
    for code, entry in enumerate(STAGES):
        step = _BY_STAGE.get(entry.key, _BY_OWNER.get(entry.owner, "good"))
        attributed: BoolArray = stage == code
        cut_off = attributed & found if entry.key == "partial_gold" else attributed & False
        for at, cases in ((step, attributed & ~cut_off), ("ranked", cut_off)):
            if cases.any():
                loss = Loss(entry.key, diagnosis.stand_for(cases), diagnosis.stand_for(cases & inferred))
                lost.setdefault(at, []).append(loss)
    unknown = diagnosis.stand_for(~diagnosis.measured & (stage < 0))
    if unknown:
        lost.setdefault("good", []).append(Loss(NOT_JUDGED, unknown))
    return lost


def _basis(diagnosis: Diagnosis, key: str, losses: Sequence[Loss]) -> Basis:
    """Return whether the run has what decides a step, by gold or only by the context metric."""
    features = diagnosis.features
    gold, answered = features.gold_in_context, _any([features.refused])
    if losses and all(loss.n_inferred == loss.n for loss in losses):
        return "inferred"
    decides = {
        "found": (gold, features.gold_in_candidates),
        "ranked": (features.gold_in_candidates,),
        "answered": (gold, features.answerable) if answered else (),
        "faithful": (features.faithfulness, features.contradicts_context),
        "complete": (features.answer_relevancy, features.context_utilization, features.omission),
    }
    if losses or key not in decides or _any(decides[key]):
        return "measured"
    if _any([features.context]) and (key == "found" or (key == "answered" and answered)):
        return "inferred"
    return "not recorded"


def _any(columns: Sequence[FloatArray | None]) -> bool:
    return any(column is not None and bool(np.isfinite(column).any()) for column in columns)
