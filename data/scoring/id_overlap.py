"""Whether the gold ids of a run are ids of the documents it retrieved: without that, recall says nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ragtriage.data.scoring.gold_join import Match
from ragtriage.data.store.stored_file import reading
from ragtriage.metrics.sanity.rule import IdMismatch

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
