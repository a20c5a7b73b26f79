"""Lost in the middle: the same question and documents, with the gold document at different ranks.

Source: Liu et al. 2024, "Lost in the middle: how language models use long contexts" (TACL 12).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.experiment import (
    Arm,
    Design,
    ExperimentKind,
    Level,
    Measured,
    PlannedSample,
    asked_from,
)
from ragtriage.data.experiments.questions import AskedQuestion, Passage, Questions, draw_distractors
from ragtriage.metrics.experiments.contexts import PositionEffect, position_effect, positions_of
from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.statistics.intervals import Interval, mean_over_questions


@dataclass(frozen=True)
class PublishedCurve:
    """Quality of one model by the rank of the gold document."""

    name: str  # of the model
    quality: tuple[float, ...]  # at each rank
    closed_book: float  # without documents
    gold_only: float  # with the gold document alone


@dataclass(frozen=True)
class PublishedCurves:
    """Curves of one publication."""

    source: str  # where they were published
    questions: str  # what was asked
    documents: int  # in a context
    ranks: tuple[int, ...]  # of the gold document
    curves: tuple[PublishedCurve, ...]  # one for each model


@cache
def published_positions() -> PublishedCurves:
    """Return the published curves of quality by the rank of the gold document."""
    text = files("ragtriage.data.experiments").joinpath("lost_in_the_middle.json").read_text(encoding="utf-8")
    facts = json.loads(text)
    curves = tuple(
        PublishedCurve(model["name"], tuple(model["quality"]), model["closed_book"], model["gold_only"])
        for model in facts["models"]
    )
    return PublishedCurves(
        facts["source"], facts["questions"], facts["documents"], tuple(facts["ranks"]), curves
    )


DOCUMENTS, PLACES = 10, 5
CLOSED_BOOK, GOLD_ONLY = "closed-book", "gold-only"
FEWEST_UNKNOWN = 3  # questions that closed book fails, below which the curve over them is left out


@dataclass(frozen=True)
class PositionFindings:
    """The effect of the gold document's rank."""

    effect: PositionEffect  # over all questions
    # over the questions that the system fails without documents; None where they are too few or closed book
    # was not asked
    unknown: PositionEffect | None
    n_unknown: int  # how many these are
    floor: Interval | None  # closed book; None where not asked
    ceiling: Interval | None  # the gold document alone
    documents: int  # in a context


def _design(questions: Questions, parameters: Mapping[str, Any]) -> Design:
    documents = int(parameters.get("documents", DOCUMENTS))
    try:
        ranks = tuple(parameters.get("ranks") or positions_of(documents, PLACES))
    except MetricsError as error:
        raise DataError(f"position: {error}; accepted: --documents of 3 or more") from error
    if len(ranks) < 3 or not all(1 <= rank <= documents for rank in ranks):
        raise DataError(f"--ranks {ranks}; accepted: three or more ranks from 1 to {documents}")
    with_gold, notes = questions.with_gold()
    drawn, lacking = draw_distractors(questions, with_gold, documents - 1)
    asked = [entry for entry in with_gold if entry.question_id in drawn]
    if not asked:
        raise DataError(
            f"{questions.name}: no question has {documents - 1} distractors; accepted: more questions with "
            "gold passages, or fewer --documents"
        )
    closed = tuple(_planned(entry, [], {"context_mode": "closed_book"}) for entry in asked)
    gold_only = tuple(_planned(entry, entry.gold[:1], {"context_mode": "oracle"}) for entry in asked)
    arms = [
        Arm(CLOSED_BOOK, "Closed book", {"context": "closed book"}, closed),
        Arm(GOLD_ONLY, "Gold document alone", {"context": "gold only"}, gold_only),
    ]
    arms += [_at_rank(asked, drawn, rank, documents) for rank in sorted(set(ranks))]
    return Design(tuple(arms), (*notes, *lacking))


def _at_rank(
    asked: Sequence[AskedQuestion], drawn: Mapping[str, tuple[Passage, ...]], rank: int, documents: int
) -> Arm:
    samples = []
    for entry in asked:
        others = drawn[entry.question_id]
        context = [*others[: rank - 1], entry.gold[0], *others[rank - 1 :]]
        samples.append(_planned(entry, context, {}))
    levels: dict[str, Level] = {"context": f"{documents} documents", "gold_rank": rank}
    return Arm(f"rank-{rank}", f"Gold at rank {rank} of {documents}", levels, tuple(samples))


def _planned(question: AskedQuestion, context: Sequence[Passage], case: Mapping[str, Any]) -> PlannedSample:
    """Return a question with a fixed context; only the first gold passage is in it, so only it is gold."""
    relevant = [{"id": question.gold[0].doc_id}]
    return PlannedSample(question, asked_from(question, context), {**case, "relevant": relevant})


def _findings(measured: Measured, quality: str) -> PositionFindings | None:
    """Return the effect of the place; None while fewer than three places have a run."""
    ranks = {
        arm: int(measured.levels[arm]["gold_rank"])
        for arm in measured.arms
        if "gold_rank" in measured.levels[arm]
    }
    arms = sorted(ranks, key=lambda arm: ranks[arm])
    if len(arms) < 3:
        return None
    places = [ranks[arm] for arm in arms]
    values = measured.matrix(arms, quality)
    closed = measured.column(CLOSED_BOOK, quality) if CLOSED_BOOK in measured.arms else None
    # what the model knows without a context hides where the gold stands
    unknown = np.zeros(len(values), dtype=np.bool_) if closed is None else closed < 0.5
    enough = int(unknown.sum()) >= FEWEST_UNKNOWN
    return PositionFindings(
        position_effect(places, values),
        position_effect(places, values[unknown]) if enough else None,
        int(unknown.sum()),
        None if closed is None else mean_over_questions(closed),
        mean_over_questions(measured.column(GOLD_ONLY, quality)) if GOLD_ONLY in measured.arms else None,
        int(measured.parameters.get("documents", DOCUMENTS)),
    )


POSITION = ExperimentKind(
    key="position",
    title="Lost in the middle",
    changes="the rank of the gold document",
    design=_design,
    findings=_findings,
    parameters={
        "documents": f"documents in a context, the gold one among them [{DOCUMENTS}]",
        "ranks": "of the gold document [five, evenly from the first to the last]",
    },
)
