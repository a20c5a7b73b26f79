"""The diagnose command: where the cases of a run fail, and what to fix first."""

from collections.abc import Mapping, Sequence
from dataclasses import fields

import click

from ragtriage.dashboard.cli.options import JSON, RUN, named_numbers, with_default
from ragtriage.dashboard.cli.terminal import plain, print_json, row_table, step_list, wrapped
from ragtriage.dashboard.tables.run import pattern_table, stages_in_brief
from ragtriage.dashboard.wording.diagnosis import (
    bad_cases_text,
    context_metric_text,
    doubted_by,
    doubted_metrics,
    fix_first_sentence,
    gold_part_text,
    no_bad_case,
    pair_sentences,
    ranking_sentence,
    rate_basis,
    rate_clause,
    refusal_rates_text,
    unused_context_metrics,
)
from ragtriage.dashboard.wording.escaping import capital, in_sentence
from ragtriage.dashboard.wording.formatting import sampling_text
from ragtriage.dashboard.wording.leaks import critical_text, text_faults, texts_at_fault
from ragtriage.dashboard.wording.main_loss import known_statement, loss_sentence, scale_statement
from ragtriage.dashboard.wording.right import right_sentences
from ragtriage.data.api import diagnosis_answer, diagnosis_of, next_steps_of, open_store
from ragtriage.data.cases.refusal_cohorts import refusal_counts
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings
from ragtriage.data.diagnosis.doubts import pass_rate_doubts
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.metrics.diagnosis.patterns import CaseThresholds
from ragtriage.metrics.diagnosis.symptoms import SymptomEdges
from ragtriage.metrics.number_text import NOT_MEASURED, count, percent
from ragtriage.metrics.result_table import Row
from ragtriage.metrics.sanity.documents import read_first
from ragtriage.metrics.sanity.rule import Finding

EDGES = [field.name for field in fields(SymptomEdges)]


@click.command()
@RUN
@click.option("--context-metric", help="Metric that decides whether the context suffices.")
@click.option("--signal", hidden=True, help="Old name of --context-metric.")
@with_default("--context", 0.5, "Case threshold of this metric.", type=click.FloatRange(0, 1))
@with_default("--faithfulness", 0.8, "Case threshold of faithfulness.", type=click.FloatRange(0, 1))
@with_default("--answer-relevancy", 0.5, "Case threshold of answer relevancy.", type=click.FloatRange(0, 1))
@click.option(
    "--symptom-edge",
    "symptom_edges",
    multiple=True,
    metavar="NAME=VALUE",
    callback=named_numbers(EDGES, most=1),
    help=f"Where a mean counts as low or high: {', '.join(EDGES)}.",
)
@JSON
@click.pass_obj
def diagnose(
    workspace: str | None,
    run_name: str,
    context_metric: str | None,
    signal: str | None,
    context: float,
    faithfulness: float,
    answer_relevancy: float,
    symptom_edges: dict[str, float],
    as_json: bool,
) -> None:
    """Show where the cases of a run fail and what to fix first."""
    store = open_store(workspace)
    thresholds = CaseThresholds(context, faithfulness, answer_relevancy)
    settings = DiagnosisSettings(
        thresholds,
        signal if context_metric is None else context_metric,
        symptom_edges=SymptomEdges(**symptom_edges),
    )
    diagnosis = diagnosis_of(store, store.find(run_name), settings)
    findings = check_run(diagnosis.scored)
    steps = next_steps_of(store, diagnosis, findings)
    if as_json:
        print_json(diagnosis_answer(diagnosis, settings) | {"next_steps": [step.to_dict() for step in steps]})
    else:
        click.echo("\n\n".join(filter(None, [_diagnosis_text(diagnosis, findings), step_list(steps)])))


def _diagnosis_text(diagnosis: Diagnosis, findings: Sequence[Finding]) -> str:
    n, bad = diagnosis.scored.n, int(diagnosis.bad.bad.sum())
    first = filter(None, [critical_text(diagnosis.scored, findings), *text_faults(findings)])
    sampled = sampling_text(diagnosis.scored)
    doubted = (f"Read first: {finding.title}. {finding.message}" for finding in read_first(findings))
    sections = [
        *(wrapped(f"{sentence}.") for sentence in first),
        wrapped(_headline(diagnosis, findings)),
        *([wrapped(f"{sampled}.")] if sampled else []),
        *map(wrapped, [*right_sentences(diagnosis), *map(plain, doubted)]),
        f"{row_table(pattern_table(diagnosis).rows)}\nEvery case is in one row; they sum to {n:,}.",
        *map(wrapped, doubted_metrics(diagnosis, findings)),
    ]
    if diagnosis.fix_first:
        stages = stages_in_brief(diagnosis, findings)
        total = f"Every bad case belongs to the first stage whose rule it meets; they sum to {bad:,}."
        parts = gold_part_text(diagnosis)
        lacking = f"\nPartly retrieved, by cause: {parts}." if parts else ""
        sections += [
            f"{row_table(stages.rows)}\n{total}{lacking}",
            wrapped(fix_first_sentence(diagnosis, findings)),
        ]
    else:
        sections += [wrapped(no_bad_case(diagnosis, findings))]
    refusals = refusal_counts(diagnosis.scored)
    if sum(refusals.values()):
        sections += [_refusal_table(refusals), wrapped(refusal_rates_text(diagnosis))]
    edges = diagnosis.settings.symptom_edges
    sections += [
        wrapped(f"{symptom.title} ({symptom.condition_at(edges)}): {symptom.meaning} {symptom.advice}")
        for symptom in diagnosis.symptoms
    ]
    sections += map(wrapped, [*pair_sentences(diagnosis), *unused_context_metrics(diagnosis)])
    return "\n\n".join(sections)


def _refusal_table(counts: Mapping[str, int]) -> str:
    over = f"{counts['over_refusal']:,} over-refusal"
    missed = f"{counts['unsupported_answer']:,} missed refusal"
    rows: list[Row] = [
        {"context": context, "answered": answered, "refused": refused}
        for context, answered, refused in (
            ("holds the answer", counts["answered"], over),
            ("holds part of it", counts["part_answered"], counts["part_refused"]),
            ("lacks the answer", missed, counts["rejected"]),
        )
    ]
    known = f"{count(sum(counts.values()), 'case')} where context and refusal are known."
    return f"{row_table(rows)}\n{known}"


def _headline(diagnosis: Diagnosis, findings: Sequence[Finding]) -> str:
    rate = diagnosis.pass_rate
    lost = loss_sentence(diagnosis, findings)
    lead = next(filter(None, [scale_statement(findings), known_statement(diagnosis)]), "")
    first = "".join(f"{capital(each)}. " for each in (lead, lost) if each)
    doubts = doubted_by(pass_rate_doubts(diagnosis, findings))
    clause = "; ".join(filter(None, [rate_basis(diagnosis), doubts]))
    bad = f"{'otherwise, ' if texts_at_fault(findings) else ''}{bad_cases_text(diagnosis)}"
    context_metric = f"Context metric: {context_metric_text(diagnosis)}."
    if not rate.n_scored:
        unrated = f"{first}{capital(bad)}; pass rate {NOT_MEASURED}. {context_metric}"
        return ranking_sentence(diagnosis) or unrated
    interval = f"(95 % interval {percent(rate.low)} to {percent(rate.high)})"
    over = f"over {count(rate.n_scored, 'question')}{f', {clause}' if clause else ''}"
    shared = in_sentence(rate_clause(diagnosis.answers, rate, findings))
    return f"{first}{capital(bad)}; {shared} {interval} {over}. {context_metric}"
