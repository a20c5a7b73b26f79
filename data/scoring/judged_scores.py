"""Scores from a judgement: the metrics computed from the judge's labels, and what became of every sample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ragtriage.data.scoring.batch_inputs import batch_of
from ragtriage.data.scoring.gold_join import Match
from ragtriage.data.store.judge_results import (
    ADDRESSES,
    AGREES,
    COMPLETE,
    ENTAILS,
    EVALUATION,
    JudgeReply,
    QuoteCheck,
    quote_check,
)
from ragtriage.data.store.sample_schema import Ragged
from ragtriage.data.store.stored_file import reading
from ragtriage.data.suites.citation_support import citations_of
from ragtriage.data.suites.citations import CitationStyle
from ragtriage.metrics.metric_registry import REGISTRY, compute, cutoffs_of
from ragtriage.metrics.schema.batch import IN_PART, Batch, JudgeLabels
from ragtriage.metrics.schema.metric import Convention, Metric, MetricKey
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Scores, Source, Status, StrArray

LACKING: Mapping[str, str] = {
    "answer": "no answer was recorded",
    "reference": "the sample has no reference answer",
    "documents": "no retrieved document has a text",
}
NOT_ASKED: Mapping[str, str] = {  # metrics that only replies of an earlier form give, and why
    "completeness": "the judge is not asked how complete an answer is; answer recall says how much of the "
    "reference it gives"
}
_RECORDED = frozenset({"answer", "reference_answer", "retrieved", "answerable"})  # what no judge labels
# Field that a metric needs -> what a judge must be shown to label it; others it does not label.
_SHOWN: Mapping[str, tuple[str, ...]] = {
    "answer": ("answer",),
    "reference_answer": ("reference",),
    "retrieved": (),
    "answerable": (),
    "judged": (),
    "refused": ("answer",),
    "claims.in_reference": ("answer", "reference"),
    "claims.supported_by": ("answer", "documents"),
    "claims.contradicted_by": ("answer", "documents"),
    "reference_claims.in_answer": ("answer", "reference"),
    "reference_claims.supported_by": ("reference", "documents"),
    "retrieved.relevant": ("documents",),
    "used": ("answer", "documents"),
    "citations.supported": ("answer", "documents"),
}


def judged_metrics(ks: Sequence[int]) -> dict[str, Metric]:
    """List the metrics that a judge's labels can give, by full name, in the registry's order."""
    return {
        MetricKey(metric, k).name: metric
        for metric in REGISTRY.values()
        if metric.compute is not None and _labelled(metric)
        for k in cutoffs_of(metric, ks)
    }


def _labelled(metric: Metric) -> bool:
    """Return whether a judge can supply every input of a metric that is not recorded, and there is one."""
    return all(need in _SHOWN for need in metric.needs) and not _RECORDED.issuperset(metric.needs)


@dataclass(frozen=True)
class JudgedInputs:
    """The inputs of a judge that the n samples of a batch have."""

    present: Mapping[str, BoolArray]  # key of LACKING -> (n,) True where the sample has it

    @classmethod
    def of(cls, table: pa.Table) -> Self:
        """Look at an Arrow table of samples."""
        retrieved = Ragged.of(table["retrieved"])
        documents = np.zeros(table.num_rows, dtype=np.bool_)
        if len(retrieved.sample):
            text = pc.fill_null(pc.greater(pc.utf8_length(retrieved.field("text")), 0), False)
            documents[retrieved.sample[text.to_numpy(zero_copy_only=False)]] = True
        return cls(
            {
                "answer": _given(table["answer"]),
                "reference": _given(table["reference_answer"]),
                "documents": documents,
            }
        )

    def lacking(self, metric: Metric) -> StrArray:
        """(n,) why a metric is not applicable to a sample; "" where nothing is lacking."""
        reasons: StrArray = np.full(len(self.present["answer"]), "", dtype=object)
        needed = {shown for need in metric.needs for shown in _SHOWN[need]}
        for shown in reversed(list(LACKING)):
            if shown in needed:
                reasons[~self.present[shown]] = LACKING[shown]
        return reasons


def _given(column: Any) -> BoolArray:
    return np.asarray(column.combine_chunks().is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)


LOCAL = "local:"  # what kinds of results of models on this machine begin with
EVALUATOR = "evaluator:"
FLUENCY = "fluency"  # the built-in evaluator, which is off unless it is called by its name
NOT_JUDGED = "no judge has scored this sample"
NOT_LABELLED = "the judge's labels do not say it"
ScoreKey = tuple[str, Source]


class JudgedBatch:
    """The outcomes of one judgement for the samples of a batch, one evaluation of each sample.

    Attributes:
        status: (n,) codes of Status.
        reason: (n,) texts, "" where scored.
        words: (n,) status in the words of ragtriage.data.judge.requests; "not run" where nobody asked.
        payloads: JSON of the verdict of each scored row, by its place in the batch.
    """

    def __init__(self, n: int, outcomes: Mapping[int, Mapping[str, Any]]) -> None:
        self.status = np.full(n, Status.NOT_RUN, dtype=np.int8)
        self.reason = np.full(n, NOT_JUDGED, dtype=object)
        self.words = np.full(n, "not run", dtype=object)
        self.payloads: dict[int, str] = {}
        for at, outcome in outcomes.items():
            self.status[at], self.reason[at] = _status(outcome["status"]), _reason(outcome)
            self.words[at] = outcome["status"]
            if outcome["payload"] is not None:
                self.payloads[at] = outcome["payload"]

    def told(self, readings: Mapping[int, JudgeReply], evaluations: IntArray) -> Any:
        """Return the auxiliary table of the Judge page: status, reason, counts of what was found.

        Args:
            readings: by place.
            evaluations: (n,) how many replies there are on each sample.
        """
        replies = [readings.get(at) for at in range(len(self.words))]
        checks = [QuoteCheck() if reply is None else quote_check(reply) for reply in replies]
        injections = [0 if reply is None else len(reply.injections) for reply in replies]
        return pa.table(
            {
                "status": pa.array(self.words, pa.string()),
                "reason": pa.array(self.reason, pa.string()),
                "evaluations": pa.array(evaluations, pa.int32()),
                "injections": pa.array(injections, pa.int32()),
                "quotes": pa.array([check.quotes for check in checks], pa.int32()),
                "void_quotes": pa.array([check.void for check in checks], pa.int32()),
                "partly_supported": pa.array([check.partly for check in checks], pa.int32()),
            }
        )


def judged_rounds(path: Path, rows: IntArray) -> list[JudgedBatch]:
    """Return the outcomes of a judgement for the samples of a batch, a round for each evaluation of them.

    The first round has the first reply on every sample, or why there is none; the others the further ones.
    """
    first, last = (int(rows[0]), int(rows[-1])) if len(rows) else (0, -1)
    with reading(path):
        table = pq.read_table(path, filters=[("row", ">=", first), ("row", "<=", last)])
    place = {int(row): at for at, row in enumerate(rows)}
    by_place: dict[int, list[Mapping[str, Any]]] = {}
    for outcome in sorted(table.to_pylist(), key=lambda each: (each["row"], each["attempt"])):
        if outcome["row"] in place:
            by_place.setdefault(place[outcome["row"]], []).append(outcome)
    rounds: list[dict[int, Mapping[str, Any]]] = [{}]
    for at, outcomes in by_place.items():
        replies = [outcome for outcome in outcomes if outcome["payload"] is not None]
        for number, outcome in enumerate(replies or outcomes[:1]):
            if number == len(rounds):
                rounds.append({})
            rounds[number][at] = outcome
    return [JudgedBatch(len(rows), outcomes) for outcomes in rounds]


def averaged(rounds: Sequence[Mapping[ScoreKey, Scores]]) -> dict[ScoreKey, Scores]:
    """Return the mean over the evaluations of each sample that gave a value, else the first outcome."""
    first, *further = rounds
    merged = dict(first)
    for key, scores in first.items():
        repeated = [scores, *(other[key] for other in further if key in other)]
        scored = np.stack([each.status == Status.SCORED for each in repeated])
        counts = scored.sum(axis=0)
        if len(repeated) > 1 and counts.any():
            values = np.stack([each.values for each in repeated])
            sums = np.where(scored, values, 0.0).sum(axis=0)
            merged[key] = replace(
                scores,
                values=np.where(counts > 0, sums / np.maximum(counts, 1), np.nan),
                status=np.where(counts > 0, Status.SCORED, scores.status).astype(np.int8),
                reason=np.where(counts > 0, "", scores.reason).astype(object),
            )
    return merged


def _status(word: str) -> Status:
    known = {"scored": Status.SCORED, "not_applicable": Status.NOT_APPLICABLE}
    return known.get(word, Status.FAILED)


def _reason(one: Mapping[str, Any]) -> str:
    if one["status"] == "scored":
        return ""
    return str(one["reason"] if one["status"] == "not_applicable" else f"judge: {one['reason']}")


def _loads(text: str) -> Any:
    return orjson.loads(text)


def judged_scores(
    table: pa.Table,
    readings: Mapping[int, JudgeReply],
    found: JudgedBatch,
    scoring: tuple[Sequence[int], Convention, Match],
    recorded: Mapping[str, Scores],
    style: CitationStyle | None = None,
) -> dict[ScoreKey, Scores]:
    """Compute the metrics that a judge's labels allow, for all n samples of a batch.

    A sample that lacks what a metric needs is not applicable, whatever became of its reading.

    Args:
        table: samples with the labels laid over them.
        readings: by place.
        found: the outcomes.
        scoring: values of k, convention, and how gold is matched.
        recorded: the metrics without a judge: of samples without a reading they tell which questions a metric
            of answerability leaves out.
        style: how the run cites; None for not at all.
    """
    places = np.array(sorted(readings), dtype=np.int64)
    computed = _made(table, readings, places, scoring, style) if len(places) else {}
    inputs = JudgedInputs.of(table)
    blocks: dict[ScoreKey, Scores] = {}
    completeness_asked = any(reply.complete is not None for reply in readings.values())
    for name, metric in judged_metrics(scoring[0]).items():
        if name in NOT_ASKED and not completeness_asked:
            continue
        if metric.component == "citation" and style is None:
            continue
        scores = _spread(computed.get(name), places, found)
        if "answerable" in metric.needs:
            scores = _unasked(scores, places, recorded.get(name))
        blocks[name, Source.JUDGED] = _where(scores, inputs.lacking(metric))
    return blocks


def _made(
    table: pa.Table,
    readings: Mapping[int, JudgeReply],
    places: IntArray,
    scoring: tuple[Sequence[int], Convention, Match],
    style: CitationStyle | None,
) -> dict[str, Scores]:
    ks, convention, match = scoring
    samples = table.take(pa.array(places))
    batch = batch_of(samples, match)
    refused = np.array([readings[int(at)].refused is True for at in places], dtype=np.bool_)
    batch = replace(batch, citations=citations_of(samples, style, refused, refused, claims_only=True))
    replies = [readings[int(at)] for at in places]
    batch = replace(_with_parts(batch, replies), judge_labels=judge_result_of(replies))
    # without what no judge speaks of
    use = batch.context_use
    if use is not None:
        judged = (use.source == Source.JUDGED) | (use.status != Status.SCORED)
        use = replace(use, status=np.where(judged, use.status, Status.NOT_RUN).astype(np.int8))
    batch = replace(
        batch, rankings=None, spans=None, checks=None, first_pass=None, wordings=None, context_use=use
    )
    return compute(batch, ks, convention)


def _with_parts(batch: Batch, replies: Sequence[JudgeReply]) -> Batch:
    """Add to the claims of a batch, of which each sample has a reply, what is said or supported in part."""
    claims, reference = batch.claims, batch.reference_claims
    if claims is not None:
        partly, in_reference = np.zeros_like(claims.supported), claims.in_reference.copy()
        starts = np.searchsorted(claims.sample, np.arange(batch.n)).tolist()
        for start, reply in zip(starts, replies, strict=True):
            for at, claim in enumerate(reply.claims, start):
                partly[at, np.array(claim.partly_by, dtype=np.int64) - 1] = True
                in_reference[at] = IN_PART if claim.in_reference == ENTAILS["partly"] else in_reference[at]
        claims = replace(claims, partly=partly, in_reference=in_reference)
    if reference is not None:
        in_answer = reference.in_answer.copy()
        starts = np.searchsorted(reference.sample, np.arange(batch.n)).tolist()
        for start, reply in zip(starts, replies, strict=True):
            for at, statement in enumerate(reply.statements, start):
                in_answer[at] = IN_PART if statement.in_answer == ENTAILS["partly"] else in_answer[at]
        reference = replace(reference, in_answer=in_answer)
    return replace(batch, claims=claims, reference_claims=reference)


def yielding(judged: Mapping[ScoreKey, Scores], others: Mapping[ScoreKey, Scores]) -> dict[ScoreKey, Scores]:
    """Make not run what a sample lacks for the judge alone: another source has a value of the metric."""
    merged = dict(judged)
    for (name, source), scores in judged.items():
        known = [block.status == Status.SCORED for (other, _), block in others.items() if other == name]
        lacking = (scores.status == Status.NOT_APPLICABLE) & np.isin(scores.reason, list(LACKING.values()))
        if known and (lacking & np.any(known, axis=0)).any():
            not_run = lacking & np.any(known, axis=0)
            status = np.where(not_run, Status.NOT_RUN, scores.status).astype(np.int8)
            merged[name, source] = replace(scores, status=status)
    return merged


def _unasked(scores: Scores, read: IntArray, recorded: Scores | None) -> Scores:
    """Leave out the samples without a reading to which a metric of answerability does not speak."""
    if recorded is None:
        return scores
    rest = np.ones(len(scores), dtype=np.bool_)
    rest[read] = False
    unknown = rest & (recorded.status == Status.NOT_RUN) & (scores.status == Status.FAILED)
    status = np.where(unknown, Status.NOT_RUN, scores.status).astype(np.int8)
    reason = np.where(unknown, recorded.reason, scores.reason)
    without = rest & (recorded.status == Status.NOT_APPLICABLE)
    return _where(
        Scores(scores.values, status, reason, scores.source), np.where(without, recorded.reason, "")
    )


def _where(scores: Scores, lacking: NDArray[np.object_]) -> Scores:
    """Make the samples not applicable that have a reason to be."""
    out = lacking != ""
    return Scores(
        np.where(out, np.nan, scores.values),
        np.where(out, Status.NOT_APPLICABLE, scores.status).astype(np.int8),
        np.where(out, lacking, scores.reason),
        scores.source,
    )


def judge_result_of(readings: Sequence[JudgeReply]) -> JudgeLabels:
    """Turn the labels on whole answers into arrays."""
    return JudgeLabels(
        addresses=_levels([reply.addresses for reply in readings], ADDRESSES),
        complete=_levels([reply.complete for reply in readings], COMPLETE),
        agrees=_levels([reply.agrees for reply in readings], AGREES),
        contradicts_itself=np.array([_flag(reply.contradicts_itself) for reply in readings]),
        injections=np.array([float(len(reply.injections)) for reply in readings]),
        has_answer=np.array([reply.form.answer for reply in readings], dtype=np.bool_),
    )


def _levels(words: Sequence[str | None], levels: Mapping[str, float]) -> FloatArray:
    return np.array([levels.get(word or "", np.nan) for word in words], dtype=np.float64)


def _flag(said: bool | None) -> float:
    return float("nan") if said is None else float(said)


def _spread(scores: Scores | None, places: IntArray, found: JudgedBatch) -> Scores:
    """Return the scores of a whole batch from those of its judged samples."""
    n = len(found.status)
    values, status = np.full(n, np.nan), found.status.copy()
    reason: NDArray[np.object_] = found.reason.copy()
    if scores is None:
        status[places], reason[places] = Status.NOT_RUN, NOT_LABELLED
    else:
        values[places], status[places], reason[places] = scores.values, scores.status, scores.reason
    return Scores(values, status, reason, np.full(n, Source.JUDGED, dtype=np.int8))


def is_scored(kind: str) -> bool:
    """Return whether a judge result of a kind becomes scores of the run; generated answers do not."""
    return kind == EVALUATION or kind.startswith((EVALUATOR, LOCAL))


def local_scores(found: JudgedBatch) -> dict[ScoreKey, Scores]:
    """Return the metrics of a model on this machine: those of an NLI model are estimates."""
    payloads = {at: _loads(text)["values"] for at, text in found.payloads.items()}
    names = sorted({name for values in payloads.values() for name in values})
    blocks: dict[ScoreKey, Scores] = {}
    for name in names:
        values = np.array([payloads.get(at, {}).get(name, np.nan) for at in range(len(found.status))])
        scored = ~np.isnan(values)
        without = (found.status == Status.SCORED) & ~scored
        status = np.where(without, Status.NOT_APPLICABLE, found.status).astype(np.int8)
        reason = np.where(without, "it has no meaning for this sample", found.reason).astype(object)
        source = Source.ESTIMATED if name.startswith("nli_") else Source.COMPUTED
        blocks[name, source] = Scores(values, status, reason, np.full(len(values), source, dtype=np.int8))
    return blocks


def evaluator_metric(name: str) -> str:
    """Return the key of the metric of an evaluator; the built-in one gives a declared metric."""
    return name if name == FLUENCY else f"evaluator_{name}"


def evaluator_scores(kind: str, found: JudgedBatch) -> dict[ScoreKey, Scores]:
    """Return an evaluator's results as a metric: 1 where it found the failure, no value where undecided.

    Fluency is 1 where the failure was not found.
    """
    name = kind.removeprefix(EVALUATOR)
    values, status, reason = np.full(len(found.status), np.nan), found.status.copy(), found.reason.copy()
    for at, text in found.payloads.items():
        labels = _loads(text)
        if labels["answer"] == "cannot_tell":
            status[at], reason[at] = Status.NOT_APPLICABLE, f"the data cannot tell: {labels['reason']}"
        else:
            values[at] = float(labels["answer"] == ("no" if name == FLUENCY else "yes"))
    status[np.isnan(values) & (status == Status.SCORED)] = Status.FAILED
    source = np.full(len(values), Source.JUDGED, dtype=np.int8)
    return {(evaluator_metric(name), Source.JUDGED): Scores(values, status, reason, source)}
