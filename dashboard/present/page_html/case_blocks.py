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
    """A word or two in a coloured box."""

    text: str  # what it says
    look: Look | Literal[""] = ""  # state that colours it; "" for the neutral one
    owner: Owner | None = None  # the part of the pipeline whose colour it carries as a dot; None for none
    help: str = ""  # shown when the pointer rests on it


@dataclass(frozen=True)
class CaseScore:
    """A score of the open case."""

    title: str  # of the metric
    value: str  # as text
    share: float | None  # how far the bar reaches, from 0 to 1; None where nothing was measured
    threshold: float | None = None  # of the case, from 0 to 1; None for none
    source: str = ""  # how it was obtained
    help: str = ""  # the reason that came with it

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
    """What stands above the answer."""

    chips: Sequence[Chip]  # conclusion, whether it is inferred or doubted, refusal, human labels
    turns: Sequence[tuple[str, str]]  # earlier turns of the conversation, (role, text)
    question: str


def case_head(head: CaseHead) -> Markup:
    """Return chips, earlier turns (folded) and the question of a case."""
    return render("case_head.html", head=head)


def case_reference(reference: str, unfolded: bool, legend: bool = False) -> Markup:
    """Return the reference answer, folded or not, with a legend of the colours of the answer above it."""
    return render("case_reference.html", reference=reference, unfolded=unfolded, legend=legend)


def context_heading(text: str) -> Markup:
    """Return the heading of a context of which nothing else may be said."""
    return Markup('<div class="rt rt-case"><div class="rt-contexthead"><h3>{}</h3></div></div>').format(text)


def case_scores(scores: Sequence[CaseScore], notes: Sequence[str] = ()) -> Markup:
    """Return the scores of a case as bars with their thresholds, and notes below them."""
    return render("case_scores.html", scores=scores, notes=[note for note in notes if note])
