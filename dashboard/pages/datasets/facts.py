"""The numbers of a dataset that its headline, its tiles and its lists are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from ragtriage.dashboard.headlines.datasets import DatasetFacts
from ragtriage.dashboard.pages.datasets.analysis import Versions
from ragtriage.dashboard.pages.datasets.opened import Opened
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.data.datasets.checks import CheckedItem
from ragtriage.data.datasets.coverage import MixShare, PageCoverage, mix_of, page_coverage
from ragtriage.data.datasets.item import stands
from ragtriage.data.datasets.resolution import resolution_of
from ragtriage.data.datasets.review import DraftItem
from ragtriage.data.datasets.split import DEV, part_of


@dataclass(frozen=True)
class Overview:
    """What the overview shows of a dataset."""

    facts: DatasetFacts
    entries: Sequence[DraftItem]  # that are offered to readers
    checked: Sequence[CheckedItem]  # those in use, with their free checks
    pages: Sequence[PageCoverage]  # the longest first
    mix: Sequence[MixShare]
    marks: Mapping[str, int]  # key of a free check -> questions that it marks
    not_checked: Mapping[str, int]  # the same for those that it could not check
    marked_unread: int  # questions with a mark that nobody has read


@kept
def overview_of(opened: Opened, versions: Versions | None, share: float | None) -> Overview:
    """Return the numbers of a dataset that has a corpus.

    Args:
        opened: on display.
        versions: the runs that answered the questions in use.
        share: of dev questions; None where the dataset is not split.
    """
    entries, corpus = opened.offered, opened.windows.corpus
    items = [each.item for each in opened.in_use]
    checked = [opened.checked[item.question_id] for item in items]
    marks, not_checked = Counter[str](), Counter[str]()
    for each in checked:
        marks.update(result.key for result in each.results if result.state == "marked")
        not_checked.update(result.key for result in each.results if result.state == "not checked")
    pages, mix = page_coverage(items, corpus), mix_of(items, opened.asked_mix)
    text = sum(page.characters for page in pages) or 1
    facts = DatasetFacts(
        name=opened.dataset.name,
        n=len(entries),
        read=sum(bool(each.decisions) for each in entries),
        kept=sum(each.golden for each in entries),
        disputed=sum(each.state == "disputed" for each in entries),
        used=len(items),
        with_gold=sum(bool(item.spans) or item.answerable == "no" for item in items),
        spans=sum(len(item.spans) for item in items),
        gone=sum(not stands(span, corpus) for item in items for span in item.spans),
        dev_in_runs=_dev_in_newest(opened, versions, share),
        pages=len(pages),
        covered=sum(bool(page.questions) for page in pages),
        bare=sum(page.characters for page in pages if not page.questions) / text,
        missing=tuple(share.group for share in mix if not share.n and share.planned),
        marked=sum(bool(each.marks) for each in checked),
        resolution=resolution_of(len(items), None if versions is None else versions.analysis.passes),
    )
    marked_unread = sum(
        bool(each.marks) and not entry.decisions for each, entry in zip(checked, opened.in_use, strict=True)
    )
    return Overview(facts, entries, checked, pages, mix, marks, not_checked, marked_unread)


def _dev_in_newest(opened: Opened, versions: Versions | None, share: float | None) -> int:
    """Return how many dev questions are in the numbers of the newest run that also has test questions."""
    if share is None or versions is None:
        return 0
    newest = versions.analysis.passes[versions.by_age[-1]]
    parts = [
        part_of(each.item, share)
        for each in opened.in_use
        if isfinite(newest[versions.column[each.item.question_id]])
    ]
    n_dev = parts.count(DEV)
    return n_dev if n_dev < len(parts) else 0
