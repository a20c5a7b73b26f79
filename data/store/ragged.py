"""Lists in an Arrow column as flat NumPy arrays, with the sample and the position of each entry."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Ragged:
    """A list column of n rows with m entries in all."""

    recorded: BoolArray  # (n,) False where the list is null
    lengths: IntArray  # (n,) entries per row; 0 where null
    entries: Any  # the m entries, an Arrow array

    @classmethod
    def of(cls, column: Any) -> Ragged:
        """Flatten a list array or a chunked one."""
        array = _whole(column)
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(array.is_valid().to_numpy(zero_copy_only=False), lengths, array.flatten())

    @cached_property
    def sample(self) -> IntArray:
        """(m,) row of each entry, ascending."""
        return np.repeat(np.arange(len(self.lengths), dtype=np.int64), self.lengths)

    @cached_property
    def place(self) -> IntArray:
        """(m,) 0-based position of each entry in its list."""
        starts = np.cumsum(self.lengths) - self.lengths
        return np.arange(len(self.sample), dtype=np.int64) - np.repeat(starts, self.lengths)

    def spread(self, values: NDArray[Any], fill: Any) -> NDArray[Any]:
        """Return a value of each entry as an (n, width) array, with `fill` behind the end of a list."""
        shape = (len(self.lengths), self.width)
        if len(values) == shape[0] * shape[1]:  # all lists are of one length
            return values.reshape(shape).copy()
        table = np.full(shape, fill, dtype=values.dtype)
        table[np.arange(shape[1]) < self.lengths[:, None]] = values
        return table

    def field(self, name: str) -> Any:
        """Return a field of struct entries as an Arrow array; all null if it was not read."""
        if self.entries.type.get_field_index(name) < 0:
            return pa.nulls(len(self.entries), pa.string())
        return pc.struct_field(self.entries, name)

    @property
    def width(self) -> int:
        """Length of the longest list."""
        return int(self.lengths.max(initial=0))


def _whole(column: Any) -> Any:
    """Return a column as one array, which is a copy only where it has several chunks."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def numbers(array: Any) -> FloatArray:
    """Return an Arrow number array as floats, NaN for null."""
    return np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def flags(array: Any) -> NDArray[np.int8]:
    """Return an Arrow boolean array as 1, 0 and -1 for null."""
    codes = pc.fill_null(array.cast(pa.int8()), -1)
    return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int8)


def padded(
    values: NDArray[Any], sample: IntArray, place: IntArray, shape: tuple[int, int], fill: Any
) -> NDArray[Any]:
    """Return flat entries as an (n, width) array, with `fill` where a row has no such entry."""
    table = np.full(shape, fill, dtype=values.dtype)
    table[sample, place] = values
    return table


def rank_matrix(lists: Any, width: int) -> BoolArray:
    """Return an Arrow list array of 1-based ranks as an (m, width) matrix; ranks beyond width are dropped."""
    ragged = Ragged.of(lists)
    matrix = np.zeros((len(ragged.recorded), width), dtype=np.bool_)
    ranks = numbers(ragged.entries).astype(np.int64) - 1 if len(ragged.sample) else ragged.sample
    inside = ranks < width
    matrix[ragged.sample[inside], ranks[inside]] = True
    return matrix
