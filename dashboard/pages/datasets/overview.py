"""The overview of a dataset: tiles, versions by questions, pages, marks, mix, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from ragtriage.dashboard.charts.dataset_maps import (
    MOST_PAGES,
    items_alt,
    items_chart,
    items_note,
    pages_alt,
    pages_chart,
)
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.headlines.datasets import datasets_headline
from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.pages.datasets.analysis import Versions, versions_of
from ragtriage.dashboard.pages.datasets.facts import Overview, overview_of
from ragtriage.dashboard.pages.datasets.make import open_make
from ragtriage.dashboard.pages.datasets.opened import Opened
from ragtriage.dashboard.present.page_html.blocks import (
    GateRow,
    Strip,
    Tile,
    gate_rows,
    section_title,
)
from ragtriage.dashboard.shell.components import WITHOUT_BAR, current_theme, draw, draw_tiles, open_page
from ragtriage.dashboard.shell.session import View, current_selection, keep
from ragtriage.dashboard.shell.user import may_write
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.datasets.checks import CHECKS
from ragtriage.data.datasets.coverage import MixShare, PageCoverage
from ragtriage.data.datasets.making.requests import ALONE_AT_ONCE
from ragtriage.data.datasets.readers import share_kept
from ragtriage.data.datasets.split import split_share
from ragtriage.metrics.analysis.items import FEWEST_VERSIONS, Group
from ragtriage.metrics.number_text import NOT_MEASURED, count, interval_text, number, percent
from ragtriage.metrics.statistics.intervals import interval

LEFT, RIGHT = 61, 39  # widths in percent
SECONDS_A_QUESTION = 30  # of a reader
CALLS_A_QUESTION = 2.2  # to make one with every check
WANTED = 0.10  # the change of the pass rate that a set should show
TITLES = {
    "single": "Single fact",
    "multi-hop": "Two-hop, list",
    "unanswerable": "Unanswerable",
    "adversarial": "Adversarial",
}
NOTES = {  # beside the titles of checks
    "copied": CHECKS["copied"].limit,
    "twin": "nearest below 0.8",
    "elsewhere": "by words: a hint",
}
COARSEST = 0.5  # change at the right end of its strip


def overview_section(opened: Opened, view: View | None) -> None:
    """Draw the overview."""
    versions = versions_of(opened.in_use, view)
    found = overview_of(opened, versions, split_share(opened.dataset))
    facts = found.facts
    version = opened.version.corpus_version if opened.version else opened.dataset.corpus_version
    open_page(
        datasets_headline(facts),
        [f"{count(facts.used, 'question')} · {count(facts.pages, 'page')}", f"corpus {version}"],
    )
    draw_tiles(_tiles(found, opened.version is not None))
    left, right = st.columns([LEFT, RIGHT], gap="medium")
    with left:
        _items(versions)
        _pages(found)
    with right:
        st.html(_mark_rows(found, versions))
        st.html(_mix_rows(found))
    if opened.version is None:  # a version never changes
        _next_steps(found, may_write())


def review_link(**chosen: Any) -> str:
    """Return the address of the review with a filter."""
    selection = current_selection().with_(part="review", item="", **chosen)
    return f"datasets?{urlencode(selection.to_params())}"


def _tiles(found: Overview, frozen: bool) -> list[Tile]:
    facts, n = found.facts, max(found.facts.used, 1)
    foot = "when it was frozen" if frozen else _kept_text(found)
    all_read = facts.read == facts.n
    clean = facts.used - facts.marked
    values = np.array([0.0] * facts.marked + [1.0] * clean)
    ends = interval(values, np.arange(len(values)), len(values), binary=True)
    free = count(len(CHECKS), "free check")
    return [
        Tile(
            "Read by people", f"{facts.read:,} of {facts.n:,}", "good" if all_read else "cannot tell",
            "all read" if all_read else "review not finished", "",
            foot if facts.read else "nobody has read any",
            Strip(facts.read / max(facts.n, 1), gate=1.0, state="good" if all_read else "cannot tell",
                label="share read by people"),
        ),
        Tile(
            "Without a mark", f"{clean:,} of {facts.used:,}", "good" if not facts.marked else "cannot tell",
            "none marked" if not facts.marked else "read these first", "",
            f"{facts.marked:,} marked by {free}",
            Strip(clean / n, ends.low, ends.high,
                state="good" if not facts.marked else "cannot tell", label="share without a mark"),
        ),
        Tile(
            "Pages with a question", f"{facts.covered:,} of {facts.pages:,}",
            "good" if facts.covered == facts.pages else "cannot tell",
            "all covered" if facts.covered == facts.pages else f"{percent(facts.bare)} bare", "",
            f"{percent(facts.bare)} of the text has no question" if facts.bare else "every page has one",
            Strip(facts.covered / max(facts.pages, 1), gate=1.0,
                state="good" if facts.covered == facts.pages else "cannot tell", label="share of pages"),
        ),
        _change_tile(found),
    ]  # fmt: skip


def _kept_text(found: Overview) -> str:
    """Return what readers decided, with the share that they kept."""
    facts, rate = found.facts, share_kept(found.entries)
    disputed = f", {facts.disputed:,} disputed" if facts.disputed else ""
    rejected = facts.read - facts.kept - facts.disputed
    share = f": {number(rate.mean)} {interval_text(rate.low, rate.high)}" if rate is not None else ""
    return f"{facts.kept:,} kept, {rejected:,} rejected{disputed}{share}"


def _change_tile(found: Overview) -> Tile:
    resolution = found.facts.resolution
    needs = " · ".join(f"{100 * change:.0f} points: {n:,}" for change, n in resolution.needed)
    smallest = resolution.smallest
    fine = smallest is not None and smallest <= WANTED
    state: State = "good" if fine else "cannot tell"
    differ = f"{percent(resolution.differing)} of the questions differ between two versions"
    source = "assumed" if resolution.assumed else "over all pairs of versions"
    return Tile(
        "Smallest change it shows",
        NOT_MEASURED if smallest is None else f"{100 * smallest:.0f} points",
        state, "fine" if fine else "coarse", "",
        f"paired, power 0.8{' · assumed' if resolution.assumed else ''}{f' · {needs}' if needs else ''}",
        Strip(smallest, gate=WANTED, state=state, label="smallest change", end=COARSEST,
            higher_is_better=False),
        help=f"{differ}, {source}; Connor 1987.",
    )  # fmt: skip


def _items(versions: Versions | None) -> None:
    if versions is None:
        st.html(section_title("No run of the project has results for half of these questions"))
        st.caption("Which questions tell versions apart is shown once a run on this set is loaded.")
        return
    analysis, counts = versions.analysis, versions.analysis.counts
    few = len(versions.names) < FEWEST_VERSIONS
    title = items_title(counts)
    notes = [f"{count(len(versions.names), 'version')} only" if few else "", items_note(analysis)]
    st.html(section_title(title, ", ".join(filter(None, notes))))
    draw(
        items_chart(analysis, versions.question_ids, versions.names, THEMES[current_theme()]),
        "dataset_items",
        items_alt(analysis, versions.names),
        theme=None,
        on_click=lambda data: keep(part="review", item=str(data[0]), reading="", check_mark="", document=""),
        config=WITHOUT_BAR,
    )


def items_title(counts: Mapping[Group, int]) -> str:
    """Return how many questions of each group there are, so that they add up to all."""
    tell = "tells" if counts["tell apart"] == 1 else "tell"
    unknown = f", {counts['not known']:,} not known" if counts["not known"] else ""
    return (
        f"{count(counts['tell apart'], 'question')} {tell} the versions apart, "
        f"{counts['everyone passes']:,} all pass, {counts['nobody passes']:,} nobody passes{unknown}"
    )


def _pages(found: Overview) -> None:
    facts, pages = found.facts, found.pages
    bare = facts.pages - facts.covered
    most = sorted(pages, key=lambda page: -page.questions)[:2]
    named = " and ".join(f"{shorten(page.doc_id, 20)} {page.questions}" for page in most if page.questions)
    start = (
        f"{bare:,} of {count(facts.pages, 'page')} have no question" if bare else "Every page has a question"
    )
    st.html(section_title(f"{start}; most have {named}" if named else start))
    draw(
        pages_chart(pages, THEMES[current_theme()]),
        "dataset_pages",
        pages_alt(pages),
        theme=None,
        on_click=lambda data: keep(part="review", item="", reading="", check_mark="", document=str(data[0])),
        config=WITHOUT_BAR,
    )
    st.caption(
        f"{pages_drawn(pages)}: width its text, height its questions. Line: its share by the root of its "
        "length. Amber: none. A click lists its questions."
    )


def pages_drawn(pages: Sequence[PageCoverage]) -> str:
    """Return what a bar stands for, and which pages have none."""
    left = pages[MOST_PAGES:]
    if not left:
        return "A bar is a page"
    bare = sum(not page.questions for page in left)
    return (
        f"A bar is one of the {MOST_PAGES:,} longest pages ({count(len(left), 'shorter page')} not drawn, "
        f"{bare:,} without a question)"
    )


def _mark_rows(found: Overview, versions: Versions | None) -> Any:
    n = max(found.facts.used, 1)
    rows = []
    for key, check in CHECKS.items():
        marked, unseen = found.marks.get(key, 0), found.not_checked.get(key, 0)
        need = f"{count(found.facts.spans, 'span')}, by offset" if key == "gold" else NOTES.get(key, "")
        explained = check.limit + (f"; {unseen:,} have nothing to check" if unseen else "")
        rows.append(_mark_row(check.title, need, marked, n, key, explained))
    if versions is not None:
        against, nobody = len(versions.analysis.against), versions.analysis.counts["nobody passes"]
        rows.append(_mark_row("Agrees with the other questions", "item-rest r ≥ −0.2", against, n, "against"))
        rows.append(_mark_row("Some version passes", "else wrong gold, or a gap?", nobody, n, "nobody"))
    judged = sum(bool(each.item.judged) for each in found.checked)
    if judged < found.facts.used:
        left = found.facts.used - judged
        calls = count(left + ceil(left / ALONE_AT_ONCE), "call")
        strip = Strip(None, label="not run")
        why = "Checks by a model have not run on these; they need a key."
        rows.append(GateRow("not measured", "Read blind, realism", calls, NOT_MEASURED, strip, why))
    title = f"{found.facts.marked:,} of {count(found.facts.used, 'question')} carry a mark"
    return gate_rows(title, rows, "")


def _mark_row(title: str, need: str, marked: int, n: int, key: str, explained: str = "") -> GateRow:
    state: State = "cannot tell" if marked else "good"
    return GateRow(
        state, title, need, f"{marked:,}", Strip(marked / n, state=state, label=f"{marked} of {n} marked"),
        f"{title}: {explained or need}. {count(marked, 'question')} marked.",
        href=review_link(reading="", check_mark=key, document="") if marked else "",
    )  # fmt: skip


def _mix_rows(found: Overview) -> Any:
    n = max(found.facts.used, 1)
    missing = [TITLES[group].lower() for group in found.facts.missing]
    title = f"{' and '.join(missing).capitalize()} is missing" if missing else "Every kind is there"
    if len(missing) > 1:
        title = title.replace(" is missing", " are missing")
    return gate_rows(title, [_mix_row(share, n) for share in found.mix], "Tick: target share.")


def _mix_row(share: MixShare, n: int) -> GateRow:
    enough = share.n >= share.planned / 2
    state: State = "good" if enough else "cannot tell" if share.n else "bad"
    others = {kind: k for kind, k in share.kinds.items() if kind != share.group}
    note = ", ".join(f"{k} {kind or 'of no kind'}" for kind, k in others.items())
    planned = share.planned / n
    return GateRow(
        state, TITLES[share.group], note or ("none" if not share.n else ""), f"{share.n:,}",
        Strip(share.n / n, gate=planned, state=state, label=f"{share.n} of {n}, {percent(planned)} planned"),
        f"{TITLES[share.group]}: {share.n} of {n}; {percent(planned)} planned, or usual.",
    )  # fmt: skip


def _next_steps(found: Overview, may_make: bool) -> None:
    steps = _steps(found, may_make)
    if not steps:
        return
    grid = st.grid(len(steps), min_column_width=165)
    for at, (title, note, word, chosen) in enumerate(steps, start=1):
        with (
            grid.container(border=True),
            st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small"),
        ):
            st.markdown(f"**{at}. {title}**  \n:small[:gray[{note}]]", width="stretch")
            st.button(
                word, key=f"step_{at}", type="tertiary", icon=":material/arrow_forward:",
                icon_position="right", on_click=keep if chosen else open_make, kwargs=chosen,
            )  # fmt: skip


Step = tuple[str, str, str, dict[str, Any]]


def _steps(found: Overview, may_make: bool) -> Sequence[Step]:
    """Return what to do next: title, cost, what the button says, what it chooses; nothing to make more."""
    facts, clean = found.facts, {"check_mark": "", "document": "", "item": ""}
    unread = facts.n - facts.read
    steps: list[Step] = []
    if found.marked_unread:
        review = {"part": "review", "reading": "marked", **clean}
        left = f"{found.marked_unread:,} left, about {_minutes(found.marked_unread)}"
        steps.append(("Read the marked ones", left, "Review", review))
    if unread > found.marked_unread:
        review = {"part": "review", "reading": "unread", **clean}
        steps.append(("Read the rest", f"{unread:,} to go, about {_minutes(unread)}", "Review", review))
    if not unread and facts.kept:
        steps.append(
            ("Freeze a version", f"{count(facts.kept, 'question')} kept", "Versions", {"part": "versions"})
        )
    bare = facts.pages - facts.covered
    lacking = sum(ceil(share.planned) for share in found.mix if not share.n)
    if may_make and (bare or lacking):
        wanted = [f"{lacking:,} {facts.missing[0]}"] if lacking else []
        wanted += [f"{bare:,} for bare pages"] if bare else []
        calls = ceil((lacking + bare) * CALLS_A_QUESTION)
        steps.append((f"Make {', '.join(wanted)}", f"about {count(calls, 'call')}", "Make", {}))
    needed = next((pair for pair in facts.resolution.needed if pair[1] > facts.used), None)
    if may_make and needed:
        title = f"Grow to {count(needed[1], 'question')}"
        steps.append((title, f"to show {100 * needed[0]:.0f} points", "Make", {}))
    return steps


def _minutes(questions: int) -> str:
    return count(max(1, round(questions * SECONDS_A_QUESTION / 60)), "minute")
