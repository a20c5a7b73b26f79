"""The sample as it is stored: its Arrow schema, its fields, the ids made, and lists as flat arrays."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray

Sample = dict[str, Any]

_DOCUMENT = pa.struct(
    [
        ("id", pa.string()),
        ("text", pa.string()),
        ("score", pa.float64()),
        ("doc_id", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("relevant", pa.bool_()),
        ("extra", pa.string()),
    ]
)
_RANKS = pa.list_(pa.int32())
SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("question_id", pa.string()),
        ("repeat", pa.int32()),
        ("question", pa.string()),
        ("history", pa.list_(pa.struct([("role", pa.string()), ("text", pa.string())]))),
        ("conversation_id", pa.string()),
        ("search_query", pa.string()),
        ("answer", pa.string()),
        ("reference_answer", pa.string()),
        ("retrieved", pa.list_(_DOCUMENT)),
        ("candidates", pa.list_(_DOCUMENT)),
        (
            "relevant",
            pa.list_(pa.struct([("id", pa.string()), ("grade", pa.float64()), ("hop", pa.string())])),
        ),
        (
            "relevant_spans",
            pa.list_(
                pa.struct(
                    [
                        ("doc_id", pa.string()),
                        ("start", pa.int64()),
                        ("end", pa.int64()),
                        ("hop", pa.string()),
                    ]
                )
            ),
        ),
        (
            "claims",
            pa.list_(
                pa.struct(
                    [
                        ("text", pa.string()),
                        ("in_reference", pa.bool_()),
                        ("supported_by", _RANKS),
                        ("contradicted_by", _RANKS),
                    ]
                )
            ),
        ),
        (
            "reference_claims",
            pa.list_(pa.struct([("text", pa.string()), ("in_answer", pa.bool_()), ("supported_by", _RANKS)])),
        ),
        ("used", pa.list_(pa.struct([("rank", pa.int32()), ("share", pa.float64())]))),
        ("used_source", pa.string()),
        (
            "citations",
            pa.list_(
                pa.struct(
                    [
                        ("sentence", pa.string()),
                        ("ids", pa.list_(pa.string())),
                        ("start", pa.int64()),
                        ("end", pa.int64()),
                        ("supported", pa.bool_()),
                        ("supporting", pa.list_(pa.string())),
                        ("needed", pa.bool_()),
                    ]
                )
            ),
        ),
        ("answerable", pa.string()),
        ("refused", pa.bool_()),
        ("refused_source", pa.string()),
        ("query_type", pa.string()),
        ("context_mode", pa.string()),
        (
            "human",
            pa.list_(
                pa.struct(
                    [
                        ("annotator", pa.string()),
                        ("metric", pa.string()),
                        ("value", pa.float64()),
                        ("note", pa.string()),
                        ("low", pa.float64()),
                        ("high", pa.float64()),
                    ]
                )
            ),
        ),
        ("latency_ms", pa.float64()),
        ("retrieval_ms", pa.float64()),
        ("input_tokens", pa.float64()),
        ("output_tokens", pa.float64()),
        ("cost_usd", pa.float64()),
        ("peak_memory_mb", pa.float64()),
        ("prompt", pa.string()),
        (
            "checks",
            pa.list_(
                pa.struct(
                    [
                        ("name", pa.string()),
                        ("kind", pa.string()),
                        ("expected", pa.string()),
                        ("actual", pa.string()),
                        ("passed", pa.bool_()),
                        ("suite", pa.string()),
                    ]
                )
            ),
        ),
        (
            "scores",
            pa.list_(pa.struct([("metric", pa.string()), ("value", pa.float64()), ("reason", pa.string())])),
        ),
        ("tags", pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))),
        ("extra", pa.string()),
        ("retrieved_tokens", _RANKS),
        ("relevant_chunks", pa.int32()),
        ("account_id", pa.string()),
        ("tools", pa.string()),
        ("sampling_rate", pa.float64()),
    ]
)

FIELDS = dict.fromkeys(name for name in SCHEMA.names if name not in ("row", "extra")).keys()  # in order
CONTENT_HASH = b"ragtriage.content_hash"  # key of the run's content hash in the metadata of the file
# Missing in runs stored by earlier versions.
LATER_FIELDS = ("retrieved_tokens", "relevant_chunks", "account_id", "tools", "sampling_rate")
GROWN_FIELDS = ("citations", "checks")  # with fewer keys in runs stored by earlier versions


def conform(table: Any) -> Any:
    """Return an Arrow table of samples with the columns and keys that it was stored without, all null."""
    for name in LATER_FIELDS:
        if name not in table.column_names:
            field = SCHEMA.field(name)
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    for name in GROWN_FIELDS:
        field = SCHEMA.field(name)
        if name in table.column_names and table.schema.field(name).type != field.type:
            position = table.column_names.index(name)
            table = table.set_column(position, field, table[name].cast(field.type))
    return table


def document_id(text: str) -> str:
    """Return an id for a passage that came without one, from its text: two runs agree on it."""
    return "text-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def question_key(question: str, history: list[dict[str, str]] | None) -> str:
    """Return an id for a question that came without one, from its text and the turns before it."""
    turns = "\x1f".join(turn["text"] or "" for turn in history or [])
    digest = hashlib.sha256(f"{turns}\x1e{question}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"q-{digest[:12]}"


@dataclass(frozen=True)
class Ragged:
    """A list column of n rows with m entries in all."""

    recorded: BoolArray  # (n,) False where the list is null
    lengths: IntArray  # (n,) entries per row; 0 where null
    entries: Any  # the m entries, an Arrow array

    @classmethod
    def of(cls, column: Any) -> Self:
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
