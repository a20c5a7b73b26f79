"""A scored run as arrays, read column by column as pages ask for them, and kept while the run is in use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from data.store.duckdb_engine import query
from data.store.ragged import Ragged
from data.store.sample_reader import StoredSamples
from data.store.workspace import Run
from metrics.schema.scores import FloatArray, IntArray, Source, Status

__all__ = ["MOST_SLICE_VALUES", "MetricColumn", "ScoredRun", "Slice"]

NOT_GIVEN = "(not given)"
MOST_SLICE_VALUES = 200  # a tag with more values than this names cases, not groups
_STATUS = {status.label: int(status) for status in Status}
_SOURCE = {source.label: source for source in Source}


@dataclass(frozen=True)
class MetricColumn:
    """One metric over the n samples of a run, each value from the best source that has one.

    Attributes:
        values: (n,) float, NaN where not scored.
        status: (n,) int8 codes of Status.
        source: (n,) int8 codes of Source, of the value or of the status.
    """

    values: FloatArray
    status: NDArray[np.int8]
    source: NDArray[np.int8]

    @property
    def sources(self) -> dict[str, int]:
        """How many samples each source scored, best source first."""
        scored = self.source[self.status == Status.SCORED]
        return {source.label: int((scored == source).sum()) for source in Source if (scored == source).any()}


@dataclass(frozen=True)
class Slice:
    """A way to group samples: by a tag, the query type, and so on.

    Attributes:
        name: what it groups by.
        codes: (n,) int codes into labels.
        labels: the values.
    """

    name: str
    codes: IntArray
    labels: tuple[str, ...]


class ScoredRun:
    """The arrays of one run scored one way. Safe for threads: arrays are made once, never written again."""

    def __init__(
        self, run: Run, samples: Path, scores: Path, judgements: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.run = run
        self.judge_results = dict(judgements)
        self.samples_path = samples
        self.scores_path = scores
        self._columns: dict[tuple[str, Source | None], MetricColumn | None] = {}
        self._beside: dict[str, Any] = {}
        self._lock = RLock()

    @classmethod
    def of_blocks(
        cls, run: Run, samples: Path, scores: Path, blocks: Mapping[tuple[str, Source], MetricColumn]
    ) -> ScoredRun:
        """Make a table whose columns are at hand already, as they are right after scoring."""
        table = cls(run, samples, scores)
        sources: dict[str, list[Source]] = {}
        for name, source in sorted(blocks):
            sources.setdefault(name, []).append(source)
        table.sources = {name: tuple(found) for name, found in sources.items()}
        for name, found in table.sources.items():
            table._columns[(name, None)] = _by_precedence([blocks[(name, source)] for source in found])
        return table

    @property
    def cache_key(self) -> str:
        """What tells this run and its scores from all others, in every workspace: where the scores lie."""
        return self.scores_path.as_posix()

    @cached_property
    def index(self) -> Any:
        """The narrow Arrow table of run_index.sql."""
        return query("run_index", [str(self.samples_path)])

    @cached_property
    def samples(self) -> StoredSamples:
        """The samples themselves, read by row."""
        return StoredSamples(self.samples_path)

    def judge_result_path(self, kind: str) -> Path | None:
        """Give the file of what a judge said that went into these scores; None where there is none."""
        digest = self.judge_results.get(kind)
        if digest is None:
            return None
        return self.samples_path.parents[2] / "judgements" / self.run.run_id / f"{digest}.parquet"

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.run.n

    @cached_property
    def question_ids(self) -> NDArray[np.object_]:
        """(q,) the different question ids, sorted."""
        return self._questions[0]

    @cached_property
    def question(self) -> IntArray:
        """(n,) code of each sample's question into question_ids."""
        return self._questions[1]

    @cached_property
    def _questions(self) -> tuple[NDArray[np.object_], IntArray]:
        return _codes(self.index["question_id"])

    @cached_property
    def clusters(self) -> IntArray:
        """(q,) code of each question's cluster: its conversation, if any."""
        codes = _codes(self.index["cluster"])[1]
        of_question = np.zeros(len(self.question_ids), dtype=np.int64)
        of_question[self.question] = codes
        return of_question

    @cached_property
    def repeats(self) -> IntArray:
        """(n,) repeat of each sample."""
        return np.asarray(self.index["repeat"].to_numpy(), dtype=np.int64)

    @cached_property
    def stage_features(self) -> dict[str, FloatArray]:
        """The arrays of data.scoring.stage_features by name, each (n,)."""
        table = query("evidence", [str(self.scores_path / "evidence.parquet")])
        return {name: np.asarray(table[name].to_numpy(), dtype=np.float64) for name in table.column_names}

    def auxiliary_table(self, name: str) -> Any:
        """Give the Arrow table of n rows that a view reads; None where the run has nothing for it."""
        with self._lock:
            if name not in self._beside:
                path = self.scores_path / f"{name}.parquet"
                self._beside[name] = pq.read_table(path) if path.exists() else None
            return self._beside[name]

    @cached_property
    def sources(self) -> dict[str, tuple[Source, ...]]:
        """Which sources each metric has in this run, in order of precedence."""
        table = query("metric_sources", [str(self.scores_path / "scores.parquet")])
        found: dict[str, list[Source]] = {}
        for row in table.to_pylist():
            found.setdefault(row["metric"], []).append(_SOURCE[row["source"]])
        return {name: tuple(sorted(sources)) for name, sources in found.items()}

    @cached_property
    def missing(self) -> dict[str, str]:
        """Metrics that could not be computed at all, and why."""
        summary = json.loads((self.scores_path / "summary.json").read_text(encoding="utf-8"))
        return dict(summary["missing"])

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that have a column."""
        return tuple(self.sources)

    def column(self, metric: str, source: Source | None = None) -> MetricColumn | None:
        """Give a metric's values, from one source or each from the best; None where the run has none."""
        key = (metric, source)
        with self._lock:
            if key not in self._columns:
                self._columns[key] = self._read(metric, source)
            return self._columns[key]

    def values(self, metric: str) -> FloatArray:
        """Give a metric's values, all NaN where the run does not have it."""
        column = self.column(metric)
        return np.full(self.n, np.nan) if column is None else column.values

    def _read(self, metric: str, source: Source | None) -> MetricColumn | None:
        if metric not in self.sources or (source is not None and source not in self.sources[metric]):
            return None
        table = query("metric_values", [str(self.scores_path / "scores.parquet"), metric])
        blocks = {source: _block(table, source) for source in self.sources[metric]}
        if source is not None:
            return blocks[source]
        return _by_precedence(list(blocks.values()))

    @cached_property
    def groups(self) -> tuple[Slice, ...]:
        """Every way to group the samples, those with a single value too."""
        plain = ("query_type", "answerable", "context_mode")
        found = [_slice(name, self.index[name]) for name in plain]
        return (*found, _length_slice(self.index["question_length"]), *_tag_slices(self.index["tags"]))

    @cached_property
    def slices(self) -> tuple[Slice, ...]:
        """Every way to group the samples that has at least two values."""
        return tuple(one for one in self.groups if 2 <= len(one.labels) <= MOST_SLICE_VALUES)


def _codes(column: Any) -> tuple[NDArray[np.object_], IntArray]:
    """Number the values of a text column by their sorted order."""
    encoded = column.combine_chunks().dictionary_encode()
    words = np.array(encoded.dictionary.to_pylist(), dtype=object)
    order = np.argsort(words)
    place = np.empty(len(words), dtype=np.int64)
    place[order] = np.arange(len(words))
    return words[order], place[encoded.indices.to_numpy(zero_copy_only=False)]


def _block(table: Any, source: Source) -> MetricColumn:
    mine = table.filter(pc.equal(table["source"].cast("string"), source.label))
    values = np.asarray(mine["value"].to_numpy(), dtype=np.float64)
    encoded = mine["status"].combine_chunks().cast("string").dictionary_encode()
    codes = np.array([_STATUS[word] for word in encoded.dictionary.to_pylist()], dtype=np.int8)
    status = codes[encoded.indices.to_numpy(zero_copy_only=False)]
    return MetricColumn(values, status, np.full(len(values), source, dtype=np.int8))


def _by_precedence(blocks: list[MetricColumn]) -> MetricColumn:
    """Take each sample from the first block that scored it or found it not applicable; else one tried."""
    best = blocks[0]
    values, status, source = best.values.copy(), best.status.copy(), best.source.copy()
    for block in blocks[1:]:
        decided = (status == Status.SCORED) | (status == Status.NOT_APPLICABLE)
        better = ~decided & (block.status < status)
        better |= ~decided & (block.status == Status.FAILED)
        values[better], status[better] = block.values[better], block.status[better]
        source[better] = block.source[better]
    return MetricColumn(values, status, source)


def _slice(name: str, column: Any) -> Slice:
    words, codes = _codes(column.cast("string").fill_null(NOT_GIVEN))
    return Slice(name, codes, tuple(words))


def _length_slice(lengths: Any) -> Slice:
    values = lengths.to_numpy().astype(np.float64)
    edges = (50, 100, 200)
    labels = ("under 50 characters", "50 to 99 characters", "100 to 199 characters", "200 characters or more")
    codes = np.digitize(values, edges)
    present = np.unique(codes)
    return Slice("question length", np.searchsorted(present, codes), tuple(labels[at] for at in present))


def _tag_slices(tags: Any) -> list[Slice]:
    ragged = Ragged.of(tags)
    if not len(ragged.sample):
        return []
    keys, key_codes = _codes_of(ragged.field("key"))
    values, value_codes = _codes_of(ragged.field("value"))
    found = []
    for code, key in enumerate(keys):
        mine = key_codes == code
        whole = np.full(len(ragged.recorded), -1, dtype=np.int64)
        whole[ragged.sample[mine]] = value_codes[mine]
        present = np.unique(whole)
        if len(present) <= MOST_SLICE_VALUES:
            labels = tuple(NOT_GIVEN if at < 0 else str(values[at]) for at in present)
            found.append(Slice(str(key), np.searchsorted(present, whole), labels))
    return found


def _codes_of(array: Any) -> tuple[list[str], IntArray]:
    encoded = array.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
