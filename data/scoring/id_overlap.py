"""Whether the gold ids of a run are ids of the documents it retrieved: without that, recall says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from data.scoring.gold_join import Match
from data.store.stored_file import reading
from metrics.sanity.rule import IdMismatch

__all__ = ["id_mismatch"]

FEWEST = 3  # with fewer samples, finding nothing is as likely as ids that do not match


@lru_cache(maxsize=64)  # the samples of a run never change
def id_mismatch(samples: Path, match: Match) -> IdMismatch | None:
    """Return how the gold ids of a run differ from its retrieved ids, or None if any occurs among them.

    Candidates of a first pass count as retrieved. A run that names no gold or retrieved nothing matches, and
    so does one of fewer than FEWEST samples with gold.

    Args:
        samples: the samples file of the run.
        match: whether gold names chunks (`id`) or whole documents (`doc_id`).
    """
    gold: set[str] = set()
    retrieved: set[str] = set()
    parents: set[str] = set()
    n_samples = 0
    for table in _row_groups(samples):
        named = pc.list_value_length(table["relevant"])
        n_samples += int(pc.sum(pc.greater(named, 0)).as_py() or 0)
        gold |= _distinct(table, "relevant", "id")
        for column in ("retrieved", "candidates"):
            retrieved |= _distinct(table, column, "id")
            parents |= _distinct(table, column, "doc_id")
        if gold & (retrieved | parents if match == "doc_id" else retrieved):
            return None
    if n_samples < FEWEST or not retrieved:
        return None
    return IdMismatch(n_samples, len(gold), min(gold), min(retrieved), as_doc_id=bool(gold & parents))


def _row_groups(samples: Path) -> Iterator[Any]:
    with reading(samples), pq.ParquetFile(samples) as file:
        for group in range(file.metadata.num_row_groups):
            yield file.read_row_group(group, columns=["relevant", "retrieved", "candidates"])


def _distinct(table: Any, column: str, part: str) -> set[str]:
    entries = pc.list_flatten(table[column]).combine_chunks()
    if pa.types.is_null(entries.type) or not len(entries):
        return set()
    return set(pc.unique(pc.struct_field(entries, part)).to_pylist()) - {None}
