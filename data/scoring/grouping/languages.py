"""The language of each sample's question, answer and documents, told at scoring, as slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ragtriage.data.scoring.grouping.slices import NOT_GIVEN, Slice, field_slice
from ragtriage.data.store.ragged import Ragged
from ragtriage.data.text.language import language_of, language_of_all
from ragtriage.metrics.schema.batch import Batch

LANGUAGES = {"question": "language", "answer": "answer language", "documents": "document language"}
_MOST_DOCUMENTS = 2  # of a context are looked at, the first with a text
_LEAST_SHARE = 0.01  # of the samples: a language told less often is taken for a mistake


def language_table(table: Any, _batch: Batch) -> Any:
    """Return the auxiliary table of the languages: ISO 639 codes, null where none can be told."""
    languages = {
        "question": [language_of(text) for text in table["question"].to_pylist()],
        "answer": [language_of(text) for text in table["answer"].to_pylist()],
        "documents": _of_documents(Ragged.of(table["retrieved"])),
    }
    return pa.table({name: pa.array(values, pa.string()) for name, values in languages.items()})


def language_slices(table: Any) -> list[Slice]:
    """Return the slices by language of a run, those with two languages at least.

    Args:
        table: the auxiliary table of its languages. A language told for one sample alone, or for under 1 % of
            them, counts as not told: on short texts the model is sometimes wrong.
    """
    slices = [field_slice(name, _common(table[column])) for column, name in LANGUAGES.items()]
    return [each for each in slices if len(set(each.labels) - {NOT_GIVEN}) > 1]


def _common(column: Any) -> Any:
    counts = pc.value_counts(column.drop_null()).to_pylist()
    least = max(2, _LEAST_SHARE * len(column))
    kept = pa.array([count["values"] for count in counts if count["counts"] >= least], pa.string())
    return pc.if_else(pc.is_in(column, value_set=kept), column, pa.scalar(None, pa.string()))


def _of_documents(documents: Ragged) -> list[str | None]:
    texts = documents.field("text")
    filled = pc.fill_null(pc.greater(pc.binary_length(texts), 0), False).to_numpy(zero_copy_only=False)
    before = np.cumsum(filled) - filled  # texts above it, in all samples
    first = np.searchsorted(documents.sample, documents.sample)  # document of the same sample
    looked_at = np.flatnonzero(filled & (before - before[first] < _MOST_DOCUMENTS))
    passages: list[list[str]] = [[] for _ in documents.recorded]
    samples = documents.sample[looked_at].tolist()
    for sample, text in zip(samples, texts.take(pa.array(looked_at)).to_pylist(), strict=True):
        passages[sample].append(text)
    return [language_of_all(each) for each in passages]
