"""What stands on a slide, as plain text and numbers: the same for PowerPoint, the page and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.present.page_html.blocks import Tile

Layout = Literal["verdict", "why", "change", "example", "next"]


@dataclass(frozen=True)
class BigNumber:
    """A number of cases with what it counts.

    Attributes:
        number: as text.
        title: what it counts, in a few words.
        detail: what that means.
        colour: "#rrggbb".
    """

    number: str
    title: str
    detail: str
    colour: str


@dataclass(frozen=True)
class Remark:
    """A short text with a heading beside a chart; the state colours the heading."""

    heading: str
    text: str
    state: State | None = None


@dataclass(frozen=True)
class SideAnswer:
    """One of two answers side by side: whose it is, how it went, its text."""

    name: str
    how: str
    text: str
    state: State


@dataclass(frozen=True)
class Step:
    """Something to do: what, why, and how many cases or gates it concerns."""

    title: str
    detail: str
    aside: str


@dataclass(frozen=True)
class SlideContent:
    """What one slide shows besides its title and its chart. Empty fields are not drawn.

    Attributes:
        layout: how it is laid out.
        state: colours the edge and, on the first slide, the title; None for the colour of the product.
        foot: run, data, date and n, in small print.
        subtitle: one sentence below the title.
        tiles: numbers in a row.
        numbers: numbers of cases below each other.
        remarks: texts beside the chart.
        doubt: what the checks doubt about the slide.
        question: of the example.
        answers: to that question.
        documents: what the run retrieved for it, in rank order.
        conclusion: what follows from the example.
        steps: what to do, in order.
        decision: what the audience is asked to decide.
        reservation: what limits that decision.
    """

    layout: Layout
    state: State | None = None
    foot: str = ""
    subtitle: str = ""
    tiles: tuple[Tile, ...] = ()
    numbers: tuple[BigNumber, ...] = ()
    remarks: tuple[Remark, ...] = ()
    doubt: str = ""
    question: str = ""
    answers: tuple[SideAnswer, ...] = ()
    documents: tuple[str, ...] = ()
    conclusion: str = ""
    steps: tuple[Step, ...] = ()
    decision: str = ""
    reservation: str = ""
