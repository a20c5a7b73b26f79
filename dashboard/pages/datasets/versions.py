"""The versions of a dataset: what became of their gold, changes since, dev and test, the next one."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.headlines.datasets import VersionFacts, difference_text, versions_headline
from ragtriage.dashboard.pages.datasets.opened import Opened, frozen_items
from ragtriage.dashboard.present.page_html.dataset_item import SpanFate, fate_cards, share_bar
from ragtriage.dashboard.shell.components import current_theme, facts, open_page, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import keep, open_store
from ragtriage.dashboard.shell.user import (
    attempt,
    current_user,
    may_write,
    name_box,
    name_is_missing,
    path_input,
    wanted_box,
)
from ragtriage.dashboard.shell.widgets import put_cursor
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.chunking.corpus import Corpus, read_corpus
from ragtriage.data.datasets.chosen import follow, freeze
from ragtriage.data.datasets.corpus_change import CorpusChange, span_changes
from ragtriage.data.datasets.dataset import Dataset, Version
from ragtriage.data.datasets.split import DEV, SHARE, part_of, set_split, split_share
from ragtriage.data.store.access import allowed_path
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.result_table import ResultTable

LEFT, RIGHT = 60, 40  # widths in percent
MOST_CARDS = 8
LONGEST_QUOTE = 220
UNREAD = ("to read", "stale")
PATH = "new_corpus_path"
COMPARED = "new_corpus"  # in the session: (dataset, corpus version, the corpus) that was typed


def versions_section(opened: Opened) -> None:
    """Draw the versions."""
    versions = opened.dataset.versions()
    newest = versions[-1] if versions else None
    typed = _typed_corpus(opened)
    change = _change(opened, newest, typed)
    found = _facts(opened, newest, change)
    open_page(versions_headline(found), [f"corpus {opened.dataset.corpus_version}"])
    if change is not None:
        _spans(change)
    left, right = st.columns([LEFT, RIGHT], gap="medium")
    with left:
        if change is not None and change.to_read:
            _to_read(opened, change)
        _table(opened, versions)
        if newest is not None:
            facts(difference_text(found))
    with right:
        _split(opened)
        if may_write():
            _freeze(opened)
        _other_corpus(opened, typed)


def _facts(opened: Opened, newest: Version | None, change: CorpusChange | None) -> VersionFacts:
    frozen = () if newest is None else frozen_items(opened.dataset, newest)
    before = {each.item.question_id: each.item for each in frozen}
    now = {each.item.question_id: each for each in opened.draft.offered}
    out = {name for name, each in now.items() if each.state == "rejected"}
    edited = {
        name
        for name, each in now.items()
        if name in before and before[name].content_hash != each.item.content_hash
    }
    return VersionFacts(
        opened.dataset.name,
        newest.version if newest else 0,
        len(before),
        newest.n_read if newest else 0,
        edited=len(edited),
        rejected=len(out & before.keys()),
        added=sum(each.golden for name, each in now.items() if name not in before),
        waiting=sum(each.state in UNREAD for name, each in now.items() if name not in before),
        fates={str(fate): n for fate, n in change.counts.items()} if change else {},
        to_read=len(change.to_read) if change else 0,
        questions=len({each.question_id for each in change.spans}) if change else 0,
    )


def _typed_corpus(opened: Opened) -> Corpus | None:
    stored = st.session_state.get(COMPARED)
    return stored[1] if stored and stored[0] == opened.dataset.dataset_id else None


def _change(opened: Opened, newest: Version | None, typed: Corpus | None) -> CorpusChange | None:
    """Return what became of the gold in the corpus that was typed, else since the newest version."""
    dataset = opened.dataset
    if typed is not None and typed.version != dataset.corpus_version:
        return _changes_to(opened, typed, typed.version)
    if newest is not None and newest.corpus_version != dataset.corpus_version:
        return _changes_since(dataset, newest, dataset.corpus_version)
    return None


@kept
def _changes_since(dataset: Dataset, newest: Version, corpus_version: str) -> CorpusChange:
    items = [each.item for each in frozen_items(dataset, newest)]
    return span_changes(items, dataset.corpus(newest.corpus_version), dataset.corpus(corpus_version))


def _changes_to(opened: Opened, corpus: Corpus, version: str) -> CorpusChange:
    key = (opened.cache_key, version)
    stored = st.session_state.get("new_corpus_change")
    if stored is None or stored[0] != key:
        items = [each.item for each in opened.draft.standing]
        stored = (key, span_changes(items, opened.dataset.corpus(), corpus))
        st.session_state["new_corpus_change"] = stored
    change: CorpusChange = stored[1]
    return change


def _spans(change: CorpusChange) -> None:
    tokens, counts = THEMES[current_theme()], change.counts
    colours = {
        "same": tokens.alive, "moved": tokens.sequential[5], "changed": tokens.stages["format"],
        "gone": tokens.bad.text,
    }  # fmt: skip
    total = max(len(change.spans), 1)
    words = {
        "same": "same place", "moved": "moved, found again", "changed": "changed, to read",
        "gone": "gone, to read",
    }  # fmt: skip
    parts = [(colours[fate], n / total) for fate, n in counts.items()]
    title = f"{count(len(change.spans), 'gold span')} in corpus {change.new_version}"
    st.html(share_bar(title, parts, [f"{words[fate]} ({counts[fate]:,})" for fate in counts]))


def _to_read(opened: Opened, change: CorpusChange) -> None:
    questions = {each.item.question_id: each.item.question for each in opened.draft.items}
    lost = [each for each in change.spans if each.fate in ("changed", "gone")]
    cards = [
        SpanFate(
            questions.get(each.question_id, each.question_id),
            "gone" if each.fate == "gone" else f"changed, {percent(each.kept)} kept",
            "bad" if each.fate == "gone" else "unclear",
            f"{each.span.doc_id} · characters {each.span.start:,}–{each.span.end:,}",
            shorten(" ".join(each.span.quote.split()), LONGEST_QUOTE),
            shorten(" ".join(each.now.quote.split()), LONGEST_QUOTE) if each.now else "",
        )
        for each in lost[:MOST_CARDS]
    ]
    more = f"{len(lost) - MOST_CARDS:,} more" if len(lost) > MOST_CARDS else ""
    st.html(fate_cards("To read again", cards, more))


def _table(opened: Opened, versions: list[Version]) -> None:
    runs = open_store().runs()
    used = opened.draft.standing
    kept_ones = sum(each.golden for each in used)
    rows = [
        {
            "Version": "draft", "Frozen": "now", "Questions": str(len(used)),
            "Read": str(kept_ones), "Corpus": opened.dataset.corpus_version, "Runs": None,
        }
    ]  # fmt: skip
    for each in reversed(versions):
        title = f"{opened.dataset.name} v{each.version}"
        rows.append(
            {
                "Version": f"v{each.version}", "Frozen": each.at[:10],
                "Questions": str(len(frozen_items(opened.dataset, each))), "Read": str(each.n_read),
                "Corpus": each.corpus_version, "Runs": str(sum(run.dataset == title for run in runs)),
            }
        )  # fmt: skip
    st.markdown("##### Versions")
    show_table(ResultTable("Versions of the dataset", tuple(rows), note="Runs: those on this version."))


def _split(opened: Opened) -> None:
    share = split_share(opened.dataset)
    items = [each.item for each in opened.draft.standing]
    if share is None:
        st.markdown("##### No split into dev and test")
        st.caption("Questions that prompts are tuned on should not be those that a gate judges.")
        if may_write():
            st.button(
                f"Split: {percent(SHARE)} dev", key="split_dataset",
                on_click=attempt, args=(lambda: set_split(opened.dataset, SHARE),),
            )  # fmt: skip
        return
    dev = sum(part_of(item, share) == DEV for item in items)
    tokens, n = THEMES[current_theme()], max(len(items), 1)
    parts = [(tokens.sequential[3], dev / n), (tokens.sequential[6], 1 - dev / n)]
    note = (
        f"dev {dev:,}, test {len(items) - dev:,}. A version is the test part, so that no dev question counts "
        "in its runs; `ragtriage dataset freeze --part dev` makes one to tune on."
    )
    st.html(share_bar("Split, fixed by a hash of the id", parts, [note]))


def _freeze(opened: Opened) -> None:
    draft, share = opened.draft, split_share(opened.dataset)
    tested = [each for each in draft.offered if share is None or part_of(each.item, share) != DEV]
    unread = sum(each.state in UNREAD for each in tested)
    st.markdown("##### Freeze a version")
    every = False
    if unread:
        every = st.checkbox(f"With the {count(unread, 'question')} that nobody has read", key="freeze_unread")
    n = sum(each.golden for each in tested) + (unread if every else 0)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if not current_user():
            name_box(130, placeholder="Your name", label_visibility="collapsed")
        st.button(
            f"Freeze {count(n, 'question')}", key="freeze", icon=":material/ac_unit:", disabled=not n,
            on_click=_frozen, args=(opened, every),
        )  # fmt: skip
    if box := wanted_box():
        put_cursor(box)


def _frozen(opened: Opened, every: bool) -> None:
    def change() -> str:
        version, kept_set, _ = freeze(opened.draft, current_user(), every)
        return f"v{version.version} has {count(kept_set.n, 'question')}: {markdown_text(kept_set.name)}."

    if not name_is_missing("frozen"):
        attempt(change)


def _other_corpus(opened: Opened, typed: Corpus | None) -> None:
    st.markdown("##### Look for the gold in a newer corpus")
    path = path_input("A folder or file on this machine", PATH, "/data/handbook")
    with st.container(horizontal=True, gap="small"):
        st.button("Compare", key="compare_corpus", disabled=not path, on_click=_read, args=(opened,))
        if typed is None:
            return
        if may_write() and typed.version != opened.dataset.corpus_version:
            st.button(
                "Move the draft to this corpus", key="apply_corpus", on_click=_apply, args=(opened, typed)
            )
    if typed.version == opened.dataset.corpus_version:
        st.caption("This is the corpus that the draft points into.")


def _read(opened: Opened) -> None:
    def change() -> None:
        corpus = read_corpus([str(allowed_path(st.session_state[PATH]))])
        st.session_state[COMPARED] = (opened.dataset.dataset_id, corpus)

    attempt(change)


def _apply(opened: Opened, corpus: Corpus) -> None:
    def change() -> str:
        who = current_user()
        found = follow(opened.draft, corpus, who)
        st.session_state.pop(COMPARED, None)
        keep(part="versions")
        again = count(len(found.to_read), "question")
        return f"The draft points into corpus {corpus.version}; {again} to read again."

    if not name_is_missing("changed"):
        attempt(change)
