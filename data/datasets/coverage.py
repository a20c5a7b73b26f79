"""What a dataset asks about: questions by page and by kind, beside what its corpus and its plan call for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.datasets.item import Item, kind_counts

# group -> percent of a usual set
USUAL_MIX: Mapping[str, float] = {"single": 50, "multi-hop": 20, "unanswerable": 15, "adversarial": 15}
_GROUPS = {
    "multi-hop": "multi-hop",
    "aggregation": "multi-hop",
    "comparison": "multi-hop",
    "unanswerable": "unanswerable",
    "false-premise": "unanswerable",
    "adversarial": "adversarial",
}  # of a kind; the others ask for a single fact


@dataclass(frozen=True)
class PageCoverage:
    """A document of the corpus and the questions about it."""

    doc_id: str
    characters: int
    questions: int  # with gold in it
    quota: float  # its share of the questions by the square root of its length


def page_coverage(items: Sequence[Item], corpus: Corpus) -> list[PageCoverage]:
    """Return the documents of a corpus, the longest first."""
    asked = Counter(
        corpus.by_name[doc_id].doc_id
        for item in items
        for doc_id in {span.doc_id for span in item.spans}
        if doc_id in corpus.by_name
    )
    filled = [document for document in corpus.documents if document.text.strip()]
    total = sum(sqrt(len(document.text)) for document in filled) or 1.0
    n = sum(bool(item.spans) for item in items)
    pages = [
        PageCoverage(
            document.doc_id,
            len(document.text),
            asked[document.doc_id],
            n * sqrt(len(document.text)) / total,
        )
        for document in filled
    ]
    return sorted(pages, key=lambda page: (-page.characters, page.doc_id))


@dataclass(frozen=True)
class MixShare:
    """A group of kinds in a dataset."""

    group: str  # key of USUAL_MIX
    kinds: Mapping[str, int]  # kind -> its questions
    n: int  # questions of the group
    planned: float  # as the plan, or the share of a usual set, calls for


def mix_of(items: Sequence[Item], asked: Mapping[str, float] | None = None) -> list[MixShare]:
    """Return the groups of kinds in the order of USUAL_MIX, those without a question included.

    Args:
        items: of the dataset.
        asked: kind -> what its plans asked for, in any unit; None or nothing for the usual mix.
    """
    counts, asked = kind_counts(items), asked or USUAL_MIX
    total, shares = sum(asked.values()), []
    for group in USUAL_MIX:
        kinds = {kind: n for kind, n in counts.items() if _GROUPS.get(kind, "single") == group}
        planned = sum(n for kind, n in asked.items() if _GROUPS.get(kind, "single") == group)
        shares.append(MixShare(group, kinds, sum(kinds.values()), planned / total * len(items)))
    return shares
