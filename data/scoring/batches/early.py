"""Scoring while reading: the first batches of a run are scored while the rest of its samples is read.

A run of many samples goes to worker processes batch by batch, through a file each. What a batch's scores
depend on of the whole run is taken from the samples seen so far; where later ones contradict it, the scores
are discarded and made again from the stored run.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from ragtriage.data.scoring import batch_scores
from ragtriage.data.scoring.batch_scores import RunFacts, ScoredChunk, ScoreOptions, in_batches, score_table
from ragtriage.data.scoring.batches.gathered import GatheredScores
from ragtriage.data.scoring.batches.worker import (
    MANY_SAMPLES,
    ScoringPool,
    Task,
    scored,
    table_task,
    workers_for,
)
from ragtriage.data.scoring.id_overlap import IdOverlap
from ragtriage.data.store.workspace import OWNER_ONLY
from ragtriage.data.suites.citations import STYLED, CitationStyle, style_of

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
