"""Run the sanity rules over a scored run."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from ragtriage.data.declarations import HOW_TO_DECLARE
from ragtriage.data.diagnosis.contradicted_scores import contradicted_scores
from ragtriage.data.diagnosis.other_languages import other_languages
from ragtriage.data.diagnosis.text_findings import answer_shift, answer_texts, unchecked_isolation
from ragtriage.data.diagnosis.tuned_questions import question_set_findings
from ragtriage.data.diagnosis.weak_judge import weak_judges
from ragtriage.data.scoring.batch_scores import OVER_ANSWERS
from ragtriage.data.scoring.imported_scores import FAILED_CODE, declared_scales, imported_scores, on_scale
from ragtriage.data.scoring.ranked_lists import context_lists, id_mismatch
from ragtriage.data.scoring.score_run import match_of
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.stored_file import reading
from ragtriage.data.store.workspace import LIVE, Run
from ragtriage.metrics.metric_registry import bounds_of, declared
from ragtriage.metrics.sanity.columns import zero_columns
from ragtriage.metrics.sanity.means import Means, check_means, looks_uncomputed
from ragtriage.metrics.sanity.rule import SAMPLES_NAMED, AnswerShift, CheckInput, Finding, IdMismatch, rows_of
from ragtriage.metrics.sanity.run import check_numbers
from ragtriage.metrics.schema.metric import Convention, whole_number
from ragtriage.metrics.schema.scores import FloatArray, Scores, Source, Status
from ragtriage.metrics.statistics.intervals import hajek_mean, question_means

MOST_NAMED, MOST_FAILED_NAMED, MOST_REFUSED_NAMED = 8, 6, 3
LONGEST_AUTHOR = 120


def check_run(scored: ScoredRun, convention: Convention = "default") -> list[Finding]:
    """Return the findings of every sanity rule; their rows are rows of the run."""
    if scored.run.means:
        return [replace(finding, runs=(scored.run.run_id,)) for finding in check_means(means_of(scored.run))]
    config = scored.run.config
    computed = _values(scored, (Source.COMPUTED, Source.JUDGED))
    reported = _reported_means(config)
    computed |= _beyond_the_lists(scored, computed, reported)
    findings = check_numbers(
        CheckInput(
            n=scored.n,
            computed=computed,
            imported=_values(scored, (Source.IMPORTED,)),
            off_scale=_off_scale(scored),
            scales=declared_scales(config),
            convention=convention,
            has_claims=np.isfinite(computed["faithfulness"]) if "faithfulness" in computed else None,
            bounds={name: bounds_of(name) for name in scored.metrics},
            imported_means=reported,
            retrieval_test_set=str(config.get("retrieval_test_set", "")),
            generation_test_set=str(config.get("generation_test_set", "")),
            synthetic_share=_synthetic_share(scored),
            dataset_date=_date(config.get("dataset_date"), scored.run.dataset_version),
            corpus_date=_date(config.get("corpus_date"), scored.run.corpus_version),
            id_mismatch=_id_mismatch(scored),
            lists=context_lists(scored),
            shift=_shift(scored),
            texts=answer_texts(scored),
            retrieval_dependent=tuple(filter(_depends_on_retrieval, scored.metrics)),
        )
    )
    of_scores = [*failed_codes(scored), *refused_scores(scored), *other_languages(scored)]
    of_scores += [*_undirected(scored), *weak_judges(scored), *contradicted_scores(scored)]
    of_scores += [*unchecked_isolation(scored), *question_set_findings(scored)]
    known = frozenset(scored.metrics)
    live = LIVE in config  # a call is a question of its own, also where another asked the same
    return [
        replace(
            finding,
            runs=(scored.run.run_id,),
            metrics=tuple(metric for metric in finding.metrics if metric in known),
            samples=tuple(
                f"{scored.question_ids[scored.question[row]]}~{scored.repeats[row]}"
                for row in finding.rows[:SAMPLES_NAMED]
            ),
        )
        for finding in [*findings, *of_scores, *_labels_by(scored.run)]
        if not (live and finding.rule == "asked_twice")
    ]


def _shift(scored: ScoredRun) -> AnswerShift | None:
    """Read the texts only where any answer is compared with a reference."""
    if "experiment" in scored.run.config:  # an arm may plant the answers of other questions
        return None
    compared = np.isfinite(scored.stage_features["text_outcome"]).any()
    return answer_shift(scored.samples_path) if compared else None


def _depends_on_retrieval(name: str) -> bool:
    metric = declared(name)
    return metric is not None and metric.component in ("retrieval", "generation", "answer", "citation")


def _undirected(scored: ScoredRun) -> list[Finding]:
    """Return the finding on imported scores of which nobody declared whether higher or lower is better."""
    metrics = [name for name in sorted(scored.metrics) if declared(name) is None]
    if not metrics:
        return []
    more = f" and {len(metrics) - MOST_NAMED:,} more" if len(metrics) > MOST_NAMED else ""
    message = (
        f"No direction is declared for {', '.join(metrics[:MOST_NAMED])}{more}, so it is neither better nor "
        f"worse, and cannot be compared or gated. To change that, {HOW_TO_DECLARE}."
    )
    return [Finding("undirected", "note", "No direction declared", message, metrics=tuple(metrics))]


def _labels_by(run: Run) -> list[Finding]:
    """Return the finding on who labelled the answers, where the configuration says that it was a model."""
    author = str(run.config.get("labels_by", "")).strip()[:LONGEST_AUTHOR]
    if not author:
        return []
    message = (
        f"Claims, correctness and the other labels in the file are by {author}, not by people. Label some "
        "of the answers yourself before you rely on them."
    )
    return [Finding("labels_by", "note", "Labels by a model", message, (("labels by", author),), run.n)]


def uncomputed_metrics(scored: ScoredRun) -> frozenset[str]:
    """Return the metrics whose values are 0 throughout and were probably never computed."""
    if scored.run.means:
        return frozenset(looks_uncomputed(means_of(scored.run)))
    zero = zero_columns(CheckInput(scored.n, {}, _values(scored, (Source.IMPORTED,))))
    return frozenset(name for name in zero if set(scored.sources[name]) == {Source.IMPORTED})


def _beyond_the_lists(
    scored: ScoredRun, computed: Mapping[str, FloatArray], reported: Mapping[str, float]
) -> dict[str, FloatArray]:
    """Return values for metrics reported at a k that is not computed, from a smaller k no list exceeds."""
    longest = np.nan_to_num(scored.stage_features["documents"]).max(initial=0)
    columns = {}
    for name in reported.keys() - computed.keys():
        base, _, reported_k = name.partition("@")
        for other, values in computed.items():
            k, most = whole_number(other.removeprefix(f"{base}@")), whole_number(reported_k)
            if k is not None and most is not None and longest <= k <= most:
                columns[name] = values
    return columns


def _id_mismatch(scored: ScoredRun) -> IdMismatch | None:
    """Look at the ids only where no metric of ranked documents has a value, since that reads every list."""
    listed = scored.column("recall@1", Source.COMPUTED) if "recall@1" in scored.sources else None
    if listed is not None and np.isfinite(listed.values).any():
        return None
    return id_mismatch(scored.samples_path, match_of(scored.run.config))


def _synthetic_share(scored: ScoredRun) -> float | None:
    """Return the share of synthetic questions: from the configuration, else from the tag `synthetic`."""
    share = scored.run.config.get("synthetic")
    if isinstance(share, bool | int | float):
        return float(share)
    tag = next((group for group in scored.slices if group.name == "synthetic"), None)
    if tag is None:
        return None
    return float(np.isin(np.array(tag.labels, dtype=object)[tag.codes], ("true", "yes", "1")).mean())


def _date(configured: object, version: str) -> date | None:
    """Return the date in the configuration, else in a version that is a date."""
    for text in (configured, version):
        try:
            return date.fromisoformat(str(text)[:10])
        except ValueError:
            continue
    return None


def means_of(run: Run) -> Means:
    """Return the reported means of a run as input of the sanity rules."""
    step = run.config.get("step")
    return Means(run.means, float(step)) if isinstance(step, int | float) else Means(run.means)


def _values(scored: ScoredRun, sources: tuple[Source, ...]) -> dict[str, FloatArray]:
    """Return each metric's values from the first of the sources that has it.

    A metric that applies to no sample, as all-hops recall without hops, is no column without values.
    """
    columns = {}
    for name, present in scored.sources.items():
        source = next((source for source in sources if source in present), None)
        column = None if source is None else scored.column(name, source)
        if column is not None and (column.status != Status.NOT_APPLICABLE).any():
            columns[name] = column.values
    return columns


def _off_scale(scored: ScoredRun) -> dict[str, FloatArray]:
    """Return the values as imported of the metrics of which any is not scored for its scale."""
    return {name: scored.as_imported(name) for name in scored.sources if scored.is_off_scale(name)}


def _reported_means(config: Mapping[str, Any]) -> dict[str, float]:
    means = config.get("reported_means", {})
    if not isinstance(means, Mapping):
        return {}
    return {str(name): float(value) for name, value in means.items() if isinstance(value, int | float)}


def failed_codes(scored: ScoredRun) -> list[Finding]:
    """Return the finding on scores that are stored as -1 where nothing else is negative."""
    failed = np.zeros(scored.n, dtype=np.bool_)
    named: dict[str, str] = {}
    for metric, sources in scored.sources.items():
        column = scored.column(metric, Source.IMPORTED) if Source.IMPORTED in sources else None
        if column is None or not (column.status == Status.FAILED).any():
            continue
        reasons = scored.failures(metric, Source.IMPORTED)
        rows = [row for row, reason in reasons.items() if reason == FAILED_CODE]
        if rows:
            failed[rows] = True
            with_codes = column.values.copy()
            with_codes[rows] = -1
            without, counted = (
                _mean_of(scored, values, "{:.4f} (n = {:,})") for values in (column.values, with_codes)
            )
            named[metric] = (
                f"{metric} has a mean of {without} without its {len(rows):,}, "
                f"and would have {counted} with them"
            )
    if not named:
        return []
    more = f"; {len(named) - MOST_FAILED_NAMED:,} more metrics" if len(named) > MOST_FAILED_NAMED else ""
    message = (
        "A score of -1 where no other is negative marks a judgement that failed, so it is left out as not "
        f"scored: {'; '.join(list(named.values())[:MOST_FAILED_NAMED])}{more}."
    )
    n = int(failed.sum())
    title = "Failed judgements stored as -1 left out"
    return [Finding("failed_code", "warning", title, message, (), n, rows_of(failed), tuple(named))]


def _mean_of(scored: ScoredRun, values: FloatArray, form: str) -> str:
    means = question_means(values, scored.question)[0]
    n = int(np.isfinite(means).sum())
    return form.format(hajek_mean(means, scored.question_weights), n) if n else "no value"


def refused_scores(scored: ScoredRun) -> list[Finding]:
    """Return the finding on scores that a tool gave to answers which only their words make refusals.

    The means differ from the tool's then, and nobody has said that these answers are refusals.
    """
    features = scored.stage_features
    guessed = (features["refused"] == 1) & (features["refused_source"] == Source.ESTIMATED)
    names = [name for name in OVER_ANSWERS if set(scored.sources.get(name, ())) == {Source.IMPORTED}]
    if not guessed.any() or not names:
        return []
    recorded = {
        name: on_scale(name, column.values, column.status, scored.run.config)[0]
        for name, column in _recorded(scored.samples_path).items()
    }
    left_out, means = np.zeros(scored.n, dtype=np.bool_), {}
    for name in filter(recorded.__contains__, names):
        values = scored.values(name)
        lost = guessed & np.isnan(values) & np.isfinite(recorded[name])
        if lost.any():
            left_out |= lost
            without, whole = (
                _mean_of(scored, column, "{:.3f} of {:,}")
                for column in (values, np.where(lost, recorded[name], values))
            )
            means[name] = f"{without}, with {'it' if lost.sum() == 1 else 'them'} {whole}"
    if not means:
        return []
    n = int(left_out.sum())
    which = "answer looks like a refusal, so its" if n == 1 else "answers look like refusals, so their"
    more = f"; {len(means) - MOST_REFUSED_NAMED:,} more metrics" if len(means) > MOST_REFUSED_NAMED else ""
    named = "; ".join(f"{name} {text}" for name, text in list(means.items())[:MOST_REFUSED_NAMED])
    message = (
        f"{n:,} {which} imported scores are left out: {named}{more}. To count them, say `refused: false` in "
        "the file where it is none; `ragtriage metrics RUN --convention ragchecker` shows the tool's means."
    )
    title = "Scores of estimated refusals left out"
    return [Finding("refused_scores", "note", title, message, (), n, rows_of(left_out), tuple(means))]


@lru_cache(maxsize=64)  # the samples of a run never change
def _recorded(samples: Path) -> dict[str, Scores]:
    """Return metric -> (n,) scores as they were imported."""
    with reading(samples):
        table = pq.read_table(samples, columns=["scores"])
    return {name: scores for (name, _), scores in imported_scores(table).items() if name in OVER_ANSWERS}
