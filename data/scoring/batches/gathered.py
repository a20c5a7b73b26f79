"""The scores of a whole run, gathered batch by batch and written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from data.scoring.batch_scores import ScoredChunk, ScoreKey
from data.scoring.scored_run import MetricColumn
from data.scoring.stage_features import STAGE_FEATURES
from metrics.schema.scores import FloatArray, Scores, Status
from metrics.schema.source import Source

__all__ = ["HELD_WHOLE", "GatheredScores"]

WORTH_PACKING = 500  # samples; of fewer, a metric's values take more time to pack than room
HELD_WHOLE = 25_000  # samples of a run whose values stay in memory until they are summarised
NOT_RECORDED = "not recorded for this sample"


@dataclass(frozen=True)
class _Narrow:
    """The scores of one metric and source as they are held: reasons as codes, since there are few."""

    values: FloatArray
    status: NDArray[np.int8]
    reasons: pa.DictionaryArray


def _narrow(scores: Scores) -> _Narrow:
    return _Narrow(scores.values, scores.status, pa.array(scores.reason, pa.string()).dictionary_encode())


def _not_run(n: int) -> _Narrow:
    codes = pa.array(np.zeros(n, dtype=np.int32))
    reasons = pa.DictionaryArray.from_arrays(codes, pa.array([NOT_RECORDED]))
    return _Narrow(np.full(n, np.nan), np.full(n, Status.NOT_RUN, dtype=np.int8), reasons)


class GatheredScores:
    """The scores of a run; a metric absent from a batch was not run there.

    Attributes:
        rows: samples so far.
        missing: metric -> why the run does not allow it.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.missing: dict[str, str] = {}
        self._blocks: dict[ScoreKey, list[tuple[int, _Narrow]]] = {}  # start of the batch, its values
        self._features: dict[str, list[Any]] = {}
        self._tables: dict[str, list[Any]] = {}

    def add(self, batch: ScoredChunk) -> None:
        """Add the scores of the next batch."""
        for key, scores in batch.blocks.items():
            self._blocks.setdefault(key, []).append((self.rows, _narrow(scores)))
        for name, values in batch.stage_features.items():
            self._features.setdefault(name, []).append(values)
        for name, table in batch.tables.items():
            self._tables.setdefault(name, []).append(table)
        if self.rows:  # missing in the run is what every batch lacks
            self.missing = {metric: why for metric, why in self.missing.items() if metric in batch.missing}
        else:
            self.missing = dict(batch.missing)
        self.rows += batch.n

    def drop_inapplicable(self) -> None:
        """Drop the judged metrics that apply to no sample of the run and are listed as missing."""
        for metric, source in list(self._blocks):
            parts = self._blocks[metric, source]
            covered = sum(len(part.status) for _, part in parts) == self.rows
            inapplicable = covered and all((part.status == Status.NOT_APPLICABLE).all() for _, part in parts)
            if source == Source.JUDGED and metric in self.missing and inapplicable:
                del self._blocks[metric, source]

    def write(self, folder: Path) -> dict[ScoreKey, MetricColumn]:
        """Write the files of the scores, and return the columns; of a run above HELD_WHOLE, none is held."""
        columns = {}
        compression = "zstd" if self.rows >= WORTH_PACKING else "none"
        with pq.ParquetWriter(folder / "scores.parquet", _SCHEMA, compression=compression) as writer:
            for key in sorted(self._blocks):
                scores = self._whole(self._blocks.pop(key))
                writer.write_table(_long(*key, scores), row_group_size=max(self.rows, 1))
                if self.rows <= HELD_WHOLE:
                    source = np.full(self.rows, key[1], dtype=np.int8)
                    columns[key] = MetricColumn(scores.values, scores.status, source)
        features = {
            name: np.concatenate([np.zeros(0), *self._features.get(name, ())]) for name in STAGE_FEATURES
        }
        table = pa.table({"row": np.arange(self.rows), **features})
        pq.write_table(table, folder / "evidence.parquet", compression="zstd")
        for name in list(self._tables):
            table = pa.concat_tables(self._tables.pop(name))
            pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
        return columns

    def _whole(self, parts: list[tuple[int, _Narrow]]) -> _Narrow:
        """Return the values of a metric for all samples."""
        if len(parts) == 1 and len(parts[0][1].status) == self.rows:
            return parts[0][1]
        at, found = 0, list[_Narrow]()
        for start, part in [*parts, (self.rows, _not_run(0))]:
            found += [_not_run(start - at), part] if start > at else [part]
            at = start + len(part.status)
        reasons = pa.chunked_array([part.reasons for part in found]).unify_dictionaries()
        return _Narrow(
            np.concatenate([part.values for part in found]),
            np.concatenate([part.status for part in found]),
            reasons.combine_chunks(),
        )


_WORDS = pa.dictionary(pa.int32(), pa.string())
_SCHEMA = pa.schema(
    [
        ("metric", _WORDS),
        ("source", _WORDS),
        ("row", pa.int32()),
        ("value", pa.float64()),
        ("status", _WORDS),
        ("reason", _WORDS),
    ]
)


def _long(name: str, source: Source, scores: _Narrow) -> Any:
    n = len(scores.status)
    labels = pa.array([status.label for status in Status])
    return pa.table(
        [
            _constant(name, n),
            _constant(source.label, n),
            pa.array(np.arange(n, dtype=np.int32)),
            pa.array(scores.values, from_pandas=True),
            pa.DictionaryArray.from_arrays(pa.array(scores.status.astype(np.int32)), labels),
            scores.reasons,
        ],
        schema=_SCHEMA,
    )


def _constant(word: str, n: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, dtype=np.int32)), pa.array([word]))
