"""Document and live state: the same question with the document alone, the state alone, and both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.experiment import (
    REFUSED,
    Arm,
    Design,
    ExperimentKind,
    Level,
    Measured,
    PlannedSample,
    asked_from,
    scores_and_refusal,
)
from ragtriage.data.experiments.questions import AskedQuestion, Questions
from ragtriage.metrics.experiments.contexts import (
    BOTH,
    DOCUMENT,
    RIGHT_FROM,
    STATE,
    SourceEffect,
    needs_of,
    source_effect,
)
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import Interval, mean_over_questions

ARMS = ("document", "state", "both")  # in the order of the columns of `source_effect`
TITLES = ("Document alone", "Live state alone", "Document and live state")


@dataclass(frozen=True)
class SourceFindings:
    """The sources that answers need."""

    effect: SourceEffect
    need_both: tuple[str, ...]  # ids of the questions that are right with both sources alone
    # of the answers that are right with both sources and wrong without the state, the share that declines
    declined_without_state: Interval | None
    declined_without_document: Interval | None  # the same without the document


def _design(questions: Questions, _: Mapping[str, Any]) -> Design:
    asked = [entry for entry in questions.questions if entry.gold and entry.state]
    if not asked:
        raise DataError(
            f"{questions.name}: no question has the text of a gold passage and a live state; accepted: rows "
            "with `gold` or `relevant` entries that have a `text`, and with `state` as text or an object"
        )
    left_out = len(questions.questions) - len(asked)
    notes = (
        f"questions left out, without a gold passage that has a text or without a live state: {left_out:,}",
    )
    arms = tuple(_arm(asked, key, title) for key, title in zip(ARMS, TITLES, strict=True))
    return Design(arms, notes if left_out else ())


def _arm(asked: Sequence[AskedQuestion], key: str, title: str) -> Arm:
    has_document, has_state = key != "state", key != "document"
    samples = tuple(
        PlannedSample(
            entry,
            asked_from(
                entry,
                [
                    *(entry.gold if has_document else ()),
                    *([entry.state] if entry.state and has_state else []),
                ],
            ),
            {"relevant": entry.relevant()} if has_document else {},
        )
        for entry in asked
    )
    levels: dict[str, Level] = {
        "document": "there" if has_document else "absent",
        "state": "there" if has_state else "absent",
    }
    return Arm(key, title, levels, samples)


def _findings(measured: Measured, quality: str) -> SourceFindings | None:
    """Return what the sources are good for; None while an arm has no run."""
    if not set(ARMS) <= set(measured.arms):
        return None
    values = measured.matrix(ARMS, quality)
    known = np.flatnonzero(np.isfinite(values).all(axis=1))
    needs = dict(zip(known.tolist(), needs_of(values[known]), strict=True))
    return SourceFindings(
        source_effect(values),
        tuple(measured.question_ids[at] for at, need in needs.items() if need == "both"),
        _declined(measured, values, DOCUMENT),
        _declined(measured, values, STATE),
    )


def _declined(measured: Measured, values: FloatArray, alone: int) -> Interval | None:
    """Return the share of declined answers among those that one source alone loses; None where none is."""
    lost = (values[:, BOTH] >= RIGHT_FROM) & (values[:, alone] < RIGHT_FROM)
    return mean_over_questions(measured.column(ARMS[alone], REFUSED)[lost]) if lost.any() else None


SOURCES = ExperimentKind(
    key="sources",
    title="Document and live state",
    changes="which of two sources the context holds",
    design=_design,
    findings=_findings,
    scores=scores_and_refusal,
    metrics=(REFUSED,),
)
