"""Gold by pooling: what several runs and a search by words find for a question, judged blind.

A reader sees passages without the run and the rank that they come from, in an order by hash. What no run
found above the depth is not judged, which the card says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from ragtriage.data.datasets.checks import query_of
from ragtriage.data.datasets.dataset import Dataset
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.errors import WorkspaceError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Run
from ragtriage.data.text.tokens import surface_tokens

POOL_DEPTH = 10  # documents of each run, and windows of the search, that are judged
SAME = 0.5  # share of the shorter of two passages from which they are one candidate

Judged = Literal["", "gold", "not gold"]


@dataclass(frozen=True)
class Candidate:
    """A passage that may answer; it does not say who found it."""

    span: GoldSpan
    judged: Judged = ""


@dataclass(frozen=True)
class Pool:
    """The passages to be judged for a question."""

    candidates: tuple[Candidate, ...]  # in an order by hash
    depth: int
    retrieved: int  # documents of the runs that were asked the question
    not_found: int  # of them, those whose text does not stand in the corpus: nobody judges them

    @property
    def to_judge(self) -> list[Candidate]:
        """The candidates that nobody has judged."""
        return [candidate for candidate in self.candidates if not candidate.judged]


class PooledRuns:
    """What runs retrieved for each question, read once."""

    def __init__(self, store: RunStore, runs: Sequence[Run], depth: int = POOL_DEPTH) -> None:
        self.depth = depth
        self._by_question: list[dict[object, list[Mapping[str, Any]]]] = []
        for run in runs:
            found: dict[object, list[Mapping[str, Any]]] = {}
            samples = StoredSamples(store.workspace.samples_path(run.run_id))
            for sample in samples.each(("question_id", "question", "retrieved")):
                documents = list(islice(sample["retrieved"] or (), depth))
                # the words tell more than an id: that of another run may be of another question
                found.setdefault(tuple(surface_tokens(sample["question"])), documents)
            self._by_question.append(found)

    def of(self, item: Item) -> list[list[Mapping[str, Any]]]:
        """Return the documents that each run found for the question of an item, where it was asked."""
        key = tuple(surface_tokens(item.question))
        return [found[key] for found in self._by_question if key in found]


def pooled_runs(store: RunStore, dataset: Dataset) -> PooledRuns:
    """Return the runs that the batches of a dataset name, as far as the workspace still has them."""
    facts = [batch.facts for batch in dataset.batches()]
    names = dict.fromkeys(name for each in facts for name in each.get("runs") or ())
    runs = []
    for name in names:
        try:
            runs.append(store.find(name))
        except WorkspaceError:
            continue  # deleted since
    return PooledRuns(
        store, runs, max((each["depth"] for each in facts if each.get("depth")), default=POOL_DEPTH)
    )


def pool_of(item: Item, windows: CorpusWindows, runs: PooledRuns) -> Pool:
    """Return the passages that runs and a search by words find for a question, each once, and blind.

    Args:
        item: of which gold is wanted.
        windows: of the corpus that the gold is to stand in.
        runs: what was retrieved.
    """
    query = query_of(item)
    found = [window.span() for window in windows.search(query, runs.depth)]
    places = [_place(document, query, windows) for documents in runs.of(item) for document in documents]
    spans = [*found, *(place for place in places if place is not None)]
    ordered = sorted(_different(spans), key=lambda span: _order(span, item))
    return judged_pool(
        Pool(tuple(map(Candidate, ordered)), runs.depth, len(places), places.count(None)), item
    )


def judged_pool(pool: Pool, item: Item) -> Pool:
    """Return a pool with what the gold and the distractors of an item say of its candidates."""
    judged = (Candidate(each.span, _judged(each.span, item)) for each in pool.candidates)
    return replace(pool, candidates=tuple(judged))


def _place(document: Mapping[str, Any], query: str, windows: CorpusWindows) -> GoldSpan | None:
    """Return where a retrieved document stands; of one without a text, its best window for the query."""
    text, names = document.get("text") or "", [str(document.get(key) or "") for key in ("doc_id", "id")]
    own = next((windows.corpus.by_name[name] for name in names if name in windows.corpus.by_name), None)
    if text.strip():
        places = windows.locate(text, own.doc_id) if own is not None else []
        return next(iter(places or windows.locate(text)), None)
    if own is None:
        return None
    inside = [window for window in windows.windows if window.doc_id == own.doc_id]
    found = [window for window in windows.search(query, len(windows.windows)) if window.doc_id == own.doc_id]
    return next((window.span() for window in (*found, *inside)), None)


def _different(spans: Iterable[GoldSpan]) -> list[GoldSpan]:
    """Return the spans that are not for the most part another one's, the shorter of each two."""
    kept: list[GoldSpan] = []
    for span in sorted(spans, key=lambda each: (each.end - each.start, each.doc_id, each.start)):
        if not any(_shared(span, known) >= SAME for known in kept):
            kept.append(span)
    return kept


def _shared(span: GoldSpan, other: GoldSpan) -> float:
    """Return the share of the shorter of two spans that they have in common."""
    if span.doc_id != other.doc_id:
        return 0.0
    common = min(span.end, other.end) - max(span.start, other.start)
    return common / max(1, min(span.end - span.start, other.end - other.start))


def _judged(span: GoldSpan, item: Item) -> Judged:
    if any(_shared(span, gold) >= SAME for gold in item.spans):
        return "gold"
    return "not gold" if any(_shared(span, other) >= SAME for other in item.distractors) else ""


def _order(span: GoldSpan, item: Item) -> str:
    key = f"{item.question_id} {span.doc_id} {span.start}"
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
