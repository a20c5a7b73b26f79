"""The open question of a review: its gold in its place, where it may be answered too, checks and versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from ragtriage.dashboard.headlines.headline import Look
from ragtriage.dashboard.pages.datasets.analysis import Versions, answer_of
from ragtriage.dashboard.pages.datasets.opened import Opened, windows_of
from ragtriage.dashboard.pages.datasets.queue import Queued
from ragtriage.dashboard.present.page_html.blocks import Chip
from ragtriage.dashboard.present.page_html.dataset_item import (
    CheckCell,
    ItemHead,
    Place,
    VersionChip,
    check_grid,
    item_head,
    place_of,
    places,
)
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, open_store
from ragtriage.dashboard.shell.widgets import draw_folded
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.chunking.chunkers import TokenizedText, heading_path
from ragtriage.data.datasets.checks import CHECKS, CheckResult
from ragtriage.data.datasets.dataset import Dataset
from ragtriage.data.datasets.item import KINDS, GoldSpan, Item
from ragtriage.data.datasets.pooling import Pool, PooledRuns, judged_pool, pool_of, pooled_runs
from ragtriage.data.datasets.review import REASONS
from ragtriage.data.datasets.windows import Passage

LOOKS: Mapping[str, Look] = {"passed": "good", "marked": "unclear", "not checked": "unmeasured"}
SHORT = {  # titles of checks in the grid
    "gold": "Gold", "form": "Form", "copied": "Copied run", "leak": "Answer in question",
    "grounded": "Numbers", "alone": "Stands alone", "twin": "Nearest twin", "round_trip": "BM25",
    "elsewhere": "Elsewhere",
}  # fmt: skip
MARKS = {  # what a mark says in a chip
    "gold": "gold does not stand", "form": "wording", "copied": "copies the gold",
    "leak": "answer in the question", "grounded": "numbers not in the gold", "alone": "does not stand alone",
    "twin": "twin of another", "round_trip": "not found by its words",
    "elsewhere": "perhaps answered elsewhere",
}  # fmt: skip
LONGEST_ANSWER = 600
MOST_SPANS = 6
NEAREST = 3  # passages under a question that nothing answers
LONG = 1_200  # characters of gold from which on an item is


def is_long(item: Item) -> bool:
    """Return whether a question with its gold needs more than a screen."""
    return len(item.spans) > 2 or sum(len(span.quote) for span in item.spans) > LONG


def open_item(
    opened: Opened,
    queued: Queued,
    view: View | None,
    versions: Versions | None,
    offers: Offers,
    with_head: bool = True,
) -> None:
    """Draw the open question; without its head where a form that changes it stands there."""
    item = queued.item
    if with_head:
        st.html(item_head(ItemHead(_chips(queued), item.history, item.question, item.answer, not item.spans)))
    gold = [_place(opened, span, _hop_note(item, span)) for span in item.spans[:MOST_SPANS]]
    left_out = len(item.spans) - len(gold)
    title = "Gold in its place" + (f", {left_out} more of {len(item.spans)} not shown" if left_out else "")
    result = opened.checks.of(item)
    for at, other in enumerate(offers.shown):
        place = _place(opened, other, offers.note(at))
        question = "Answered here too?" if item.spans else "Answered here?"
        gold.append(replace(place, heading=f"{question} {place.heading}", look="unclear"))
    if item.answerable == "no" and not gold:
        title = "Nothing of this answers?"
        nearest = _nearest(opened.dataset, opened.windows.corpus.version, item.question)
        gold = [replace(_place(opened, passage.span(), ""), look="unclear") for passage in nearest]
    if gold:
        st.html(places(title if item.spans or item.answerable == "no" else "", gold))
    st.html(check_grid(_cells(result.results, item, queued), _version_chips(view, versions, item)))
    if item.spans:
        names = list(dict.fromkeys(span.doc_id for span in item.spans))
        draw_folded("Whole page", "whole_page", lambda: _whole_pages(opened, names))


@dataclass(frozen=True)
class Offers:
    """The places of which a reader says whether they answer."""

    spans: Sequence[GoldSpan]
    pool: Pool | None = None  # of a real query: what runs and search found, not said which

    @property
    def shown(self) -> Sequence[GoldSpan]:
        """Those that are shown: of a pool one at a time."""
        return self.spans[:1] if self.pool else self.spans

    def note(self, at: int) -> str:
        """Return what is said beside a place."""
        if self.pool is not None:
            judged = len(self.pool.candidates) - len(self.spans) + 1
            return f"passage {judged} of {len(self.pool.candidates)}: G answers, N does not"
        return "G adds it as gold" if at == 0 else f"{at + 1} of {len(self.spans)}"


def offers_of(opened: Opened, item: Item) -> Offers:
    """Return the places to be judged for the open question: its pool where it is a real query."""
    if item.kind == "real" and opened.version is None:
        batch_ids = opened.dataset.batch_ids()
        # searched for once a question, whatever is judged of it
        asked = Item(item.question_id, item.question, history=item.history)
        pool = judged_pool(_pool(opened.dataset, batch_ids, str(opened.state[1]), asked), item)
        return Offers([candidate.span for candidate in pool.to_judge], pool)
    return Offers(other_places(item, opened.checks.of(item).results))


@kept
def _nearest(dataset: Dataset, corpus_version: str, question: str) -> list[Passage]:
    return windows_of(dataset, corpus_version).search(question, NEAREST)


@kept
def _pool(dataset: Dataset, batch_ids: tuple[str, ...], corpus_version: str, item: Item) -> Pool:
    return pool_of(item, windows_of(dataset, corpus_version), _pooled(dataset, batch_ids))


@kept
def _pooled(dataset: Dataset, batch_ids: tuple[str, ...]) -> PooledRuns:  # noqa: ARG001 -- its key
    return pooled_runs(open_store(), dataset)


def judged_words(item: Item) -> dict[str, str]:
    """Return what the model's checks said of a question, by their title; "" for a check that did not run."""
    alone, read = item.judged.get("alone") or {}, item.judged.get("read") or {}
    closed_book = "answers it" if alone.get("known") else "does not know" if alone else ""
    gold = ", ".join(map(str, read.get("gold") or ()))
    return {
        "Realism": f"{alone['realism']} of 5" if "realism" in alone else "",
        "Closed book": closed_book,
        "Read blind": f"gold {gold}" if gold else "not answered" if read else "",
    }


def other_places(item: Item, results: Sequence[CheckResult]) -> list[GoldSpan]:
    """Return the places that may answer too: by the free checks, and those that search proposes."""
    found = [result.place for result in results if result.key == "elsewhere" and result.place]
    gold = {(span.doc_id, span.start, span.end) for span in item.spans}
    return [span for span in (*found, *item.proposed) if (span.doc_id, span.start, span.end) not in gold]


def _chips(queued: Queued) -> list[Chip]:
    item = queued.item
    chips = [Chip(KINDS.get(item.kind, item.kind), help=item.kind)] if item.kind else []
    chips += [_tag_chip(key, value) for key, value in list(item.tags.items())[:3] if value != "false"]
    chips.append(Chip(shorten(item.question_id, 24), help=f"id: {item.question_id}"))
    chips += [
        Chip(f"! {MARKS[mark.key]}", "unclear", help=f"{mark.value} {mark.detail}".strip())
        for mark in queued.marks
    ]
    if queued.reasons:
        chips.append(Chip(f"✕ {', '.join(REASONS[reason] for reason in queued.reasons)}", "bad"))
    if queued.disputed:
        chips.append(Chip("? readers differ", "unclear"))
    if item.rejected_by and not queued.is_unread:
        chips.append(Chip(f"a filter rejected it: {item.rejected_by}", "unmeasured", help=item.reason))
    return chips


def _tag_chip(key: str, value: str) -> Chip:
    """Return a tag as a chip, with its name, which stands alone where it is only true."""
    name = key.replace("_", " ")
    return Chip(name if value == "true" else shorten(f"{name}: {value}", 40), help=f"{key}: {value}")


def _hop_note(item: Item, span: GoldSpan) -> str:
    hops = list(item.hops.values())
    at = next(at for at, spans in enumerate(hops) if span in spans)
    parts = [f"hop {at + 1} of {len(hops)}"] if len(hops) > 1 else []
    if len(hops[at]) > 1:
        parts.append(f"one of {len(hops[at])} alternatives")
    return ", ".join(parts)


def _place(opened: Opened, span: GoldSpan, note: str) -> Place:
    document = opened.windows.corpus.by_name.get(span.doc_id)
    headings: Sequence[str] = ()
    if document is not None:
        headings = heading_path(TokenizedText(document.text).headings, span.start)
    return place_of(span, document, headings, note)


def _cells(results: Sequence[CheckResult], item: Item, queued: Queued) -> list[CheckCell]:
    cells = [
        CheckCell(SHORT.get(result.key, CHECKS[result.key].title),
            result.value or ("yes" if result.state == "passed" else ""), result.detail, LOOKS[result.state])
        for result in results
    ]  # fmt: skip
    said, edited = judged_words(item), item.content_hash != queued.entry.made.content_hash
    for title, words in said.items():
        why = "judge not run" if not words else "stale: changed since" if edited else "by the model"
        cells.append(CheckCell(title, "" if edited else words, why, "unmeasured" if edited or not words
                               else "good"))  # fmt: skip
    return cells


def _version_chips(view: View | None, versions: Versions | None, item: Item) -> list[VersionChip]:
    if view is None or versions is None:
        return []
    chips = []
    for at, (row, passed) in enumerate(
        zip(versions.by_age, versions.passed(item.question_id), strict=True), start=1
    ):
        look: Look = "unmeasured" if passed is None else "good" if passed else "bad"
        answer = answer_of(view.usual_diagnosis(versions.analysis.runs[row]), item.question_id)
        name = f"{versions.names[row]}: {shorten(answer, LONGEST_ANSWER)}"
        chips.append(VersionChip(f"V{at}", look, name))
    return chips


def _whole_pages(opened: Opened, names: Sequence[str]) -> None:
    for name in names:
        document = opened.windows.corpus.by_name.get(name)
        if document is not None:
            st.text(f"{name}\n\n{document.text}")
