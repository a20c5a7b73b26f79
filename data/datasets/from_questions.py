"""Items of a dataset from questions that exist: those of a file or of a question set."""

from __future__ import annotations

from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.datasets.item import Item, quoted
from ragtriage.data.store.question_sets import LoadedSet


def items_of_set(loaded: LoadedSet, corpus: Corpus) -> list[Item]:
    """Return the questions of a set as items, with the text of their gold in the corpus."""
    origin = {"by": "file", "file": loaded.facts.name}
    items = [Item.from_question({**question, "dataset": {"origin": origin}}) for question in loaded.questions]
    return [quoted(item, corpus) for item in items]
