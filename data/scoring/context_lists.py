"""Which samples got the same list of documents: a retriever that ignores the question gives all the same."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from metrics.sanity.rule import ContextLists
from metrics.schema.batch import Batch

if TYPE_CHECKING:
    from data.scoring.scored_run import ScoredRun  # which loads DuckDB, and a worker needs none

__all__ = ["context_list_table", "context_lists"]


def context_list_table(table: Any, _batch: Batch) -> Any:
    """Return the auxiliary table of the lists: a digest of each, null where nothing was retrieved.

    Documents are told apart by their text, or by their id where no text is recorded, since some tools number
    the documents of every question anew.
    """
    digests: dict[str, bytes] = {}
    lists: list[int | None] = []
    columns = zip(table["retrieved"].to_pylist(), table["context_mode"].to_pylist(), strict=True)
    for documents, mode in columns:
        if not documents or mode in ("oracle", "closed_book"):
            lists.append(None)
            continue
        whole = blake2b(digest_size=8)
        for document in documents:
            name = document["text"] or f"id:{document['id']}"
            if name not in digests:
                digests[name] = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            whole.update(digests[name])
        lists.append(int.from_bytes(whole.digest(), "big", signed=True))
    return pa.table({"list": pa.array(lists, pa.int64())})


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
