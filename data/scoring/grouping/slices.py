"""Ways to group the samples of a run: by a field, by the length of the question, by a tag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from ragtriage.data.store.ragged import Ragged
from ragtriage.metrics.schema.scores import IntArray

NOT_GIVEN = "(not given)"
MOST_SLICE_VALUES = 200  # a tag with more values identifies single cases and is no use as a slice


@dataclass(frozen=True)
class Slice:
    """A way to group samples: by a tag, the query type, and so on.

    Attributes:
        name: what the samples are grouped by.
        codes: (n,) int codes into labels.
        labels: the values.
    """

    name: str
    codes: IntArray
    labels: tuple[str, ...]


def distinct_codes(column: Any) -> tuple[NDArray[np.object_], IntArray]:
    """Return the distinct values of a text column, sorted, and each row's index among them."""
    encoded = column.combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_numpy(zero_copy_only=False)
    order = pc.array_sort_indices(encoded.dictionary).to_numpy()  # by bytes, the order of Python's texts
    sorted_code = np.empty(len(values), dtype=np.int64)
    sorted_code[order] = np.arange(len(values))
    return values[order], sorted_code[encoded.indices.to_numpy(zero_copy_only=False)]


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
