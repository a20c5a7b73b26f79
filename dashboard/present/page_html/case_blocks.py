"""The blocks of the Cases page: chips, question, reference and scores of the open case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from ragtriage.dashboard.headlines.headline import Look
from ragtriage.dashboard.present.templating import render
from ragtriage.metrics.diagnosis.stages import Owner


@dataclass(frozen=True)
class Chip:
    """A word or two in a coloured box.

    Attributes:
        text: what it says.
        look: state that colours it; "" for the neutral one.
        owner: the part of the pipeline whose colour it carries as a dot; None for none.
        help: shown when the pointer rests on it.
    """

    text: str
    look: Look | Literal[""] = ""
    owner: Owner | None = None
    help: str = ""


@dataclass(frozen=True)
class CaseScore:
    """A score of the open case.

    Attributes:
        title: of the metric.
        value: as text.
        share: how far the bar reaches, from 0 to 1; None where nothing was measured.
        threshold: of the case, from 0 to 1; None for none.
        source: how it was obtained.
        help: the reason that came with it.
    """

    title: str
    value: str
    share: float | None
    threshold: float | None = None
    source: str = ""
    help: str = ""

    @property
    def look(self) -> Look | Literal[""]:
        """State by the threshold; "" without one."""
        if self.share is None:
            return "unmeasured"
        if self.threshold is None:
            return ""
        return "bad" if self.share < self.threshold else "good"


@dataclass(frozen=True)
class CaseHead:
    """What stands above the answer.

    Attributes:
        chips: conclusion, whether it is inferred or doubted, refusal, human labels.
        turns: earlier turns of the conversation, (role, text).
        question: the question.
    """

    chips: Sequence[Chip]
    turns: Sequence[tuple[str, str]]
    question: str


def case_head(head: CaseHead) -> Markup:
    """Return chips, earlier turns (folded) and the question of a case."""
    return render("case_head.html", head=head)


def case_reference(reference: str, unfolded: bool, legend: bool = False) -> Markup:
    """Return the reference answer, folded or not.

    Args:
        reference: its text, "" for none.
        unfolded: whether it is open at first.
        legend: whether to say what the colours of the answer above it mean.
    """
    return render("case_reference.html", reference=reference, unfolded=unfolded, legend=legend)


def context_heading(text: str) -> Markup:
    """Return the heading of a context of which nothing else may be said."""
    return Markup('<div class="rt rt-case"><div class="rt-contexthead"><h3>{}</h3></div></div>').format(text)


def case_scores(scores: Sequence[CaseScore], notes: Sequence[str] = ()) -> Markup:
    """Return the scores of a case as bars with their thresholds, and notes below them."""
    return render("case_scores.html", scores=scores, notes=[note for note in notes if note])
