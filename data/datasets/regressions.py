"""Questions that went wrong, put into a dataset as a batch that waits for its readers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragtriage.data.datasets.dataset import Dataset
from ragtriage.data.datasets.from_questions import read_items
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.question_sets import parsed_set
from ragtriage.data.text.tokens import folded_question

ORIGIN = "from"  # tag: where the question went wrong


@dataclass(frozen=True)
class Added:
    """What came of adding questions."""

    added: int
    known: int  # that the dataset has already
    notes: tuple[str, ...]  # how gold was found


def add_regressions(
    dataset: Dataset, records: Sequence[Mapping[str, Any]], source: str, corpus_of: Dataset | None = None
) -> Added:
    """Add questions that went wrong to a dataset; one that it has already, or that comes again, is left out.

    They go to its review: gold that came with them is looked up in the corpus, else search proposes some.

    Args:
        dataset: that takes them.
        records: samples in the native form; their answers and scores are left out.
        source: where they went wrong, kept with each as a tag and as its origin.
        corpus_of: dataset whose corpus a new one takes; by default its own.

    Raises:
        DataError: there is no corpus, or a record is no question.
    """
    corpus = (corpus_of or dataset).corpus()
    known = questions_of(dataset)
    fresh: dict[str, dict[str, Any]] = {}
    again = 0
    for record in records:
        key = folded_question(str(record["question"]))
        again += key in known
        if key not in known and key not in fresh:
            fresh[key] = _question(record, key, source)
    if not fresh:
        return Added(0, again, ())
    parsed = ParsedRun(source, list(enumerate(fresh.values(), 1)), source, "run")
    read = read_items(parsed_set(parsed, ValidationErrors(source)), CorpusWindows(corpus))
    items = [replace(item, origin={**item.origin, "regression": source}) for item in read.items]
    if not items:
        raise DataError(f"{source}: holds no question; accepted: samples with a question")
    batch = dataset.add_batch(items, corpus, {**read.facts, "regression": source})
    return Added(len(batch.items), again, read.notes)


def questions_of(dataset: Dataset) -> set[str]:
    """Return the questions of all batches of a dataset, folded: by which one is known to be there already."""
    return {folded_question(item.question) for batch in dataset.batches() for item in batch.items}


def regression_id(question: str) -> str:
    """Return the id of a question that went wrong, however it is spaced and written."""
    folded = folded_question(question).encode("utf-8", "surrogatepass")
    return f"regression-{hashlib.sha256(folded).hexdigest()[:10]}"


def _question(record: Mapping[str, Any], key: str, source: str) -> dict[str, Any]:
    """Return a sample as a question with an id of its own: that of a call is never asked again."""
    tags = {name: value for name, value in dict(record.get("tags") or {}).items() if value is not None}
    further = ("trace_id", "sampling_rate", "user_id", "repeat", "conversation_id", "account_id")
    kept = {name: value for name, value in record.items() if name not in further}
    return {**kept, "question_id": regression_id(key), "tags": {**tags, ORIGIN: source}}
