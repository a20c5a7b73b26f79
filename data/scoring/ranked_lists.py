"""Ranked lists joined with their gold: the auxiliary table of the Retrieval page, one row per sample.

It is written once at scoring, so that a page need not join ids or read texts. Where gold ids are no ids of
the documents that were retrieved, it has nothing to join.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ragtriage.data.scoring.gold_join import Match, hop_order
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.sample_schema import Ragged, padded
from ragtriage.data.store.stored_file import reading
from ragtriage.data.store.workspace import LIVE
from ragtriage.metrics.sanity.rule import ContextLists, IdMismatch
from ragtriage.metrics.schema.batch import Batch, Rankings, SpanRankings
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Status

if TYPE_CHECKING:
    from ragtriage.data.scoring.scored_run import ScoredRun  # which loads DuckDB, and a worker needs none

UNNAMED = "?"  # a gold document without a hop, where others have one


@dataclass(frozen=True)
class RankedLists:
    """The ranked lists of a run."""

    # lists joined with gold document ids; None where the run has no gold documents
    documents: Rankings | None
    # the longer lists before reranking, joined likewise; None where there are none
    first_pass: Rankings | None
    # (n, U) object array, hop label of each gold unit of `documents`, "" without one
    hops: NDArray[np.object_]
    spans: SpanRankings | None  # lists joined with gold spans of text; None where the run has no gold text
    cache_key: str = ""  # that of the scored run


def ranked_table(table: pa.Table, batch: Batch) -> pa.Table:
    """Return the table that ranked_lists reads; null where a sample has no gold.

    A batch without any gold has its rows too: other batches of the run may have some.
    """
    columns = _document_columns(batch.rankings, "", batch.n) | _document_columns(
        batch.first_pass, "first_", batch.n
    )
    columns["hops"] = _hops(table, batch.n)
    columns |= _span_columns(batch.spans, batch.n)
    return pa.table(columns)


def _document_columns(found: Rankings | None, before: str, n: int) -> dict[str, Any]:
    if found is None:
        nothing = {name: pa.nulls(n, _LISTS) for name in ("grades", "gold", "units")}
        columns = {**nothing, "status": pa.nulls(n, pa.int8()), "has_hops": pa.nulls(n, pa.bool_())}
    else:
        columns = {
            "grades": _lists(found.grades),
            "gold": _lists(found.gold),
            "units": _lists(found.unit_rank),
            "status": pa.array(found.status),
            "has_hops": pa.array(found.has_hops),
        }
    return {f"{before}{name}": column for name, column in columns.items()}


def _span_columns(found: SpanRankings | None, n: int) -> dict[str, Any]:
    if found is None:
        lists = {name: pa.nulls(n, _LISTS) for name in ("new_gold", "union_chars", "chunk_chars")}
        return {**lists, "gold_chars": pa.nulls(n, pa.float64()), "span_status": pa.nulls(n, pa.int8())}
    return {
        "new_gold": _lists(found.new_gold),
        "union_chars": _lists(found.union_chars),
        "chunk_chars": _lists(found.chunk_chars),
        "gold_chars": pa.array(found.gold_chars),
        "span_status": pa.array(found.status),
    }


_LISTS = pa.list_(pa.float64())


def _lists(values: FloatArray) -> Any:
    """Return rows padded with NaN as an Arrow list column."""
    known = ~np.isnan(values)
    offsets = np.concatenate(([0], np.cumsum(known.sum(axis=1)))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values[known]))


def _hops(table: pa.Table, n: int) -> Any:
    """Return the hop labels of each sample, in the order of its hops."""
    gold = Ragged.of(table["relevant"])
    labels = gold.field("hop").to_pylist() if len(gold.sample) else []
    if not any(label is not None for label in labels):
        return pa.nulls(n, pa.list_(pa.string()))
    hops_of_sample: list[list[str]] = [[] for _ in range(n)]
    grades = gold.field("grade").to_pylist()
    for row, label, grade in zip(gold.sample.tolist(), labels, grades, strict=True):
        if label is not None and grade > 0 and label not in hops_of_sample[row]:
            hops_of_sample[row].append(label)
    return pa.array([sorted(hops, key=hop_order) for hops in hops_of_sample], pa.list_(pa.string()))


def ranked_lists(scored: ScoredRun) -> RankedLists | None:
    """Return the ranked lists of a run, cached for as long as the run is in use; None without gold."""
    with _lock:
        if scored not in _read:
            _read[scored] = _ranked_lists(scored.auxiliary_table("ranked"), scored.cache_key)
        return _read[scored]


_lock = Lock()
_read: WeakKeyDictionary[ScoredRun, RankedLists | None] = WeakKeyDictionary()


def _ranked_lists(stored: Any, cache_key: str) -> RankedLists | None:
    if stored is None:
        return None
    documents, spans = _documents(stored, ""), _spans(stored)
    if documents is None and spans is None:
        return None
    first_pass, hops = _documents(stored, "first_"), _hop_labels(stored, documents)
    return RankedLists(documents, first_pass, hops, spans, cache_key)


def _hop_labels(stored: Any, documents: Rankings | None) -> NDArray[np.object_]:
    """Return the label of each gold unit; documents without a hop come first."""
    hops = Ragged.of(stored["hops"])
    if documents is None:
        return np.full((stored.num_rows, 0), "", dtype=object)
    units = (~np.isnan(documents.unit_rank)).sum(axis=1)
    place = hops.place + (units - hops.lengths)[hops.sample]
    labels = np.array(hops.entries.to_pylist(), dtype=object)
    return padded(labels, hops.sample, place, documents.unit_rank.shape, "")


def _matrix(column: Any) -> FloatArray:
    lists = Ragged.of(column)
    values = np.asarray(lists.entries.to_numpy(zero_copy_only=False), dtype=np.float64)
    return padded(values, lists.sample, lists.place, (len(lists.recorded), lists.width), np.nan)


def _status(column: Any) -> NDArray[np.int8]:
    codes = column.combine_chunks().fill_null(int(Status.NOT_RUN))
    return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int8)


def _documents(stored: Any, before: str) -> Rankings | None:
    status = stored[f"{before}status"]
    if status.null_count == len(status):
        return None
    flags = stored[f"{before}has_hops"].combine_chunks().fill_null(False)
    return Rankings(
        grades=_matrix(stored[f"{before}grades"]),
        gold=_matrix(stored[f"{before}gold"]),
        unit_rank=_matrix(stored[f"{before}units"]),
        status=_status(status),
        reason=np.full(stored.num_rows, "", dtype=object),
        has_hops=np.asarray(flags.to_numpy(zero_copy_only=False), dtype=np.bool_),
    )


def _spans(stored: Any) -> SpanRankings | None:
    status = stored["span_status"]
    if status.null_count == len(status):
        return None
    new_gold = _matrix(stored["new_gold"])
    return SpanRankings(
        gold_chars=np.nan_to_num(stored["gold_chars"].to_numpy()),
        new_gold=new_gold,
        union_chars=_matrix(stored["union_chars"]),
        chunk_chars=_matrix(stored["chunk_chars"]),
        status=_status(status),
        reason=np.full(stored.num_rows, "", dtype=object),
        hits=np.nan_to_num(new_gold) > 0,
    )


def missed_names(lists: RankedLists, missed: BoolArray) -> NDArray[np.object_]:
    """Return the missed hops of each sample, joined by +; "" where none is missed."""
    names = np.full(len(missed), "", dtype=object)
    for at in range(missed.shape[1]):
        hit = missed[:, at]
        label = np.where(lists.hops[hit, at] == "", UNNAMED, lists.hops[hit, at])
        before = np.where(names[hit] == "", "", names[hit] + "+")
        names[hit] = before + label
    return names


def context_list_table(table: pa.Table, _batch: Batch) -> pa.Table:
    """Return the auxiliary table of the lists: a digest of each, null where nothing was retrieved.

    Documents are told apart by their text, or by their id where no text is recorded, since some tools number
    the documents of every question anew.
    """
    lists: list[int | None] = []
    retrieved = Ragged.of(table["retrieved"])
    # a digest of each document
    encoded = pc.dictionary_encode(_names(retrieved))
    of_name = [
        blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for name in encoded.dictionary.to_pylist()
    ]
    digests = [of_name[code] for code in encoded.indices.to_pylist()]
    ends = np.cumsum(retrieved.lengths).tolist()
    starts = [0, *ends][:-1]
    for start, end, mode in zip(starts, ends, table["context_mode"].to_pylist(), strict=True):
        if start == end or mode in ("oracle", "closed_book"):
            lists.append(None)
        else:
            whole = blake2b(b"".join(digests[start:end]), digest_size=8).digest()
            lists.append(int.from_bytes(whole, "big", signed=True))
    return pa.table({"list": pa.array(lists, pa.int64())})


def _names(retrieved: Ragged) -> Any:
    """Return the text of each document, or its id where none is recorded, as an Arrow array."""
    texts = retrieved.field("text")
    recorded = pc.fill_null(pc.greater(pc.binary_length(texts), 0), False)
    if recorded.true_count == len(texts):
        return texts
    ids = pc.fill_null(retrieved.field("id"), "None")
    return pc.if_else(recorded, texts, pc.binary_join_element_wise("id:", ids, ""))


def context_lists(scored: ScoredRun) -> ContextLists | None:
    """Return which list of documents each sample of a run got; None where no list was retrieved."""
    table = scored.auxiliary_table("lists")
    if table is None:
        return None
    column = table["list"].combine_chunks()
    known = column.is_valid().to_numpy(zero_copy_only=False)
    if not known.any():
        return None
    code = np.full(scored.n, -1, dtype=np.int64)
    code[known] = np.unique(column.drop_null().to_numpy(), return_inverse=True)[1]
    asked, texts = scored.question, scored.auxiliary_table("texts")
    if LIVE in scored.run.config and texts is not None:  # what many users ask gets one list
        asked = np.unique(texts["asked"].to_numpy(), return_inverse=True)[1]
    return ContextLists(code, asked, scored.stage_features["documents"])


FEWEST = 3  # with fewer samples, finding nothing is as likely as ids that do not match
BY_CHANCE = 0.05  # share of the gold ids up to which those that occur may do so by accident
_RUNS = (re.compile(r"[^\W\d_]+"), re.compile(r"\d+"))


@lru_cache(maxsize=64)  # the samples of a run never change
def id_mismatch(samples: Path, match: Match) -> IdMismatch | None:
    """Return how the gold ids of a run differ from its retrieved ids, or None where they match.

    They do where more than BY_CHANCE of them occur, or where some do and the others are of the same form, as
    by a weak retriever. Candidates of a first pass count as retrieved. A run that names no gold or retrieved
    nothing matches, and so does one of fewer than FEWEST samples with gold.

    Args:
        samples: the samples file of the run.
        match: whether gold names chunks (`id`) or whole documents (`doc_id`).
    """
    overlap = IdOverlap(match)
    for table in _row_groups(samples):
        if overlap.add(table):
            return None
    return overlap.mismatch


class IdOverlap:
    """The matches of gold ids with retrieved ones, in the samples that were seen so far."""

    def __init__(self, match: Match) -> None:
        self._match = match
        self._gold: set[str] = set()
        self._retrieved: set[str] = set()
        self._parents: set[str] = set()
        self._samples = 0
        self._matches = False

    def add(self, table: pa.Table) -> bool:
        """Look at the samples of an Arrow table; return whether it is certain that ids match."""
        if self._matches:
            return True
        named = pc.list_value_length(table["relevant"])
        self._samples += int(pc.sum(pc.greater(named, 0)).as_py() or 0)
        self._gold |= _distinct(table, "relevant", "id")
        for column in ("retrieved", "candidates"):
            self._retrieved |= _distinct(table, column, "id")
            self._parents |= _distinct(table, column, "doc_id")
        self._matches = len(self._found) > max(1.0, BY_CHANCE * len(self._gold))
        return self._matches

    @property
    def _ids(self) -> set[str]:
        return self._retrieved | self._parents if self._match == "doc_id" else self._retrieved

    @property
    def _found(self) -> set[str]:
        return self._gold & self._ids

    @property
    def mismatch(self) -> IdMismatch | None:
        """How the ids differ; None where they match, or too few samples name gold."""
        if self._matches or self._samples < FEWEST or not self._retrieved:
            return None
        overlap = self._found
        if overlap:
            gold, ids = ({_form(name) for name in names - overlap} for names in (self._gold, self._ids))
            if len(overlap) > BY_CHANCE * len(self._gold) or not gold.isdisjoint(ids):
                return None
        as_doc_id = len(self._gold & self._parents) > len(overlap)
        gold_id, retrieved = (
            min(self._gold - overlap),
            min(self._retrieved - overlap, default=min(self._retrieved)),
        )
        return IdMismatch(self._samples, len(self._gold), gold_id, retrieved, as_doc_id, len(overlap))


def _form(name: str) -> str:
    """Return the form of an id: "doc-12" and "page-7" are alike, "12" is not."""
    letters, digits = _RUNS
    return digits.sub("9", letters.sub("a", name))


def _row_groups(samples: Path) -> Iterator[Any]:
    with reading(samples), pq.ParquetFile(samples) as file:
        for group in range(file.metadata.num_row_groups):
            yield file.read_row_group(group, columns=["relevant", "retrieved", "candidates"])


def _distinct(table: pa.Table, column: str, part: str) -> set[str]:
    entries = pc.list_flatten(table[column]).combine_chunks()
    if pa.types.is_null(entries.type) or not len(entries):
        return set()
    return set(pc.unique(pc.struct_field(entries, part)).to_pylist()) - {None}
