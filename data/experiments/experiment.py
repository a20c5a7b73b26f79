"""What an experiment is: arms of planned samples that differ in one thing, and what is measured of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from ragtriage.data.experiments.questions import AskedQuestion, Passage, Questions
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.systems.system import SystemRequest
from ragtriage.metrics.schema.scores import FloatArray

F = TypeVar("F")  # what a kind of experiment finds
QUALITY = "answer_match"  # of an arm, unless the user names another metric
Level = str | int | float | bool


@dataclass(frozen=True)
class PlannedSample:
    """One question under one arm."""

    question: AskedQuestion  # what is asked
    request: SystemRequest  # to the system
    # fields of the sample that the experiment sets; they win over the system's
    case: Mapping[str, Any] = field(default_factory=dict)


def asked_from(
    question: AskedQuestion, context: Sequence[Passage], settings: Mapping[str, Any] | None = None
) -> SystemRequest:
    """Return the request that asks a question from this context, in place of what the system retrieves."""
    return SystemRequest(
        question.question_id,
        question.question,
        history=question.history,
        contexts=[passage.sent() for passage in context],
        settings=dict(settings or {}),
    )


@dataclass(frozen=True)
class Arm:
    """One condition of an experiment; it becomes one run."""

    key: str  # names it in the record, e.g. "rank-5".
    title: str  # name of its run
    # factor -> level; they are settings of the run, so that effects are estimated from them
    levels: Mapping[str, Level]
    samples: tuple[PlannedSample, ...]  # what is asked


@dataclass(frozen=True)
class Design:
    """The arms of an experiment."""

    arms: tuple[Arm, ...]  # in the order in which they are shown
    notes: tuple[str, ...] = ()  # what the reader must know: questions left out and why


@dataclass(frozen=True)
class Measured:
    """The values of an experiment's runs, from which the findings of its kind are computed."""

    parameters: Mapping[str, Any]  # of the experiment
    arms: tuple[str, ...]  # their keys
    levels: Mapping[str, Mapping[str, Level]]  # arm -> factor -> level
    # metric -> (q, arms) mean over repeats of each question, NaN where not measured or where an arm does not
    # ask it
    values: Mapping[str, FloatArray]
    question_ids: tuple[str, ...]  # (q,) of the rows
    scored: tuple[ScoredRun, ...] = ()  # (arms,) their scored runs

    def column(self, arm: str, metric: str) -> FloatArray:
        """Return (q,) values of an arm; not measured where it has no run, as of one that was deleted."""
        if arm not in self.arms:
            return np.full(len(self.question_ids), np.nan)
        return self.values[metric][:, self.arms.index(arm)]

    def matrix(self, arms: Sequence[str], metric: str) -> FloatArray:
        """Return (q, arms) values of some arms."""
        return np.array([self.column(arm, metric) for arm in arms]).reshape(len(arms), -1).T


def answer_scores(planned: PlannedSample, answer: str) -> dict[str, float | None]:
    """Return whether an answer holds an accepted one, or all its parts; nothing where none is known."""
    question = planned.question
    return {QUALITY: float(question.is_answered_by(answer))} if question.answers else {}


@dataclass(frozen=True)
class ExperimentKind(Generic[F]):
    """A kind of experiment."""

    key: str  # names it on the command line and in the address
    title: str  # shown to the reader
    changes: str  # what differs between its arms, as the end of "... changes".
    # (questions, parameters) -> the arms; raises DataError where they cannot be made
    design: Callable[[Questions, Mapping[str, Any]], Design]
    # (measured, quality) -> a frozen dataclass with what the arms show. It is computed anew whenever runs are
    # scored anew, and shown by the headline and the chart of its kind.
    findings: Callable[[Measured, str], F | None]
    # (planned sample, answer) -> metric -> value, kept with the sample
    scores: Callable[[PlannedSample, str], Mapping[str, float | None]] = answer_scores
    metrics: tuple[str, ...] = ()  # names of what `scores` returns that `findings` reads beside the quality
    quality: str = QUALITY  # metric of its arms unless the user names another
    # name -> what it means, with its default in brackets
    parameters: Mapping[str, str] = field(default_factory=dict)
