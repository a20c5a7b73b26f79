"""The items that go into a version or a file: those that people read and kept, or all that filters passed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.datasets.corpus_change import CorpusChange, span_changes
from ragtriage.data.datasets.dataset import Version
from ragtriage.data.datasets.item import Item, stands
from ragtriage.data.datasets.review import OUT, Draft, DraftItem, follow_corpus
from ragtriage.data.datasets.split import DEV, TAG, TEST, split_share, with_parts
from ragtriage.data.errors import DataError
from ragtriage.data.store.question_sets import QuestionSet
from ragtriage.metrics.number_text import count

ALL = "all"  # both parts of a dataset that is split
REVIEWED = "reviewed"  # tag: whether people read and kept the item


@dataclass(frozen=True)
class Chosen:
    """Items of a draft, and how many were left out, by why."""

    items: tuple[Item, ...]  # with the tags `reviewed`, and `split` where the dataset is split
    unread: int  # that nobody decided on, or only before they were changed
    rejected: int  # by readers or a filter
    gone: int  # whose gold does not stand in the corpus any more
    without_gold: int  # among the items: neither gold nor unanswerable
    dev: int  # among the items

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what was left out, and what lacks gold, in sentences."""
        lines = (
            (self.unread, "left out because nobody has read them: {:,}"),
            (self.rejected, "left out because readers or filters rejected them: {:,}"),
            (self.gone, "left out because their gold is gone from the corpus: {:,}"),
            (self.without_gold, "without gold: {:,}"),
        )
        return tuple(text.format(n) for n, text in lines if n)


def choose(draft: Draft, unreviewed: bool = False, part: str = "") -> Chosen:
    """Return the items of a draft that people read and kept; with `unreviewed`, also those to be read.

    With a part, "dev" or "test", only those of it.

    Raises:
        DataError: there is none, or the dataset is not split.
    """
    dataset = draft.dataset
    corpus = dataset.corpus()
    standing: list[DraftItem] = []
    counts = {"unread": 0, "rejected": 0, "gone": 0}
    for each in draft.items:
        if each.state in OUT:
            counts["rejected"] += 1
        elif not (unreviewed or each.golden):
            counts["unread"] += 1
        elif not all(stands(span, corpus) for span in each.item.spans):
            counts["gone"] += 1
        else:
            standing.append(each)
    if not standing:
        raise DataError(f"dataset {dataset.name}: {_why_none(**counts)}")
    plain = [
        replace(each.item, proposed=(), tags={**each.item.tags, REVIEWED: "true" if each.golden else "false"})
        for each in standing
    ]
    share = split_share(dataset)
    if part and share is None:
        raise DataError(
            f"dataset {dataset.name}: is not split; accepted: first `ragtriage dataset split "
            f"{dataset.dataset_id}`"
        )
    items = tuple(item for item in with_parts(plain, share) if part in ("", item.tags.get(TAG)))
    if not items:
        raise DataError(
            f"dataset {dataset.name}: none of its {len(plain):,} items is {part}; accepted: another share"
        )
    return Chosen(
        items,
        **counts,
        without_gold=sum(not item.spans and item.answerable != "no" for item in items),
        dev=sum(item.tags.get(TAG) == DEV for item in items),
    )


def _why_none(unread: int, rejected: int, gone: int) -> str:
    """Return why no item is left, and what helps, for the cause that can be helped first."""
    if unread:
        return (
            f"no item that people read and kept, {unread:,} to read; accepted: a review on the page Datasets "
            "first, or --unreviewed"
        )
    if gone:
        return (
            f"the gold of all {count(gone, 'item')} left is gone from the corpus; accepted: more questions, "
            "or documents that have it, by `ragtriage dataset check DATASET CORPUS --apply`"
        )
    if rejected:
        return f"readers or filters rejected all of its {count(rejected, 'item')}; accepted: more questions"
    return "it has no item; accepted: a batch of questions first"


def follow(draft: Draft, corpus: Corpus, who: str) -> CorpusChange:
    """Let a draft point into another corpus; return what became of the gold of what may go into a version.

    What filters or readers rejected follows too, since it may be taken back; but an item that readers
    rejected does not return to the review because its gold changed or is gone.
    """
    rejected = [each.item for each in draft.items if each.state == "rejected"]
    lost = span_changes(rejected, draft.dataset.corpus(), corpus).to_read
    items = [each.item for each in draft.items if each.item.question_id not in lost]
    change = follow_corpus(draft.dataset, items, corpus, who)
    return change.of({each.item.question_id for each in draft.standing})


def freeze(
    draft: Draft, who: str, unreviewed: bool = False, part: str = ""
) -> tuple[Version, QuestionSet, Chosen]:
    """Make the next version of what `choose` gives; the newest where it has the same questions.

    Of a dataset that is split it is the test part, unless `part` says dev or all: so that no question that a
    pipeline was tuned on counts in a test number.

    Raises:
        DataError: there is no item.
    """
    split = split_share(draft.dataset) is not None
    chosen = choose(draft, unreviewed, "" if part == ALL else part or (TEST if split else ""))
    read = sum(item.tags[REVIEWED] == "true" for item in chosen.items)
    return *draft.dataset.freeze(chosen.items, read, who), chosen
