"""Ways to group the samples of a run: field, question length, tag, language, noise in the context."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ragtriage.data.store.sample_schema import Ragged
from ragtriage.data.text.language import language_of, language_of_all
from ragtriage.metrics.definitions.claims import relevant_documents
from ragtriage.metrics.schema.batch import Batch
from ragtriage.metrics.schema.scores import FloatArray, IntArray, Status

NOT_GIVEN = "(not given)"
MOST_SLICE_VALUES = 200  # a tag with more values identifies single cases and is no use as a slice


@dataclass(frozen=True)
class Slice:
    """A way to group samples: by a tag, the query type, and so on."""

    name: str  # what the samples are grouped by
    codes: IntArray  # (n,) int codes into labels
    labels: tuple[str, ...]  # the values


def distinct_codes(column: Any) -> tuple[NDArray[np.object_], IntArray]:
    """Return the distinct values of a text column, sorted, and each row's index among them."""
    encoded = column.combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_numpy(zero_copy_only=False)
    order = pc.array_sort_indices(encoded.dictionary).to_numpy()  # by bytes, the order of Python's texts
    sorted_code = np.empty(len(values), dtype=np.int64)
    sorted_code[order] = np.arange(len(values))
    return values[order], sorted_code[encoded.indices.to_numpy(zero_copy_only=False)]


def independent_clusters(clusters: Any, questions: Any, asked: IntArray) -> Any:
    """Return a column of clusters in which those that ask the same questions are one.

    A question that a file has under several ids is drawn once, and so is a conversation.

    Args:
        clusters: the conversation of each sample, or its question where it is in none.
        questions: the id of each sample's question.
        asked: (n,) codes of the questions by their texts.
    """
    names, codes = distinct_codes(clusters)
    first = np.unique(distinct_codes(questions)[1], return_index=True)[1]  # a sample of each question
    questions_of = np.zeros(len(names), dtype=np.int64)
    np.add.at(questions_of, codes[first], asked[first])  # codes are digests: equal sums are equal sets
    _, earliest, same = np.unique(questions_of, return_index=True, return_inverse=True)
    return pa.array(names[earliest[same]][codes], pa.string())


def field_slice(name: str, column: Any) -> Slice:
    """Return the samples grouped by the values of a column."""
    values, codes = distinct_codes(column.cast("string").fill_null(NOT_GIVEN))
    return Slice(name, codes, tuple(values))


def length_slice(lengths: Any) -> Slice:
    """Return the samples grouped by the length of their question, in characters."""
    values = lengths.to_numpy().astype(np.float64)
    edges = (50, 100, 200)
    labels = ("under 50 characters", "50 to 99 characters", "100 to 199 characters", "200 characters or more")
    codes = np.digitize(values, edges)
    present = np.unique(codes)
    return Slice("question length", np.searchsorted(present, codes), tuple(labels[code] for code in present))


def tag_slices(tags: Any) -> list[Slice]:
    """Return the samples grouped by each tag with at most MOST_SLICE_VALUES values."""
    ragged = Ragged.of(tags)
    if not len(ragged.sample):
        return []
    keys, key_codes = _codes_of(ragged.field("key"))
    values, value_codes = _codes_of(ragged.field("value"))
    slices = []
    for key_code, key in enumerate(keys):
        has_key = key_codes == key_code
        codes = np.full(len(ragged.recorded), -1, dtype=np.int64)  # -1: the sample lacks the tag
        codes[ragged.sample[has_key]] = value_codes[has_key]
        present = np.unique(codes)
        if len(present) <= MOST_SLICE_VALUES:
            labels = tuple(NOT_GIVEN if code < 0 else str(values[code]) for code in present)
            slices.append(Slice(str(key), np.searchsorted(present, codes), labels))
    return slices


def _codes_of(array: Any) -> tuple[list[str], IntArray]:
    encoded = array.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


LANGUAGES = {"question": "language", "answer": "answer language", "documents": "document language"}
_MOST_DOCUMENTS = 2  # of a context are looked at, the first with a text
_LEAST_SHARE = 0.01  # of the samples: a language told less often is taken for a mistake


def language_table(table: pa.Table, _batch: Batch) -> pa.Table:
    """Return the auxiliary table of the languages: ISO 639 codes, null where none can be told."""
    languages = {
        "question": [language_of(text) for text in table["question"].to_pylist()],
        "answer": [language_of(text) for text in table["answer"].to_pylist()],
        "documents": _of_documents(Ragged.of(table["retrieved"])),
    }
    return pa.table({name: pa.array(values, pa.string()) for name, values in languages.items()})


def language_slices(table: pa.Table) -> list[Slice]:
    """Return the slices by language of a run, those with two languages at least.

    Args:
        table: the auxiliary table of its languages. A language told for one sample alone, or for under 1 % of
            them, counts as not told: on short texts the model is sometimes wrong.
    """
    slices = [field_slice(name, common_languages(table[column])) for column, name in LANGUAGES.items()]
    return [each for each in slices if len(set(each.labels) - {NOT_GIVEN}) > 1]


def common_languages(column: Any) -> Any:
    """Return a column of the languages of a run without those that are told too seldom to be believed."""
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


HOLDS_GOLD = 1  # code of Answers.context_has_gold
NOISY = 0.5  # relevant share of a context that holds the gold, below which it is noisy


def noise_slices(noise: Any) -> list[Slice]:
    """Return the slice of contexts that hold their gold, by whether most of the rest is noise."""
    if noise is None or noise["noisy"].null_count == noise.num_rows:
        return []
    return [field_slice("context noise", pc.if_else(noise["noisy"], "noisy context", "clean context"))]


def noise_table(_table: pa.Table, batch: Batch) -> pa.Table:
    """Return the auxiliary table of retrieval-side noise; None where no context is known to hold its gold.

    `noisy` is true where a context holds all of the gold and fewer than half of its documents are relevant:
    by the labels of all its documents, else by the claims of the reference, gold text or gold ids.
    """
    answers, share = batch.answers, _relevant_share(batch)
    known = np.isfinite(share)
    known &= False if answers is None else answers.context_has_gold == HOLDS_GOLD
    return pa.table({"noisy": pa.array(share < NOISY, pa.bool_(), mask=~known)})


def _relevant_share(batch: Batch) -> FloatArray:
    """(n,) share of the retrieved documents that are relevant; NaN where that is not known."""
    share, listed = np.full(batch.n, np.nan), batch.documents
    if batch.rankings is not None:
        scored = (batch.rankings.status == Status.SCORED) & (listed > 0)
        share[scored] = (batch.rankings.grades > 0).sum(axis=1)[scored] / listed[scored]
    if batch.spans is not None:
        scored = (batch.spans.status == Status.SCORED) & (listed > 0)
        share[scored] = batch.spans.hits.sum(axis=1)[scored] / listed[scored]
    reference = batch.reference_claims
    if reference is not None:
        labelled = np.bincount(reference.sample[reference.support_known], minlength=batch.n)
        total = np.bincount(reference.sample, minlength=batch.n)
        scored = (total > 0) & (labelled == total) & (listed > 0)
        share[scored] = relevant_documents(reference).sum(axis=1)[scored] / listed[scored]
    labels = batch.document_relevant
    if labels is not None:
        scored = ((labels >= 0).sum(axis=1) == listed) & (listed > 0)
        share[scored] = (labels == 1).sum(axis=1)[scored] / listed[scored]
    return share
