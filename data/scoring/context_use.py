"""Which documents each answer uses, a row per sample, and how much of its wording is in its context."""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ragtriage.data.scoring.scored_run import MetricColumn, ScoredRun
from ragtriage.data.store.sample_schema import Ragged, flags, padded
from ragtriage.data.text.context_attribution import ContextAttributor
from ragtriage.metrics.schema.batch import Batch, ContextUse
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Source, Status

ORIGINS: Mapping[str, str] = {  # sources of context use, most trusted first
    "judge": "judged",
    "claims": "from claim labels",
    "citation": "cited",
    "imported": "imported",
    "lexical": "estimated from words",
}


@dataclass(frozen=True)
class RunContextUse:
    """Which retrieved documents the n answers of a run use."""

    use: ContextUse  # the input of the alignment metrics
    source: NDArray[np.object_]  # (n,) object array of keys of ORIGINS; "" where use is not known
    # (n,) int8: 1 if the top document is gold or labelled relevant, 0 if not, -1 else
    top_relevant: NDArray[np.int8]
    top_length: FloatArray  # (n,) characters of that document; NaN where its text was not recorded
    # (n,) 1-based rank of the first gold document; inf where there is none, NaN unknown
    gold_rank: FloatArray
    cache_key: str = ""  # that of the scored run

    @property
    def answered(self) -> BoolArray:
        """(n,) True for answers with documents, not refusals, whose use is known."""
        known: BoolArray = (self.use.status == Status.SCORED) & ~self.use.refused & (self.use.documents > 0)
        return known


def use_table(table: pa.Table, batch: Batch) -> pa.Table | None:
    """Return the table that context_use_of reads; None where no use is known."""
    use = batch.context_use
    if use is None:
        return None
    listed = use.used & (np.arange(use.used.shape[1]) < use.documents[:, None])
    gold = _gold_rank(batch)
    offsets = np.concatenate(([0], np.cumsum(listed.sum(axis=1)))).astype(np.int32)
    of_ranks = pa.ListArray.from_arrays(pa.array(offsets), pa.array(use.share[listed]))
    # -1 where it is not known, as an int8 has no NaN
    known = ~np.isnan(gold) & (batch.documents > 0)
    retrieved = Ragged.of(table["retrieved"])
    lengths = np.full(batch.n, np.nan)
    first = retrieved.place == 0
    if first.any():
        sizes = pc.utf8_length(retrieved.field("text")).cast(pa.float64()).to_numpy(zero_copy_only=False)
        lengths[retrieved.sample[first]] = sizes[first]
    return pa.table(
        {
            "status": use.status,
            "source": use.source,
            "origin": pa.array(_origin(table, use), pa.string()),
            "documents": use.documents,
            "refused": use.refused,
            "used": _ranks(listed),
            "share": of_ranks,
            "top_relevant": np.where(known, gold == 1, -1).astype(np.int8),
            "top_length": pa.array(lengths, from_pandas=True),
            "gold_rank": gold,
        }
    )


def _origin(table: pa.Table, use: ContextUse) -> NDArray[np.object_]:
    stated = np.array(table["used_source"].to_pylist(), dtype=object)
    recorded = Ragged.of(table["used"]).recorded
    cited = Ragged.of(table["citations"]).recorded & ~recorded
    origin = np.where(recorded, stated, "")
    origin = np.where(cited, "citation", origin)
    estimated = use.source == Source.ESTIMATED
    origin = np.where(origin == "", np.where(estimated, "lexical", "claims"), origin)
    return np.where(use.status == Status.SCORED, origin, "").astype(object)


def _ranks(used: BoolArray) -> Any:
    """Return the 1-based ranks of the True values of each row, as an Arrow list column."""
    offsets = np.concatenate(([0], np.cumsum(used.sum(axis=1)))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array((np.nonzero(used)[1] + 1).astype(np.int32)))


def _gold_rank(batch: Batch) -> FloatArray:
    """(n,) rank of the first gold document: by gold ids, else by labels, else by gold text."""
    rank = np.full(batch.n, np.nan)
    if batch.spans is not None:
        known = (batch.spans.status == Status.SCORED) & (batch.documents > 0)
        rank[known] = _first(batch.spans.hits)[known]
    labels = batch.document_relevant
    if labels is not None:
        known = (labels >= 0).any(axis=1)
        rank[known] = _first(labels == 1)[known]
    if batch.rankings is not None:
        known = batch.rankings.status == Status.SCORED
        rank[known] = _first(batch.rankings.grades > 0)[known]
    return rank


def _first(relevant: BoolArray) -> FloatArray:
    """(n,) 1-based rank of the first True in each row, inf without one."""
    if not relevant.shape[1]:
        return np.full(len(relevant), np.inf)
    return np.where(relevant.any(axis=1), relevant.argmax(axis=1) + 1.0, np.inf)


def context_use_of(scored: ScoredRun) -> RunContextUse | None:
    """Read which documents the answers of a run use; None where no use is known."""
    stored = scored.auxiliary_table("use")
    if stored is None:
        return None
    ranks, documents = Ragged.of(stored["used"]), _array(stored["documents"], np.int64)
    width = max(int(documents.max(initial=0)), 1)
    places = ranks.entries.to_numpy(zero_copy_only=False).astype(np.int64) - 1
    used = np.zeros((scored.n, width), dtype=np.bool_)
    used[ranks.sample, places] = True
    shares = np.asarray(Ragged.of(stored["share"]).entries.to_numpy(zero_copy_only=False), dtype=np.float64)
    use = ContextUse(
        used=used,
        share=padded(shares, ranks.sample, places, used.shape, np.nan),
        documents=documents,
        refused=flags(stored["refused"].combine_chunks()) == 1,
        status=_array(stored["status"], np.int8),
        source=_array(stored["source"], np.int8),
    )
    return RunContextUse(
        use=use,
        source=np.array(stored["origin"].to_pylist(), dtype=object),
        top_relevant=_array(stored["top_relevant"], np.int8),
        top_length=_array(stored["top_length"], np.float64),
        gold_rank=_array(stored["gold_rank"], np.float64),
        cache_key=scored.cache_key,
    )


def _array(column: Any, kind: Any) -> NDArray[Any]:
    return np.asarray(column.to_numpy(), dtype=kind)


LEXICAL_GROUNDEDNESS = "lexical_support"
AT_ONCE = 256  # samples whose texts are in memory at a time
# NaN: no value, _UNREAD: not computed yet
_cache: WeakKeyDictionary[ScoredRun, FloatArray] = WeakKeyDictionary()
_lock = Lock()
_UNREAD = -1.0


def lexical_groundedness(scored: ScoredRun, rows: IntArray) -> MetricColumn:
    """Estimate for some samples the share of the answer's content words that a document supports.

    Args:
        scored: the run.
        rows: the samples; the first time it takes about a millisecond each.

    Returns:
        (n,) values from 0 to 1; not applicable for a refusal, and not run where the answer or the texts of
        its documents are missing or the row is not among `rows`.
    """
    refused = scored.stage_features["refused"] == 1
    with _lock:
        shares = _cache.setdefault(scored, np.full(scored.n, _UNREAD))
        unread = rows[(shares[rows] == _UNREAD) & ~refused[rows]]
        for start in range(0, len(unread), AT_ONCE):
            part = unread[start : start + AT_ONCE]
            shares[part] = _shares(scored, part)
        values = np.where((shares == _UNREAD) | refused, np.nan, shares)
    status = np.where(
        np.isfinite(values), Status.SCORED, np.where(refused, Status.NOT_APPLICABLE, Status.NOT_RUN)
    )
    return MetricColumn(values, status.astype(np.int8), np.full(scored.n, Source.ESTIMATED, dtype=np.int8))


def _shares(scored: ScoredRun, rows: IntArray) -> FloatArray:
    attributor, shares = ContextAttributor(), np.full(len(rows), np.nan)
    for at, sample in enumerate(scored.samples.read(rows.tolist(), ("answer", "retrieved"))):
        texts = [document["text"] or "" for document in sample["retrieved"] or ()]
        if sample["answer"] and any(texts):
            attribution = attributor.attribute(sample["answer"], texts)
            if attribution.sentences:
                shares[at] = min(1.0, sum(attribution.shares))
    return shares
