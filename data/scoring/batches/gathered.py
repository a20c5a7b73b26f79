"""The scores of a whole run, gathered batch by batch and written; the first batches while it is still read.

A run of many samples goes to worker processes batch by batch, through a file each. What a batch's scores
depend on of the whole run is taken from the samples seen so far; where later ones contradict it, the scores
are discarded and made again from the stored run.
"""

import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ragtriage.data.scoring import batch_scores
from ragtriage.data.scoring.batch_scores import (
    RunFacts,
    ScoredChunk,
    ScoreKey,
    ScoreOptions,
    in_batches,
    score_table,
)
from ragtriage.data.scoring.batches.worker import (
    MANY_SAMPLES,
    PARTS,
    BatchFile,
    ScoringPool,
    Task,
    from_table,
    score_column,
    scored,
    table_task,
    workers_for,
)
from ragtriage.data.scoring.ranked_lists import IdOverlap
from ragtriage.data.scoring.scored_run import MetricColumn
from ragtriage.data.scoring.stage_features import STAGE_FEATURES
from ragtriage.data.store.workspace import OWNER_ONLY
from ragtriage.data.suites.citations import STYLED, CitationStyle, style_of
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


MOST_HELD = 64 << 20  # bytes of samples in memory until workers are started
FEW_SAMPLES = 500  # too few to tell from them how many a file has
Progress = Callable[[int], None]


@dataclass(frozen=True)
class _Sent:
    """A batch that workers were given."""

    task: Task
    path: Path
    result: Future[ScoredChunk | None]


class EarlyScores:
    """The scores of a run that is being read. Closing ends the workers and removes the files."""

    def __init__(self, folder: Path, options: ScoreOptions, size: int = 0) -> None:
        """Start with no sample.

        Args:
            folder: is made where files are needed, and removed.
            options: what the scores depend on.
            size: bytes of the file that the run is read from; 0 where that is not known.
        """
        self._folder = folder
        self._size = size
        self._options = options
        self._rows = 0
        self._overlap = IdOverlap(options.match)
        self._head: list[Any] = []  # the first samples, which tell how answers cite
        self._style: tuple[int, CitationStyle | None] | None = None  # and the samples that told it
        self._facts: RunFacts | None = None  # as they were when the first batch was sent
        self._held: list[Any] | None = []  # all samples; None once they are in files, or not kept
        self._pool: ScoringPool | None = None
        self._file: tuple[Path, Any] | None = None  # of the batch that is not full yet
        self._file_rows = 0
        self._numbers = count()
        self._sent: deque[_Sent] = deque()
        self._scores = GatheredScores()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.close()
        if self._file is not None:
            self._file[1].close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, group: pa.Table) -> None:
        """Take the next row group of the run, an Arrow batch."""
        self._overlap.add(pa.Table.from_batches([group]))
        if self._rows < STYLED:
            self._head.append(group)
        self._rows += group.num_rows
        if self._held is not None:
            self._held.append(group)
            held = sum(each.nbytes for each in self._held)
            if self._rows < MANY_SAMPLES and held < MOST_HELD and not self._many_to_come(held):
                return
            workers = workers_for(MANY_SAMPLES)
            if workers > 1:
                self._pool, self._scores = ScoringPool(workers), GatheredScores(self._folder)
        groups, self._held = self._held or [group], None
        for each in groups if self._pool is not None else ():
            self._write(each)

    def _many_to_come(self, held: int) -> bool:
        """Return whether the file has far more than MANY_SAMPLES, if all take what the first ones do."""
        return self._rows >= FEW_SAMPLES and self._size * self._rows >= 3 * MANY_SAMPLES * held

    def gathered(self, n: int, options: ScoreOptions, progress: Progress | None) -> GatheredScores | None:
        """Return the scores of all samples, or None where they have to be made from the stored run.

        Args:
            n: samples of the run.
            options: what the scores depend on, now that the run is known.
            progress: called with the number of samples scored so far.
        """
        # scored in hope: what the whole file turned out to be must be what was assumed
        if self._rows != n or self._options != options:
            return None
        if self._held is not None:
            for batch in in_batches(self._held, [group.num_rows for group in self._held]):
                samples = pa.Table.from_batches(batch)
                self._scores.add(score_table(samples, self._facts_so_far(), self._options, {}))
                if progress is not None:
                    progress(self._scores.rows)
            return self._scores
        if self._pool is None:
            return None
        if self._file is not None:
            self._send(self._pool, *self._file)
        if self._facts != self._facts_so_far():
            return None
        while self._sent:
            self._collect()
            if progress is not None:
                progress(self._scores.rows)
        return self._scores

    def _facts_so_far(self) -> RunFacts:
        """Return what the samples seen so far say about the run."""
        rows = sum(group.num_rows for group in self._head)
        if self._style is None or self._style[0] < rows:
            head = pa.Table.from_batches(self._head).select(["answer", "citations", "retrieved"])
            self._style = rows, style_of(head.slice(0, STYLED).to_pylist(), self._options.citations)
        return RunFacts(self._overlap.mismatch is None, self._style[1])

    def _write(self, group: pa.Table) -> None:
        """Write a row group to the file of its batch, and send the batch where it is full."""
        if self._file is None:
            self._folder.mkdir(OWNER_ONLY, exist_ok=True)
            path = self._folder / f"{next(self._numbers)}.arrow"
            self._file = path, pa.ipc.new_stream(path, group.schema)
        self._file[1].write_batch(group)
        self._file_rows += group.num_rows
        if self._file_rows >= batch_scores.BATCH_ROWS and self._pool is not None:
            self._send(self._pool, *self._file)
            if len(self._sent) > self._pool.room:
                self._collect()

    def _send(self, pool: ScoringPool, path: Path, writer: Any) -> None:
        """Hand a batch to the workers."""
        writer.close()
        self._file, self._file_rows = None, 0
        self._facts = self._facts or self._facts_so_far()
        task = table_task(path, self._facts, self._options)
        self._sent.append(_Sent(task, path, pool.submit(task)))

    def _collect(self) -> None:
        """Wait for the scores of the oldest batch; this process makes them where no worker did."""
        sent = self._sent.popleft()
        chunk = sent.result.result()
        self._scores.add(scored(sent.task) if chunk is None else chunk)
        sent.path.unlink(missing_ok=True)
