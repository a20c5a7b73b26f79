"""Which samples got the same list of documents: a retriever that ignores the question gives all the same."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ragtriage.data.store.ragged import Ragged
from ragtriage.metrics.sanity.rule import ContextLists
from ragtriage.metrics.schema.batch import Batch

if TYPE_CHECKING:
    from ragtriage.data.scoring.scored_run import ScoredRun  # which loads DuckDB, and a worker needs none


def context_list_table(table: Any, _batch: Batch) -> Any:
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
    return ContextLists(code, scored.question, scored.stage_features["documents"])
