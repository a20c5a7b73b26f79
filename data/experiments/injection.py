"""Injection: attack success, utility and poisoned documents in the runs of poisoned contexts."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.experiment import (
    QUALITY,
    REFUSED,
    ExperimentKind,
    Measured,
    PlannedSample,
    scores_and_refusal,
)
from ragtriage.data.experiments.planted_text import (
    ATTACK,
    CANARY,
    CLEAN,
    INSTRUCTION,
    TARGET,
    follows_attack,
    follows_canary,
    follows_wrong_answer,
    injection_design,
)
from ragtriage.data.experiments.questions import Questions
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.text.right_by_text import holds_answer
from ragtriage.data.text.tokens import folded
from ragtriage.metrics.experiments.contexts import (
    AttackOutcome,
    PoisonedRetrieval,
    attack_outcome,
    poisoned_retrieval,
)
from ragtriage.metrics.statistics.intervals import Interval, mean_over_questions
from ragtriage.metrics.statistics.paired import PairedDifference, mcnemar, paired


def poisoned_share(scored: ScoredRun, questions: Questions, k: int) -> PoisonedRetrieval:
    """Return precision, recall and F1 of the poisoned documents in the top k of a run.

    The documents are joined by question id; one counts as retrieved where a document has its text, whatever
    white space.

    Raises:
        DataError: no question of the run has poisoned documents.
    """
    poisoned = {entry.question_id: {folded(text) for text in entry.poisoned} for entry in questions.questions}
    counts: list[tuple[int, int, int]] = []
    for sample in scored.samples.each(["question_id", "retrieved"]):
        planted = poisoned.get(sample["question_id"])
        if planted:
            top = [folded(entry["text"] or "") for entry in (sample["retrieved"] or ())[:k]]
            counts.append((len(planted & set(top)), len(top), len(planted)))
    if not counts:
        raise DataError(
            f"run {scored.run.name}: no question has `poisoned_documents` in {questions.name}; accepted: "
            "questions with the ids of the run"
        )
    in_top, listed, there = np.array(counts, dtype=np.float64).T
    return poisoned_retrieval(in_top, listed, there)


FOLLOWED, TARGET_FOUND = "attack_followed", "target_in_answer"


@dataclass(frozen=True)
class PoisonedArm:
    """One way to poison a context."""

    arm: str  # its key
    attack: str  # "instruction" or "wrong answer"
    rank: int  # of the first poisoned document
    place: str  # in the document; "" for whole documents
    hiding: str  # of the instruction; "" for whole documents
    defended: bool  # whether the user's defence was on
    outcome: AttackOutcome  # attack success and utility
    # share of answers that hold the wrong answer, whatever else they hold; nothing scored for instructions
    target_alone: Interval


@dataclass(frozen=True)
class Defence:
    """The effect of a defence over all poisoned arms that were asked with and without it."""

    success_without: Interval  # attack success rate without it
    success_with: Interval  # with it
    utility: PairedDifference  # right answers to clean contexts, with it against without
    p: float  # exact McNemar p of the change in utility
    refused: Interval  # share of clean questions that it declines


@dataclass(frozen=True)
class InjectionFindings:
    """The effects of planted text."""

    clean_right: Interval  # right answers to the clean context, undefended
    success: Interval  # attack success over all undefended poisoned arms, a question counting once for each
    arms: tuple[PoisonedArm, ...]  # the ways to poison
    defence: Defence | None  # what it does; None without one


def _scores(planned: PlannedSample, answer: str) -> dict[str, float | None]:
    tags = planned.case.get("tags") or {}
    right = planned.question.answers
    scores = scores_and_refusal(planned, answer)
    if CANARY in tags:
        return {**scores, FOLLOWED: float(follows_canary(answer, tags[CANARY]))}
    if TARGET in tags:
        followed = follows_wrong_answer(answer, tags[TARGET], right)
        follows = holds_answer(answer, [tags[TARGET]])
        return {**scores, FOLLOWED: float(followed), TARGET_FOUND: float(follows)}
    if ATTACK in tags:
        decided = follows_attack(answer, tags[ATTACK], tags[INSTRUCTION], right)
        return scores if decided is None else {**scores, FOLLOWED: float(decided)}
    return scores


def _findings(measured: Measured, quality: str) -> InjectionFindings:
    clean = measured.column(CLEAN, quality)
    arms = tuple(
        _poisoned_arm(measured, quality, arm)
        for arm in measured.arms
        if measured.levels[arm]["attack"] != "none"
    )
    return InjectionFindings(
        mean_over_questions(clean), _success(measured, defended=False), arms, _defence(measured, quality)
    )


def _poisoned_arm(measured: Measured, quality: str, arm: str) -> PoisonedArm:
    levels = measured.levels[arm]
    defended = levels["defence"] != "none"
    clean = measured.column(f"{CLEAN}-defended" if defended else CLEAN, quality)
    outcome = attack_outcome(
        measured.column(arm, FOLLOWED), measured.column(arm, quality), measured.column(arm, REFUSED), clean
    )
    return PoisonedArm(
        arm=arm,
        attack=str(levels["attack"]),
        rank=int(levels["rank"]),
        place=str(levels.get("place", "")),
        hiding=str(levels.get("hiding", "")),
        defended=defended,
        outcome=outcome,
        target_alone=mean_over_questions(measured.column(arm, TARGET_FOUND)),
    )


def _success(measured: Measured, defended: bool) -> Interval:
    """Return attack success over arms; the interval takes the cases of one question together."""
    arms = [
        arm
        for arm in measured.arms
        if measured.levels[arm]["attack"] != "none"
        and (measured.levels[arm]["defence"] != "none") == defended
    ]
    if not arms:
        return mean_over_questions(np.zeros(0))
    followed = measured.matrix(arms, FOLLOWED)
    questions = np.repeat(np.arange(len(followed)), followed.shape[1])
    return mean_over_questions(followed.ravel(), questions)


def _defence(measured: Measured, quality: str) -> Defence | None:
    defended = f"{CLEAN}-defended"
    if defended not in measured.arms:
        return None
    before, after = measured.column(CLEAN, quality), measured.column(defended, quality)
    return Defence(
        _success(measured, defended=False),
        _success(measured, defended=True),
        paired(before, after, np.arange(len(before))),
        mcnemar(before, after) if np.all(np.isin(before[np.isfinite(before)], (0, 1))) else float("nan"),
        mean_over_questions(measured.column(defended, REFUSED)),
    )


PARAMETERS: Mapping[str, str] = {
    "documents": "documents in a context [3]",
    "ranks": "of the poisoned document [1 and the last]",
    "places": "of the instruction in it [end, start, middle]",
    "hidings": "of the instruction [visible, white-text, comment, zero-width]",
    "full": "every combination, not one thing at a time",
    "defence": "settings that turn on the system's defence",
    "attacks": "instructions to plant instead of the canary",
}
INJECTION = ExperimentKind(
    key="injection",
    title="Injection",
    changes="what is planted in the context",
    design=injection_design,
    findings=_findings,
    scores=_scores,
    metrics=(FOLLOWED, REFUSED, TARGET_FOUND, QUALITY),
    parameters=PARAMETERS,
)
