"""A scored run as NumPy arrays. Columns are read from disk when first used and then kept in memory."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy as shallow_copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.read_costs import add_costs
from ragtriage.data.scoring.grouping import (
    MOST_SLICE_VALUES,
    Slice,
    distinct_codes,
    field_slice,
    independent_clusters,
    language_slices,
    length_slice,
    noise_slices,
    tag_slices,
)
from ragtriage.data.scoring.imported_scores import on_scale
from ragtriage.data.scoring.label_correction import Ratings
from ragtriage.data.scoring.sampling import SAMPLING_RATE, Sampling, sampling_of
from ragtriage.data.scoring.stored_scores import ScoreFile
from ragtriage.data.store.judge_results import judge_result_path
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.stored_file import reading
from ragtriage.data.store.workspace import LIVE, Run, Workspace
from ragtriage.data.suites.safety import Verdict
from ragtriage.metrics.schema.scores import FloatArray, IntArray, Source, Status

CHECK_PASS_RATE = "check_pass_rate"  # noqa: S105 -- a metric
INDEX_FILE = "index.parquet"
READ_WHOLE = 2_000  # samples of a run whose scores are read in one go
_INDEX = (
    "row",
    "question_id",
    "repeat",
    "conversation_id",
    "query_type",
    "answerable",
    "context_mode",
    "question",
    "tags",
)
_READ_AGAIN = (
    "index",
    "question_ids",
    "question",
    "_questions",
    "clusters",
    "repeats",
    "context_modes",
    "groups",
    "slices",
    "sampling",
    "stage_features",
    "_all_stored",
)
_STATUS = {status.label: int(status) for status in Status}


@dataclass(frozen=True)
class MetricColumn:
    """The values of one metric for the n samples of a run, each from the best source available."""

    values: FloatArray  # (n,) float, NaN where not scored
    status: NDArray[np.int8]  # (n,) int8 codes of Status
    # (n,) int8 codes of Source: where the value, or the status without a value, comes from
    source: NDArray[np.int8]

    @property
    def sources(self) -> dict[str, int]:
        """Number of samples that each source scored, best source first."""
        scored = self.source[self.status == Status.SCORED]
        return {source.label: int((scored == source).sum()) for source in Source if (scored == source).any()}

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays; a source that is the same for all samples is stored once."""
        of_source = self.source.nbytes if any(self.source.strides) else self.source.itemsize
        return self.values.nbytes + self.status.nbytes + of_source


class ScoredRun:
    """The arrays of one run scored with one set of options.

    Safe to share between threads: an array is never changed once it has been read.

    Attributes:
        workspace: the workspace of the run.
        run: the facts of the run.
        scores_path: folder of its scores.
        samples_path: Parquet file of its samples.
        judge_results: kind -> digest of the judge results that the scores include.
        verdicts: row -> what people and the judge said of its attack since the import.
        ratings: what people rated here; those drawn at random correct means.
    """

    def __init__(
        self,
        workspace: Workspace,
        run: Run,
        scores_path: Path,
        judge_results: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.workspace = workspace
        self.run = run
        self.scores_path = scores_path
        self.samples_path = workspace.samples_path(run.run_id)
        self.judge_results = dict(judge_results)
        self.verdicts: Mapping[int, Verdict] = {}
        self.ratings = Ratings()
        self._verdict_key = ""
        self._columns: dict[tuple[str, Source | None], MetricColumn | None] = {}
        self._auxiliary_tables: dict[str, Any] = {}
        self._valued: dict[str, bool] = {}
        self._measured: tuple[tuple[int, ...], int] = (), 0  # what is held, and the bytes that it needs
        self._lock = RLock()

    @classmethod
    def of_blocks(
        cls,
        workspace: Workspace,
        run: Run,
        scores_path: Path,
        blocks: Mapping[tuple[str, Source], MetricColumn],
    ) -> ScoredRun:
        """Return a scored run whose columns are already in memory, as they are right after scoring."""
        scored = cls(workspace, run, scores_path)
        sources: dict[str, list[Source]] = {}
        for metric, source in sorted(blocks):
            sources.setdefault(metric, []).append(source)
        scored.sources = {metric: tuple(those) for metric, those in sources.items()}
        for metric, those in scored.sources.items():
            columns = [scored._on_scale(metric, source, blocks[(metric, source)]) for source in those]
            scored._columns[(metric, None)] = _by_precedence(columns)
        return scored

    def with_verdicts(
        self,
        key: str,
        verdicts: Mapping[int, Verdict],
        checks: Any,
        features: Mapping[str, FloatArray],
        rate: MetricColumn,
    ) -> ScoredRun:
        """Return the run as what was said of its attacks makes it; what does not rest on that is shared.

        Args:
            key: of the verdicts.
            verdicts: by row.
            checks: Arrow table of the evaluated checks.
            features: stage features that differ.
            rate: the metric of CHECK_PASS_RATE.
        """
        copy = ScoredRun(self.workspace, self.run, self.scores_path, tuple(self.judge_results.items()))
        copy.verdicts, copy._verdict_key = verdicts, key
        copy.index, copy.samples = self.index, self.samples
        with self._lock:
            columns, tables = dict(self._columns), dict(self._auxiliary_tables)
        copy._auxiliary_tables = {**tables, "checks": checks}
        copy.stage_features = {**self.stage_features, **features}
        others = [each for each in self.sources.get(CHECK_PASS_RATE, ()) if each != Source.COMPUTED]
        copy.sources = {**self.sources, CHECK_PASS_RATE: tuple(sorted([*others, Source.COMPUTED]))}
        copy.missing = {name: why for name, why in self.missing.items() if name != CHECK_PASS_RATE}
        copy._columns = {key: column for key, column in columns.items() if key[0] != CHECK_PASS_RATE}
        copy._columns[(CHECK_PASS_RATE, Source.COMPUTED)] = rate
        return copy

    def with_ratings(self, ratings: Ratings) -> ScoredRun:
        """Return the run with what people rated; its arrays are shared."""
        rated = shallow_copy(self)
        rated.ratings = ratings
        return rated

    @property
    def cache_key(self) -> str:
        """Return where the scores lie: it tells this run from all others, in every workspace."""
        said = [self._verdict_key, self.ratings.key if self.ratings.of else ""]
        return "#".join([self.scores_path.as_posix(), *filter(None, said)])

    @property
    def nbytes(self) -> int:
        """About how many bytes its arrays need in memory now."""
        with self._lock:
            held_now = len(self._columns), len(self._auxiliary_tables), len(self.__dict__)
            if held_now != self._measured[0]:
                columns = [column for column in self._columns.values() if column is not None]
                features = self.__dict__.get("stage_features", {})
                held = [*self.__dict__.values(), *self._auxiliary_tables.values(), *features.values()]
                arrays = [value for value in held if isinstance(value, (np.ndarray, pa.Table))]
                stored = [*self.__dict__.get("_all_stored", {}).values()]
                columns = list({id(column): column for column in columns}.values())
                self._measured = held_now, sum(int(array.nbytes) for array in (*columns, *arrays, *stored))
            return self._measured[1]

    def release(self) -> None:
        """Forget what was read, so that its memory is free; what is asked for again is read again."""
        with self._lock:
            for name in _READ_AGAIN:
                self.__dict__.pop(name, None)
            self._columns.clear()
            self._auxiliary_tables.clear()

    def release_columns(self) -> None:
        """Forget the values of metrics alone."""
        with self._lock:
            self._columns.clear()

    @cached_property
    def index(self) -> Any:
        """An Arrow table of what pages filter and group by: one narrow row a sample, no long texts."""
        stored = self.scores_path / INDEX_FILE
        if stored.exists():
            with suppress(WorkspaceError):  # damaged since this process opened the run; the samples tell it
                return _stored_table(stored)
        table, texts = _stored_table(self.samples_path, _INDEX), self.auxiliary_table("texts")
        clusters = pc.coalesce(table["conversation_id"], table["question_id"])
        if texts is not None and LIVE not in self.run.config:  # calls that ask the same are drawn each
            clusters = independent_clusters(clusters, table["question_id"], texts["asked"].to_numpy())
        return (
            table.append_column("cluster", clusters)
            .append_column("question_length", pc.utf8_length(table["question"]))
            .drop_columns(["conversation_id", "question"])
        )

    def write_index(self) -> None:
        """Store the index beside the scores, where it is read at once and not in pieces among the texts."""
        pq.write_table(self.index, self.scores_path / INDEX_FILE, compression="zstd", row_group_size=2**20)

    @cached_property
    def samples(self) -> StoredSamples:
        """The samples as recorded, read by row."""
        return StoredSamples(self.samples_path)

    def judge_result_path(self, kind: str) -> Path | None:
        """Return the file of the judge result that these scores include, or None without one."""
        digest = self.judge_results.get(kind)
        return None if digest is None else judge_result_path(self.workspace, self.run.run_id, digest)

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.run.n

    @cached_property
    def question_ids(self) -> NDArray[np.object_]:
        """(q,) distinct question ids, sorted."""
        return self._questions[0]

    @cached_property
    def question(self) -> IntArray:
        """(n,) index of each sample's question in question_ids."""
        return self._questions[1]

    @cached_property
    def _questions(self) -> tuple[NDArray[np.object_], IntArray]:
        return distinct_codes(self.index["question_id"])

    @cached_property
    def clusters(self) -> IntArray:
        """(q,) code of each question's cluster: its conversation, else itself; see independent_clusters."""
        codes = distinct_codes(self.index["cluster"])[1]
        of_question = np.zeros(len(self.question_ids), dtype=np.int64)
        of_question[self.question] = codes
        return of_question

    @cached_property
    def sampling(self) -> Sampling | None:
        """How its samples were drawn from more calls; None where they are all there is."""
        return sampling_of(self.run, self.samples_path, lambda: self.question)

    @property
    def is_sample(self) -> bool:
        """Whether its samples are calls that were kept at recorded rates, be these 1."""
        return SAMPLING_RATE in self.run.fields

    @property
    def question_weights(self) -> FloatArray | None:
        """(q,) how many calls each question stands for; None where all stand for as many."""
        return None if self.sampling is None else self.sampling.question_weights

    @cached_property
    def repeats(self) -> IntArray:
        """(n,) repeat number of each sample."""
        return np.asarray(self.index["repeat"].to_numpy(), dtype=np.int64)

    @cached_property
    def stage_features(self) -> dict[str, FloatArray]:
        """The features of the stage rules by name, each (n,); see ragtriage.data.scoring.stage_features."""
        table = _stored_table(self.scores_path / "evidence.parquet")
        return {name: np.asarray(table[name].to_numpy(), dtype=np.float64) for name in table.column_names}

    def auxiliary_table(self, name: str) -> Any:
        """Return an Arrow table of n rows stored with the scores, or None where the run has none."""
        with self._lock:
            if name not in self._auxiliary_tables:
                path = self.scores_path / f"{name}.parquet"
                self._auxiliary_tables[name] = _stored_table(path) if path.exists() else None
            return self._auxiliary_tables[name]

    @cached_property
    def sources(self) -> dict[str, tuple[Source, ...]]:
        """The sources of each metric in this run, in order of precedence."""
        return {metric: tuple(blocks) for metric, blocks in self._score_file.groups.items()}

    @cached_property
    def _score_file(self) -> ScoreFile:
        return ScoreFile(self.scores_path / "scores.parquet")

    @cached_property
    def missing(self) -> dict[str, str]:
        """The metrics that could not be computed for any sample, and why."""
        summary = json.loads((self.scores_path / "summary.json").read_text(encoding="utf-8"))
        return dict(summary["missing"])

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that the run has values or statuses for."""
        return tuple(self.sources)

    def column(self, metric: str, source: Source | None = None) -> MetricColumn | None:
        """Return a metric's values from one source, or each from the best; None where the run has none."""
        key = (metric, source)
        with self._lock:
            if key not in self._columns:
                self._columns[key] = self._read(metric, source)
            return self._columns[key]

    def column_from(self, metric: str, sources: Collection[Source]) -> MetricColumn | None:
        """Return a metric's values, each from the best of some sources; None where there is none of them."""
        blocks = [self.column(metric, each) for each in self.sources[metric] if each in sources]
        present = [block for block in blocks if block is not None]
        return _by_precedence(present) if present else None

    def failures(self, metric: str, source: Source) -> dict[int, str]:
        """Return row -> why a metric failed there, for one of its sources."""
        table = self._score_file.read(metric, source, ("status", "reason"))
        failed = pc.equal(table["status"].cast("string"), Status.FAILED.label).to_numpy()
        rows = np.flatnonzero(failed)
        reasons = table["reason"].cast("string").take(pa.array(rows)).to_pylist()
        return dict(zip(rows.tolist(), reasons, strict=True))

    def has_values(self, metric: str) -> bool:
        """Return whether any sample has a value of a metric; read once, and kept when arrays are released."""
        if metric not in self._valued:
            self._valued[metric] = bool(np.isfinite(self.values(metric)).any())
        return self._valued[metric]

    def values(self, metric: str) -> FloatArray:
        """Return a metric's values; all NaN where the run does not have it."""
        column = self.column(metric)
        return np.full(self.n, np.nan) if column is None else column.values

    def _read(self, metric: str, source: Source | None) -> MetricColumn | None:
        if metric not in self.sources or (source is not None and source not in self.sources[metric]):
            return None
        if source is not None:
            table = self._stored(metric, source)
            values = np.asarray(table["value"].to_numpy(), dtype=np.float64)
            encoded = table["status"].combine_chunks().cast("string").dictionary_encode()
            codes = np.array([_STATUS[label] for label in encoded.dictionary.to_pylist()], dtype=np.int8)
            status = codes[encoded.indices.to_numpy(zero_copy_only=False)]
            column = MetricColumn(values, status, np.broadcast_to(np.int8(source), len(values)))
            return self._on_scale(metric, source, column)
        sources = self.sources[metric]
        if len(sources) == 1:
            return self.column(metric, sources[0])
        blocks = [self._columns.get((metric, each)) or self._read(metric, each) for each in sources]
        return _by_precedence([block for block in blocks if block is not None])

    def _on_scale(self, metric: str, source: Source, column: MetricColumn) -> MetricColumn:
        if source != Source.IMPORTED:
            return column
        values, status = on_scale(metric, column.values, column.status, self.run.config)
        return column if values is column.values else MetricColumn(values, status, column.source)

    def is_off_scale(self, metric: str) -> bool:
        """Return whether imported values of a metric are not scored, as they are on another scale."""
        column = self.column(metric, Source.IMPORTED)
        if column is None or not (column.status == Status.FAILED).any():
            return False
        return bool((np.isfinite(self.as_imported(metric)) & np.isnan(column.values)).any())

    def as_imported(self, metric: str) -> FloatArray:
        """Return a metric's imported values on whatever scale they came with."""
        return np.asarray(self._stored(metric, Source.IMPORTED)["value"].to_numpy(), dtype=np.float64)

    def _stored(self, metric: str, source: Source) -> Any:
        if self.n <= READ_WHOLE:
            return self._all_stored[metric, source]
        return self._score_file.read(metric, source)

    @cached_property
    def _all_stored(self) -> dict[tuple[str, Source], Any]:
        return self._score_file.read_all()

    @cached_property
    def context_modes(self) -> Slice:
        """The samples by how their context came about: retrieved, given, none."""
        return field_slice("context_mode", self.index["context_mode"])

    @cached_property
    def groups(self) -> tuple[Slice, ...]:
        """Every way to group the samples, including those with a single value."""
        fields = [field_slice(name, self.index[name]) for name in ("query_type", "answerable")]
        recorded = (
            *fields,
            self.context_modes,
            length_slice(self.index["question_length"]),
            *tag_slices(self.index["tags"]),
        )
        languages = self.auxiliary_table("languages")
        slices = [] if languages is None else language_slices(languages)
        slices = [*slices, *noise_slices(self.auxiliary_table("noise"))]
        taken = {group.name for group in recorded}
        return (*recorded, *(group for group in slices if group.name not in taken))

    @cached_property
    def slices(self) -> tuple[Slice, ...]:
        """Every way to group the samples that has at least two values."""
        return tuple(group for group in self.groups if 2 <= len(group.labels) <= MOST_SLICE_VALUES)


def _stored_table(path: Path, columns: Sequence[str] | None = None) -> Any:
    """Return columns of a stored file, in the order of its rows where it numbers them."""
    with reading(path):
        table: pa.Table = pq.ParquetFile(path).read(columns)
    add_costs(queries=1, rows=table.num_rows)
    if "row" in table.column_names:
        rows = table["row"].to_numpy()
        if (rows[1:] < rows[:-1]).any():
            return table.take(np.argsort(rows, kind="stable"))
    return table


def _by_precedence(blocks: list[MetricColumn]) -> MetricColumn:
    """Merge the blocks of several sources, best source first.

    A sample takes its value and status from the first block that scored it or found it not applicable; where
    none did, from one that was run.
    """
    best = blocks[0]
    if len(blocks) == 1:
        return best
    values, status, source = best.values.copy(), best.status.copy(), best.source.copy()
    for block in blocks[1:]:
        decided = (status == Status.SCORED) | (status == Status.NOT_APPLICABLE)
        better = ~decided & (block.status < status)
        better |= ~decided & (block.status == Status.FAILED)
        values[better], status[better] = block.values[better], block.status[better]
        source[better] = block.source[better]
    return MetricColumn(values, status, source)
