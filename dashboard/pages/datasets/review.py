"""The review of a dataset: how far it is, the list of questions beside the open one, and the keys."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ragtriage.dashboard.headlines.datasets import FEWEST_READ, ReviewCounts, review_headline
from ragtriage.dashboard.pages.datasets.analysis import VERSION_MARKS, versions_of
from ragtriage.dashboard.pages.datasets.decisions import decision_bar, edit_form
from ragtriage.dashboard.pages.datasets.item import is_long, offers_of, open_item
from ragtriage.dashboard.pages.datasets.opened import Opened
from ragtriage.dashboard.pages.datasets.queue import (
    Queued,
    filter_chips,
    in_queue,
    item_list,
    listed,
    position_in,
    queue_of,
    reader_of,
)
from ragtriage.dashboard.present.page_html.dataset_item import review_band
from ragtriage.dashboard.shell.components import draw_html
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, current_selection
from ragtriage.dashboard.shell.user import may_write
from ragtriage.data.datasets.readers import ReaderAgreement, reader_agreement, share_kept
from ragtriage.metrics.number_text import count, interval_text, number

LIST, ITEM = 41, 59  # widths in percent
BAND_HEIGHT, ITEM_HEIGHT = 40, 860  # pixels, the latter of an item that is long


def review_section(opened: Opened, view: View | None) -> None:
    """Draw the review."""
    # whoever can decide is blind to the others, also before the name is typed
    who = reader_of(opened) if opened.version is None and may_write() else None
    queue, selection = queue_of(opened, who), current_selection()
    versions = versions_of(opened.offered, view)
    by_mark = selection.check_mark in VERSION_MARKS  # as the overview counts them
    rows = listed(queue, selection, versions_of(opened.in_use, view) if by_mark else versions)
    _band(opened, queue, len(rows), who)
    listing, detail = st.columns([LIST, ITEM], gap="medium")
    at = position_in(rows)
    with listing:
        filter_chips(queue)
        if at is not None:
            item_list(rows, at, versions)
    if at is not None:
        with detail:
            offers = offers_of(opened, rows[at].item)
            decision_bar(opened, rows, at, offers)
            # a long item scrolls beside the list, so that list and keys stay in sight
            with st.container(height=ITEM_HEIGHT if is_long(rows[at].item) else "content", border=False):
                edited = edit_form(opened, rows, at)
                open_item(opened, rows[at], view, versions, offers, not edited)


def _band(opened: Opened, queue: Sequence[Queued], n_listed: int, who: str | None) -> None:
    rows = in_queue(queue)
    # what readers differ on counts apart, once both have decided
    states = ["disputed" if each.disputed else each.state for each in rows]
    n = {state: states.count(state) for state in ("kept", "edited", "rejected", "disputed")}
    entries = [each.entry for each in rows]
    # a version has no rejected ones, and who has no name has decided nothing
    rate = None if opened.version or who == "" else share_kept(entries, who or "")
    counts = ReviewCounts(
        len(rows), sum(n.values()), n["kept"] + n["edited"], n["rejected"], n_listed, rate, n["disputed"]
    )
    meta = [f"{n['kept']:,} accepted", f"{n['edited']:,} edited", f"{n['rejected']:,} rejected"]
    if n["disputed"]:
        meta.append(f"{n['disputed']:,} disputed")
    if rate is not None and rate.n_scored >= FEWEST_READ:  # an interval of fewer says nothing
        meta.append(f"kept {number(rate.mean)} {interval_text(rate.low, rate.high)}")
    if opened.version is None:
        meta += _readers(opened)
    if who == "" and opened.draft.readers:
        meta.append("your decisions show once your name is entered")
    shares = [(name, n[name] / max(len(rows), 1)) for name in ("kept", "edited", "rejected")]
    draw_html(review_band(review_headline(counts), shares, " · ".join(meta)), BAND_HEIGHT)


def _readers(opened: Opened) -> list[str]:
    """Return who reads, and how far the first two agree; what each said of an item is not shown."""
    readers = opened.draft.readers
    agreement = _agreement(opened)
    if agreement is None:
        return [count(len(readers), "reader")] if readers else []
    kappa = f"κ {agreement.kappa_number}" if agreement.kappa_number else f"{agreement.same:,} alike"
    return [f"{count(len(readers), 'reader')}, {agreement.n:,} read twice, {kappa}"]


@kept
def _agreement(opened: Opened) -> ReaderAgreement | None:
    return reader_agreement(opened.draft)
