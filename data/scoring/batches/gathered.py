"""The scores of a whole run, gathered batch by batch and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ragtriage.data.scoring.batch_scores import ScoredChunk, ScoreKey
from ragtriage.data.scoring.batches.wire import PARTS, BatchFile, from_table, score_column
from ragtriage.data.scoring.scored_run import MetricColumn
from ragtriage.data.scoring.stage_features import STAGE_FEATURES
from ragtriage.metrics.schema.scores import FloatArray, Source, Status

WORTH_PACKING = 500  # samples; of fewer, a metric's values take more time to pack than room
HELD_WHOLE = 25_000  # samples of a run whose values stay in memory until they are summarised
READ_AT_ONCE = 16  # metrics of a run in files
NOT_RECORDED = "not recorded for this sample"


@dataclass(frozen=True)
class _Narrow:
    """The scores of one metric and source as they are held: reasons as codes, since there are few."""

    values: FloatArray
    status: NDArray[np.int8]
    reasons: pa.DictionaryArray


def _stored(table: pa.Table, key: ScoreKey, row: int) -> list[tuple[int, _Narrow]]:
    """Return the scores of a metric and source from the file of a batch, if it has any.

    Args:
        table: what was read of the file.
        key: the metric and source.
        row: where the batch begins.
    """
    names = [score_column(key, part) for part in PARTS]
    if names[0] not in table.column_names:
        return []
    values, status, reasons = (table[name].combine_chunks() for name in names)
    return [(row, _Narrow(values.to_numpy(), status.to_numpy(), reasons))]


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

    def __init__(self, folder: Path | None = None) -> None:
        """Start with no batch; those to come are kept in files of a folder, or in memory."""
        self.rows = 0
        self.missing: dict[str, str] = {}
        self._folder = folder
        self._files: list[tuple[int, BatchFile]] = []  # start of the batch, its scores
        self._blocks: dict[ScoreKey, list[tuple[int, _Narrow]]] = {}  # the same of those in memory
        self._inapplicable = Counter[ScoreKey]()  # samples
        self._features: dict[str, list[Any]] = {}
        self._tables: dict[str, list[Any]] = {}

    def add(self, batch: ScoredChunk) -> None:
        """Add the scores of the next batch."""
        for key, scores in batch.blocks.items():
            self._inapplicable[key] += int((scores.status == Status.NOT_APPLICABLE).sum())
        if self.rows:  # missing in the run is what every batch lacks
            self.missing = {metric: why for metric, why in self.missing.items() if metric in batch.missing}
        else:
            self.missing = dict(batch.missing)
        if self._folder is None:
            self._hold(batch)
        else:
            path = self._folder / f"{len(self._files)}.scores"
            self._files.append((self.rows, BatchFile(path, batch)))
            for key in batch.blocks:
                self._blocks.setdefault(key, [])
            for name in batch.tables:
                self._tables.setdefault(name, [])
        self.rows += batch.n

    def _hold(self, batch: ScoredChunk) -> None:
        for key, scores in batch.blocks.items():
            narrow = _Narrow(
                scores.values, scores.status, pa.array(scores.reason, pa.string()).dictionary_encode()
            )
            self._blocks.setdefault(key, []).append((self.rows, narrow))
        for name, values in batch.stage_features.items():
            self._features.setdefault(name, []).append(values)
        for name, table in batch.tables.items():
            self._tables.setdefault(name, []).append(table)

    def drop_inapplicable(self) -> None:
        """Drop the judged metrics that apply to no sample of the run and are listed as missing."""
        for key in list(self._blocks):
            metric, source = key
            if source == Source.JUDGED and metric in self.missing and self._inapplicable[key] == self.rows:
                del self._blocks[key]

    def write(self, folder: Path) -> dict[ScoreKey, MetricColumn]:
        """Write the files of the scores, and return the columns; of a run above HELD_WHOLE, none is held."""
        columns = {}
        compression = "zstd" if self.rows >= WORTH_PACKING else "none"
        with pq.ParquetWriter(folder / "scores.parquet", _SCHEMA, compression=compression) as writer:
            for key, parts in self._scores():
                scores = self._whole(parts)
                writer.write_table(_long(*key, scores), row_group_size=max(self.rows, 1))
                if self.rows <= HELD_WHOLE:
                    source = np.full(self.rows, key[1], dtype=np.int8)
                    columns[key] = MetricColumn(scores.values, scores.status, source)
        self._write_features(folder)
        for name in list(self._tables):
            table = pa.concat_tables(self._tables_of(name))
            pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
        return columns

    def _scores(self) -> Iterator[tuple[ScoreKey, list[tuple[int, _Narrow]]]]:
        """Yield the scores of each metric and source in order, by batch; they are not held afterwards."""
        keys = sorted(self._blocks)
        for start in range(0, len(keys), READ_AT_ONCE):
            at_once = keys[start : start + READ_AT_ONCE]
            names = {(key[0], int(key[1])) for key in at_once}
            for row, file in self._files:
                table = file.read(lambda parts: parts[0] == "score" and (parts[1], parts[2]) in names)  # noqa: B023 -- called at once
                for key in at_once:
                    self._blocks[key] += _stored(table, key, row)
            for key in at_once:
                yield key, self._blocks.pop(key)

    def _write_features(self, folder: Path) -> None:
        for _, file in self._files:
            read = from_table(file.read(lambda parts: parts[0] == "evidence"))
            for name, values in read.stage_features.items():
                self._features.setdefault(name, []).append(values)
        features = {
            name: np.concatenate([np.zeros(0), *self._features.pop(name, ())]) for name in STAGE_FEATURES
        }
        table = pa.table({"row": np.arange(self.rows), **features})
        pq.write_table(table, folder / "evidence.parquet", compression="zstd")

    def _tables_of(self, name: str) -> Sequence[Any]:
        """Return an auxiliary table of all batches; it is not held any longer."""
        read = [file.read(lambda parts: parts[:2] == ["table", name]) for _, file in self._files]
        return [
            *self._tables.pop(name),
            *(tables[name] for each in read if name in (tables := from_table(each).tables)),
        ]

    def _whole(self, parts: list[tuple[int, _Narrow]]) -> _Narrow:
        """Return the values of a metric for all samples."""
        if len(parts) == 1 and len(parts[0][1].status) == self.rows:
            return parts[0][1]
        at, pieces = 0, list[_Narrow]()
        for start, part in [*parts, (self.rows, _not_run(0))]:
            pieces += [_not_run(start - at), part] if start > at else [part]
            at = start + len(part.status)
        reasons = pa.chunked_array([part.reasons for part in pieces]).unify_dictionaries()
        return _Narrow(
            np.concatenate([part.values for part in pieces]),
            np.concatenate([part.status for part in pieces]),
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
