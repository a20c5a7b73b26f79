"""The dataset on display with what belongs to it, each read once: items, decisions, corpus, free checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import streamlit as st

from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import current_selection, keep, open_store
from ragtriage.dashboard.shell.user import attempt, may_write
from ragtriage.dashboard.shell.widgets import show_in
from ragtriage.data.datasets.checks import CheckedItem, FreeChecks
from ragtriage.data.datasets.chosen import REVIEWED
from ragtriage.data.datasets.dataset import Batch, Dataset, Version
from ragtriage.data.datasets.item import Item
from ragtriage.data.datasets.review import Draft, DraftItem, Event, draft_state, read_draft
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.store.question_sets import load_set


class KeptChecks:
    """The free checks of a dataset's items, each item checked once for the content that it has.

    A twin is sought among the items as they were made, so that an edit checks no other item again.
    """

    def __init__(self, checks: FreeChecks) -> None:
        self.checks = checks
        self._checked: dict[tuple[str, str], CheckedItem] = {}

    def of(self, item: Item) -> CheckedItem:
        """Return an item with its checks."""
        key = (item.question_id, item.content_hash)
        if key not in self._checked:
            self._checked[key] = CheckedItem(item, self.checks.of(item))
        return self._checked[key]


@dataclass(frozen=True)
class Opened:
    """A dataset as a page shows it: its draft, or one of its versions."""

    dataset: Dataset
    draft: Draft
    version: Version | None  # on display; None for the draft
    items: tuple[DraftItem, ...]  # of the draft or the version
    state: tuple[Any, ...]  # what all of it follows from

    @property
    def cache_key(self) -> tuple[Any, ...]:
        """What identifies it, for results that are kept."""
        return self.state

    @cached_property
    def offered(self) -> list[DraftItem]:
        """The items that passed the filters, and those that a reader kept in spite of one."""
        return Draft(self.dataset, self.items).offered

    @cached_property
    def in_use(self) -> list[DraftItem]:
        """The items that count in what is said of the questions."""
        return Draft(self.dataset, self.items).standing

    @property
    def asked_mix(self) -> Mapping[str, float]:
        """Kind -> questions that the plans of a model asked for; nothing where there was no plan."""
        asked = Counter[str]()
        for batch in _batches(self.dataset, self.dataset.batch_ids()):
            if batch.facts.get("by") == "model":
                asked.update(batch.facts.get("mix") or {})
        return dict(asked)

    @property
    def windows(self) -> CorpusWindows:
        """The corpus that the items point into, ready to be searched."""
        return windows_of(self.dataset, self.version.corpus_version if self.version else str(self.state[1]))

    @property
    def checks(self) -> KeptChecks:
        """The free checks of the items."""
        version = self.version.corpus_version if self.version else str(self.state[1])
        return _checks(self.dataset, self.dataset.batch_ids(), version)

    @property
    def checked(self) -> Mapping[str, CheckedItem]:
        """Question id -> item with its checks, in the order of the items; the first time takes a while."""
        return checked_items(self)


def open_dataset(dataset: Dataset) -> Opened:
    """Read a dataset, or what was kept of it, in the version that the address names."""
    batch_ids, state = dataset.batch_ids(), draft_state(dataset)
    draft = _draft(dataset, batch_ids, state)
    number = current_selection().frozen
    version = next((each for each in dataset.versions() if each.version == number), None)
    items = draft.items if version is None else frozen_items(dataset, version)
    key = (dataset.dataset_id, *state, batch_ids, str(dataset.folder), version and version.version)
    return Opened(dataset, draft, version, items, key)


def bundled_dataset() -> None:
    """Offer the bundled questions, where the workspace has no dataset."""
    if not may_write():
        st.caption("`ragtriage demo` has an example.")
        return

    def load() -> None:
        from ragtriage.data.demo import FIRST_PROJECT, load_samples  # loads importers and experiments

        load_samples(open_store(), project=FIRST_PROJECT)

    st.button("Open the bundled example, 48 questions on a handbook", key="bundled_dataset",
        icon=":material/visibility:", on_click=attempt, args=(load,))  # fmt: skip


def version_picker(dataset: Dataset) -> None:
    """Draw the choice of the draft or one of the versions."""
    versions = dataset.versions()
    numbers = [0, *(each.version for each in reversed(versions))]
    draft = f"draft after v{versions[-1].version}" if versions else "draft"
    shown = current_selection().frozen
    show_in("pick_frozen", shown if shown in numbers else 0)
    st.selectbox(
        "Version", numbers, key="pick_frozen", format_func=lambda number: f"v{number}" if number else draft,
        label_visibility="collapsed", width=150,
        on_change=lambda: keep(frozen=st.session_state["pick_frozen"], item=""),
    )  # fmt: skip


@kept
def _batches(dataset: Dataset, batch_ids: tuple[str, ...]) -> list[Batch]:  # noqa: ARG001 -- its key
    return dataset.batches()


@kept
def _draft(
    dataset: Dataset,
    batch_ids: tuple[str, ...],
    state: tuple[object, ...],  # noqa: ARG001 -- its key
) -> Draft:
    return read_draft(dataset, _batches(dataset, batch_ids))


@kept
def frozen_items(dataset: Dataset, version: Version) -> tuple[DraftItem, ...]:
    """Return the items of a version; what people had read when it was frozen is kept, the rest to be read."""
    questions = load_set(dataset.workspace, version.set_id).questions
    items, all_read = list(map(Item.from_question, questions)), version.n_read == len(questions)
    return tuple(
        DraftItem(
            item,
            item,
            "",
            (_kept_in(version, item),) if all_read or item.tags.get(REVIEWED) == "true" else (),
        )
        for item in items
    )


def _kept_in(version: Version, item: Item) -> Event:
    return Event(
        1, item.question_id, version.who, "accept", "", None, item.content_hash, version.at, undone_at=None
    )


@kept
def windows_of(dataset: Dataset, corpus_version: str) -> CorpusWindows:
    """Return a corpus of a dataset, ready to be searched."""
    return CorpusWindows(dataset.corpus(corpus_version))


@kept
def _checks(dataset: Dataset, batch_ids: tuple[str, ...], corpus_version: str) -> KeptChecks:
    items = [item for batch in _batches(dataset, batch_ids) for item in batch.items if not item.rejected_by]
    return KeptChecks(FreeChecks(windows_of(dataset, corpus_version), items))


@kept
def checked_items(opened: Opened) -> Mapping[str, CheckedItem]:
    """Return question id -> item with its checks."""
    checks = opened.checks
    with st.spinner("Checking the questions"):
        return {each.item.question_id: checks.of(each.item) for each in opened.items}
