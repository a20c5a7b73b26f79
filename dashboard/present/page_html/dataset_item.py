"""A question of a dataset as HTML: its gold in place, other places, checks, versions, a review's bar."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from ragtriage.dashboard.headlines.headline import Headline, Look
from ragtriage.dashboard.present.page_html.blocks import Chip
from ragtriage.dashboard.present.templating import render
from ragtriage.data.chunking.corpus import Document
from ragtriage.data.datasets.item import GoldSpan

AROUND = 180  # characters shown on each side of a span
LONGEST_SPAN = 1_200  # characters of a span; of a longer one both ends are shown


@dataclass(frozen=True)
class Place:
    """A stretch of a document with the text around it."""

    heading: str  # document, headings above it, characters
    before: str
    text: str
    after: str
    look: Literal["good", "unclear"]  # gold, or what may answer as well
    note: str = ""  # after the heading


@dataclass(frozen=True)
class CheckCell:
    """A check of the open question, in two lines."""

    title: str
    value: str
    detail: str
    look: Look


@dataclass(frozen=True)
class VersionChip:
    """A run and whether it passes the question."""

    name: str
    look: Look
    answer: str  # shown when the pointer rests on it


@dataclass(frozen=True)
class ItemHead:
    """What stands above the gold of a question."""

    chips: Sequence[Chip]  # kind, topic, marks
    turns: Sequence[tuple[str, str]]  # of the conversation before it
    question: str
    answer: str  # "" for none
    unanswerable: bool = False


@dataclass(frozen=True)
class SpanFate:
    """A gold span that changed or is gone in another corpus."""

    question: str
    fate: str
    look: Look
    place: str
    was: str
    now: str  # "" where it is gone


def place_of(span: GoldSpan, document: Document | None, headings: Sequence[str], note: str = "") -> Place:
    """Return gold in its place; where its document is not there, its text as it was."""
    where = " › ".join([span.doc_id, *headings])
    heading = f"{where} · characters {span.start:,}–{span.end:,}"
    if document is None:
        return Place(f"{heading} · no such page in this corpus", "", span.quote, "", "unclear", note)
    text, blank = document.text, r"\n\s*\n"  # empty lines take room that the questions need
    start, end = max(0, span.start - AROUND), min(len(text), span.end + AROUND)
    before = ("…" if start else "") + text[start : span.start].lstrip()
    after = text[span.end : end].rstrip() + ("…" if end < len(text) else "")
    parts = (before, _cut(text[span.start : span.end]), after)
    before, shown, after = (re.sub(blank, "\n", part) for part in parts)
    return Place(heading, before, shown, after, "good", note)


def _cut(text: str) -> str:
    if len(text) <= LONGEST_SPAN:
        return text
    half = LONGEST_SPAN // 2
    return f"{text[:half]} … {len(text) - LONGEST_SPAN:,} characters … {text[-half:]}"


def item_head(head: ItemHead) -> Markup:
    """Return chips, earlier turns, question and reference answer of an item."""
    return render("dataset_head.html", head=head)


def places(title: str, shown: Sequence[Place]) -> Markup:
    """Return stretches of documents, each with what is marked in it, under a title."""
    return render("dataset_places.html", title=title, places=shown)


def check_grid(cells: Sequence[CheckCell], versions: Sequence[VersionChip]) -> Markup:
    """Return the checks in a grid, under a title with the versions that pass or fail."""
    return render("dataset_checks.html", cells=cells, versions=versions)


def review_band(headline: Headline, parts: Sequence[tuple[str, float]], meta: str) -> Markup:
    """Return the band of a review: how far it is, a bar, and its counts.

    Args:
        headline: what it concludes.
        parts: of the bar, the name of a colour and its share.
        meta: small print at the right.
    """
    return render("dataset_band.html", headline=headline, parts=parts, meta=meta)


def share_bar(title: str, parts: Sequence[tuple[str, float]], notes: Sequence[str]) -> Markup:
    """Return a bar of shares under a title, over a line of small print.

    Args:
        title: above the bar.
        parts: colour and share of each, from the left.
        notes: of the small print; one for each part gets its colour as a square.
    """
    return render("dataset_shares.html", title=title, parts=parts, notes=notes)


def fate_cards(title: str, cards: Sequence[SpanFate], more: str) -> Markup:
    """Return spans that changed or are gone, each with its text then and now."""
    return render("dataset_fates.html", title=title, cards=cards, more=more)
