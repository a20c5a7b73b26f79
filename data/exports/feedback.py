"""What goes back to a tool: the scores and human labels of each sample, with the ids that the tool knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from ragtriage.data.diagnosis.diagnosis import Diagnosis, passing_of
from ragtriage.data.errors import DataError
from ragtriage.data.labels.human_ratings import IMPORTED, rated_dimensions
from ragtriage.data.labels.ratings import PASS, dimension_of, ratings_of
from ragtriage.data.scoring.imported_scores import on_metric_scale
from ragtriage.data.scoring.label_correction import rows_of
from ragtriage.data.scoring.scored_run import MetricColumn, ScoredRun
from ragtriage.data.store.judge_results import EVALUATION, judge_of
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.sample_reader import further_fields
from ragtriage.metrics.diagnosis.stages import STAGES
from ragtriage.metrics.metric_registry import declared, known_name, ordered
from ragtriage.metrics.schema.scores import IntArray, Source, Status

SOURCES = tuple(source.label for source in Source)
OURS = tuple(source.label for source in (Source.HUMAN, Source.JUDGED, Source.COMPUTED))
STAGE, VERDICT, FAILURE = "failure_stage", "verdict", "failure"
BATCH = 512  # samples read at a time
IDS = ("trace_id", "span_id", "observation_id", "run_id", "example_id", "trace_url", "tool")
LONGEST = 2000  # characters of an id or address
_COLUMNS = ("question_id", "repeat", "extra", "tags", "scores", "human")


@dataclass(frozen=True)
class Chosen:
    """The part of a run that goes back."""

    sources: tuple[str, ...] = OURS  # labels of Source
    metrics: tuple[str, ...] = ()  # names of metrics, "verdict" and "failure_stage" among them; empty for all
    measured: bool = False  # whether latency, tokens and cost go too, where no metrics are named

    def wants(self, name: str, source: str) -> bool:
        """Return whether a score of this name and source goes back."""
        return source in self.sources and (not self.metrics or name in self.metrics)


@dataclass(frozen=True)
class Feedback:
    """One score or label of a sample."""

    name: str  # of the metric, or what is labelled
    value: float | str | None  # a number, or a category as text; None for a score that was tried and failed
    source: str  # label of Source
    author: str = ""  # who gave it: the annotator, or the judge's model; "" for a computed or imported score
    reason: str = ""  # why the value is as it is, or why it failed; "" where nobody said

    @property
    def human(self) -> bool:
        """True where a person gave it."""
        return self.source == Source.HUMAN.label


@dataclass(frozen=True)
class SampleFeedback:
    """The scores and labels of one sample."""

    run_id: str  # id of the run here
    question_id: str
    repeat: int
    at: datetime  # time of the run, naive UTC
    ids: Mapping[str, str]  # name of an id -> the id, as the tool that recorded the sample wrote it
    entries: Sequence[Feedback]  # the scores and labels


@dataclass
class Counts:
    """Counts of the scores and labels of a run by outcome, kept while they are written."""

    samples: int = 0  # samples with something written
    written: int = 0  # scores and labels
    errors: int = 0  # of them, failed scores in the tool's own form of an error
    failed: int = 0  # failed scores left out, since the tool has no form for them
    not_applicable: int = 0  # scores that have no meaning for their sample
    not_run: int = 0  # scores that nobody computed
    imported: int = 0  # of the written ones, those that came with the file
    notes: int = 0  # human notes without a verdict or a failure, which are not scores
    without_id: int = 0  # samples without the id that the tool needs
    repeated: int = 0  # labels of which the same annotator has a later one under the same name
    # metrics that nobody asked for, by what they are: imported, estimated, or measured by the pipeline
    left_out: dict[str, list[str]] = field(default_factory=dict)
    # names of the tools that recorded the samples, where the file said so
    tools: set[str] = field(default_factory=set)
    human: dict[str, set[str]] = field(default_factory=dict)  # names of the human labels that were written

    def count(self, entry: Feedback) -> None:
        """Count an entry that is written."""
        self.written += 1
        self.errors += entry.value is None
        self.imported += entry.source == Source.IMPORTED.label
        if entry.human:
            kinds = self.human.setdefault(entry.name, set())
            kinds.add(entry.value if isinstance(entry.value, str) else "")


def is_measured(metric: str) -> bool:
    """Return whether a metric is what the pipeline recorded of itself: latency, tokens, cost."""
    entry = declared(metric)
    return entry is not None and entry.component == "system"


def sample_ids(sample: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids that the tool gave a sample, name -> id, with its name and its address there.

    They stand among the fields that are not the sample's own or, in a table, among its tags.
    """
    fields = {tag["key"]: tag["value"] for tag in sample["tags"] or ()}
    fields |= further_fields(sample["extra"])
    ids = {}
    for name in IDS:
        value = fields.get(name)
        text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
        if text and len(text) <= LONGEST and text.isprintable():
            ids[name] = text
    return ids


class RunFeedback:
    """The scores and labels of some rows of a run, sample by sample; memory stays flat."""

    def __init__(self, diagnosis: Diagnosis, ledger: Ledger, chosen: Chosen, rows: IntArray) -> None:
        self._diagnosis, self._scored, self._chosen, self._rows = diagnosis, diagnosis.scored, chosen, rows
        self.counts = Counts()
        known = {*self._scored.metrics, VERDICT, STAGE, FAILURE}
        self._labels = diagnosis.human_labels.labels
        self._ratings = _ratings(self._scored, ledger)
        known |= {entry.name for entries in self._ratings.values() for entry in entries}
        unknown = [name for name in chosen.metrics if name not in known]
        if unknown:
            run = self._scored.run.run_id
            raise DataError(f"metric {unknown[0][:60]!r} is not in run {run}; accepted: {', '.join(known)}")
        judge_path = self._scored.judge_result_path(EVALUATION)
        self._judge = judge_of(judge_path) if judge_path else ""

    def samples(self, accepts: Callable[[Mapping[str, str]], bool]) -> Iterator[SampleFeedback]:
        """Yield the samples whose ids a tool accepts."""
        scored, run = self._scored, self._scored.run
        metrics = self._metrics()
        labels = self._diagnosis.human_labels
        verdicts = np.where(
            labels.bad | labels.good, np.nan, passing_of(self._diagnosis)
        )  # people's go apart
        stages = self._diagnosis.stages.stage
        for start in range(0, len(self._rows), BATCH):
            rows = self._rows[start : start + BATCH]
            blocks = [(metric, metric.block(rows)) for metric in metrics]
            for at, sample in enumerate(scored.samples.read(rows.tolist(), _COLUMNS)):
                ids, row = sample_ids(sample), int(rows[at])
                self.counts.tools.update(filter(None, [ids.get("tool")]))
                if not accepts(ids):
                    self.counts.without_id += 1
                    continue
                entries = [*self._scores(sample, row, at, blocks), *self._human(sample, row)]
                if self._chosen.wants(VERDICT, Source.COMPUTED.label) and not np.isnan(verdicts[row]):
                    passes = "pass" if verdicts[row] else "fail"
                    entries.append(Feedback(VERDICT, passes, Source.COMPUTED.label))
                if stages[row] >= 0 and self._chosen.wants(STAGE, Source.COMPUTED.label):
                    entries.append(Feedback(STAGE, STAGES[int(stages[row])].key, Source.COMPUTED.label))
                yield SampleFeedback(
                    run.run_id, sample["question_id"], sample["repeat"], run.created_at, ids, entries
                )

    def _metrics(self) -> list[_MetricValues]:
        """Return the metrics that go back; what people said of them goes back one by one."""
        sources = [
            source for source in Source if source.label in self._chosen.sources and source != Source.HUMAN
        ]
        names = self._chosen.metrics or self._scored.metrics
        known = [name for name in ordered(self._scored.metrics) if name in names]
        measured = bool(self._chosen.metrics) or self._chosen.measured
        columns = [
            (name, None if is_measured(name) and not measured else self._scored.column_from(name, sources))
            for name in known
        ]
        self.counts.left_out = {}
        for name, column in columns:
            if column is None and (kind := self._kind(name)):
                self.counts.left_out.setdefault(kind, []).append(name)
        return [_MetricValues(self._scored, name, column) for name, column in columns if column is not None]

    def _kind(self, name: str) -> str:
        """Return what the values of a metric are that is not written; "" where it has none."""
        column = self._scored.column_from(name, [source for source in Source if source != Source.HUMAN])
        if column is None or not (scored := column.status == Status.SCORED).any():
            return ""
        first = _SOURCES[int(column.source[scored].min())]
        return "measured by the pipeline" if is_measured(name) else first.label

    def _scores(
        self, sample: Mapping[str, Any], row: int, at: int, blocks: Sequence[tuple[_MetricValues, _Block]]
    ) -> Iterator[Feedback]:
        reasons = {known_name(entry["metric"]): entry["reason"] for entry in sample["scores"] or ()}
        for metric, (values, statuses, sources) in blocks:
            status, source = statuses[at], _SOURCES[sources[at]]
            if status == Status.NOT_APPLICABLE:
                self.counts.not_applicable += 1
            elif status == Status.NOT_RUN:
                self.counts.not_run += 1
            elif status == Status.FAILED:
                reason = metric.failure(row, source)
                yield Feedback(metric.name, None, source.label, self._author(source), reason)
            else:
                reason = reasons.get(metric.name) or "" if source == Source.IMPORTED else ""
                yield Feedback(metric.name, values[at], source.label, self._author(source), reason)

    def _author(self, source: Source) -> str:
        return self._judge if source == Source.JUDGED else ""

    def _human(self, sample: Mapping[str, Any], row: int) -> Iterator[Feedback]:
        """Yield what each annotator said of a sample: in the file, as a rating here, as a label here."""
        entries = [*_recorded(sample["human"] or ()), *self._ratings.get(row, ())]
        for label in self._labels.get(row, ()):
            if label.verdict is None and not label.failure:
                self.counts.notes += 1
            entries += [
                Feedback(name, value, Source.HUMAN.label, label.annotator, label.note)
                for name, value in ((VERDICT, label.verdict), (FAILURE, label.failure))
                if value
            ]
        yield from (entry for entry in entries if self._chosen.wants(entry.name, entry.source))


_SOURCES = tuple(Source)
_Block = tuple[list[float], list[int], list[int]]


class _MetricValues:
    """The values of one metric, read in blocks, with the reasons of failed ones where there are any."""

    def __init__(self, scored: ScoredRun, name: str, column: MetricColumn) -> None:
        self.name = name
        self._scored, self._column = scored, column
        self._failures: dict[Source, Mapping[int, str]] = {}

    def block(self, rows: IntArray) -> _Block:
        """Return the values, codes of status and codes of source of some rows."""
        column = self._column
        return column.values[rows].tolist(), column.status[rows].tolist(), column.source[rows].tolist()

    def failure(self, row: int, source: Source) -> str:
        """Return why a score failed."""
        if source not in self._failures:
            self._failures[source] = self._scored.failures(self.name, source)
        return self._failures[source].get(row, "")


def _recorded(human: Sequence[Mapping[str, Any]]) -> Iterator[Feedback]:
    for entry in human:
        if entry["value"] is not None:
            name = known_name(entry["metric"])
            value, low, high = (
                np.array([np.nan if number is None else number])
                for number in (entry["value"], entry["low"], entry["high"])
            )
            scaled = float(on_metric_scale(name, value, low, high)[0])
            yield Feedback(name, scaled, Source.HUMAN.label, entry["annotator"], entry["note"] or "")


def _ratings(scored: ScoredRun, ledger: Ledger) -> dict[int, list[Feedback]]:
    """Return row -> what annotators rated here, pass and fail apart."""
    by_row: dict[int, list[Feedback]] = {}
    for key in rated_dimensions(scored, ledger):
        if key == PASS or key.startswith(IMPORTED):
            continue
        ratings = [
            rating for rating in ratings_of(ledger, scored.run.run_id, key) if rating.value is not None
        ]
        rows = rows_of(scored, ((rating.question_id, rating.repeat) for rating in ratings))
        for rating in ratings:
            row = rows.get((rating.question_id, rating.repeat))
            if row is not None:
                entry = Feedback(dimension_of(key).metric, rating.value, Source.HUMAN.label, rating.annotator)
                by_row.setdefault(row, []).append(entry)
    return by_row
