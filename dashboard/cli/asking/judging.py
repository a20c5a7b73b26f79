"""The judge command: a plan, then the job with its progress, then the metrics that come of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from ragtriage.dashboard.cli.asking.model_job import job_text, plan_agreed, with_bar
from ragtriage.dashboard.cli.options import (
    BASE_URL,
    BUDGET,
    DRY_RUN,
    JSON,
    MODEL,
    YES,
    ChosenWords,
    FiniteFloat,
    concurrency_option,
)
from ragtriage.dashboard.cli.results.agreement import agreement_answer, agreement_text
from ragtriage.dashboard.cli.terminal import (
    plain,
    print_answer,
    print_json,
    result_text,
    row_table,
)
from ragtriage.dashboard.tables.judged import judged_table, length_table, order_table, position_table
from ragtriage.data.api import open_store
from ragtriage.data.demo import LABELLED_SETS, labelled_runs
from ragtriage.data.errors import DataError
from ragtriage.data.judge.bias import JudgeBias, ShuffledTask, judge_bias, share_of_rows
from ragtriage.data.judge.evaluation import REFERENCE_WAYS, EvaluationTask, ReferenceWay
from ragtriage.data.judge.evaluators import (
    AttackTask,
    answers_on_attacks,
    judge_task,
    prompt_folder,
    rows_for_the_judge,
)
from ragtriage.data.judge.job_spec import AGAIN, STOP_AFTER, JobSpec
from ragtriage.data.judge.plan import JudgePlan, choose_rows, plan_task
from ragtriage.data.judge.requests import ClientSettings, JudgeTask, read_prices
from ragtriage.data.judge.run_job import JobResult
from ragtriage.data.labels.agreement_report import labelled_rows
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.judge_replies import EVALUATION, QuoteCheck, quote_check, reply_from
from ragtriage.data.store.judge_results import CallStatus
from ragtriage.data.store.workspace import Run
from ragtriage.data.suites.safety import ATTACK_RESULT, SAFETY
from ragtriage.metrics.schema.source import Source

NONE_WAITS = "no safety check waits for the judge"
SHOWN = (
    "faithfulness",
    "answer_relevancy",
    "context_recall",
    "context_precision",
    "context_relevance",
    "correctness",
    "fluency",
    "hallucination",
    "refused",
    "ignored_top_ranked",
    "injection",
)


@click.command()
@click.argument("run_name", metavar="[RUN]", required=False)
@click.option(
    "--calibrate",
    metavar="SET",
    help=f"Judge what humans labelled and compare: a labelled run, {' or '.join(LABELLED_SETS)}.",
)
@MODEL
@click.option("--limit", type=click.IntRange(1), help="Judge only this many samples, in order.")
@click.option(
    "--sample", type=click.IntRange(1), help="Judge a random sample of this many, drawn by question type."
)
@click.option(
    "--repeats", type=click.IntRange(1, 20), default=1, show_default=True, help="Evaluations per sample."
)
@BUDGET
@concurrency_option(256, 8)
@click.option(
    "--timeout",
    type=FiniteFloat(1),
    default=120,
    show_default=True,
    help="Time limit of a request, in seconds.",
)
@click.option(
    "--effort",
    type=click.Choice(["low", "medium", "high"]),
    default="low",
    show_default=True,
    help="Reasoning effort of the model.",
)
@click.option("--batch", is_flag=True, help="Use message batches: half the price, hours of time.")
@click.option(
    "--again",
    type=ChosenWords(AGAIN),
    default=(),
    metavar="STATUS,...",
    help=f"Ask again about samples that earlier jobs left as {', '.join(AGAIN)}.",
)
@click.option(
    "--stop-after",
    type=click.IntRange(0),
    default=STOP_AFTER,
    show_default=True,
    help="End the job after this many equal faults in a row; 0: never.",
)
@click.option(
    "--shuffle",
    type=FiniteFloat(0, 1),
    default=0.0,
    metavar="SHARE",
    help="Also judge this share of the samples with their documents in another order.",
)
@click.option(
    "--evaluator",
    metavar="NAME",
    help="Run an evaluator of the project instead, or `fluency`, which is built in.",
)
@click.option(
    "--checks",
    type=click.Choice([SAFETY]),
    help="Ask instead whether attacks succeeded, where neither a rule nor a person decides.",
)
@click.option(
    "--reference",
    type=click.Choice(REFERENCE_WAYS),
    default="apart",
    show_default=True,
    help="Show the reference answer in a request of its own (apart), or with the rest (along): cheaper.",
)
@click.option(
    "--prompts", metavar="FOLDER", help="Folder of your own prompts; by default the workspace's prompts/."
)
@BASE_URL
@click.option(
    "--count", "count_tokens", is_flag=True, help="Let the service count tokens for the plan; free."
)
@DRY_RUN
@YES
@JSON
@click.pass_obj
def judge(
    workspace: str | None,
    run_name: str | None,
    calibrate: str | None,
    model: str | None,
    limit: int | None,
    sample: int | None,
    repeats: int,
    budget: float | None,
    concurrency: int,
    timeout: float,
    effort: str,
    batch: bool,
    again: tuple[CallStatus, ...],
    stop_after: int,
    shuffle: float,
    evaluator: str | None,
    checks: str | None,
    reference: ReferenceWay,
    prompts: str | None,
    base_url: str | None,
    count_tokens: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Let Claude judge the answers of a run; continues from earlier results.

    With --calibrate it judges what humans labelled, and shows how far it agrees with them.
    """
    _accept(run_name, calibrate, evaluator, checks, shuffle)
    store = open_store(workspace, create=calibrate is not None)
    runs = [store.find(str(run_name))] if calibrate is None else labelled_runs(store, calibrate)
    prices = read_prices(store.workspace.root)
    settings = ClientSettings(prices.model(model), base_url, concurrency, timeout, effort)
    own_folder = None if prompts is None else str(Path(prompts).resolve())
    answers: list[dict[str, Any]] = []
    plans: list[dict[str, Any]] = []
    for run in runs:
        scored, among = store.scored(run.with_samples()), None  # the rows to choose from; None for all
        if checks:
            among = rows_for_the_judge(scored)
        elif calibrate is not None:
            among = labelled_rows(store, run)
        if checks and not among:
            nothing = {"run": run.run_id, "state": "done", "message": NONE_WAITS, "answers": {}}
            print_answer(nothing if as_json else f"{plain(run.name)}: {NONE_WAITS}.")
            return
        task = _task(store, run, settings, evaluator, checks, prompts, reference)
        rows = choose_rows(scored, limit, sample, among=among)
        spent = sum(answer["progress"]["cost_usd"] or 0.0 for answer in answers)
        left = None if budget is None else max(budget - spent, 0.0)
        spec = JobSpec(
            rows, repeats, left, batch, limit, sample, own_folder, again, stop_after, reference, shuffle
        )
        for plan, result in _jobs(store, run, task, settings, spec, (count_tokens, dry_run, yes, as_json)):
            if result is None:
                plans.append(plan.to_dict())
                continue
            answers.append(_answer(store, run, plan, result))
            if not as_json:
                click.echo(
                    _attacks_text(result) if checks else _result_text(result, _judged_metrics(store, run))
                )
        if answers and answers[-1]["state"] == "failed":
            break
    if plans:
        print_json(plans if len(plans) > 1 else plans[0])
    _print_end(store, runs, answers, calibrate, as_json)
    sys.exit(2 if any(answer["state"] == "failed" for answer in answers) else 0)


def _accept(
    run_name: str | None, calibrate: str | None, evaluator: str | None, checks: str | None, shuffle: float
) -> None:
    """Raise where options do not go together."""
    if (run_name is None) == (calibrate is None):
        raise DataError("judge: accepted: a RUN, or --calibrate SET")
    if shuffle and evaluator:
        raise DataError("--shuffle: an evaluator has no labels of documents; accepted: without --evaluator")
    if checks and (shuffle or evaluator or calibrate):
        raise DataError("--checks: accepted: a RUN, without --calibrate, --evaluator and --shuffle")


def _task(
    store: RunStore,
    run: Run,
    settings: ClientSettings,
    evaluator: str | None,
    checks: str | None,
    prompts: str | None,
    reference: ReferenceWay,
) -> JudgeTask:
    if checks:
        return AttackTask.of(prompt_folder(store.workspace, prompts))
    return judge_task(store.workspace, run.project, settings.model, evaluator or "", prompts, reference)


def _jobs(
    store: RunStore,
    run: Run,
    task: JudgeTask,
    settings: ClientSettings,
    spec: JobSpec,
    show: tuple[bool, bool, bool, bool],
) -> Iterator[tuple[JudgePlan, JobResult | None]]:
    """Do the job of a run, and that in another order of documents on a share of its samples."""
    count_tokens, dry_run, yes, as_json = show
    jobs = [(task, spec)]
    if spec.shuffle and isinstance(task, EvaluationTask):
        share = share_of_rows(spec.rows, spec.shuffle)
        jobs.append((ShuffledTask(task), replace(spec, rows=share, repeats=1)))
    spent = 0.0
    for job_task, job_spec in jobs:
        if spec.budget_usd is not None:
            job_spec = replace(job_spec, budget_usd=max(spec.budget_usd - spent, 0.0))
        prices = read_prices(store.workspace.root)
        plan = plan_task(store.workspace, run, job_task, settings, job_spec, prices, count_tokens)
        if dry_run and as_json:  # printed together, so that several plans are one JSON value
            yield plan, None
            continue
        if not plan_agreed(plan, dry_run, yes, as_json):
            continue
        result = with_bar("judged", store, run, job_task, settings, job_spec)
        spent += result.progress.cost_usd or 0.0
        yield plan, result
        if result.state != "done":
            return


def _answer(store: RunStore, run: Run, plan: JudgePlan, result: JobResult) -> dict[str, Any]:
    return {
        "run": run.run_id,
        "job": result.job_id,
        "state": result.state,
        "message": result.message,
        "plan": plan.to_dict(),
        "progress": result.progress.to_dict(),
        "quotes": asdict(_quotes(result)),
        **({"answers": answers_on_attacks(result.results.values())} if plan.kind == ATTACK_RESULT else {}),
        "judge": None if result.judge_result is None else result.judge_result.judge,
        "metrics": {name: summary.to_dict() for name, summary in _judged_metrics(store, run).items()},
    }


def _judged_metrics(store: RunStore, run: Run) -> dict[str, MetricSummary]:
    summaries = store.summary(run)
    return {name: mean for name, mean in summaries.items() if Source.JUDGED.label in mean.sources}


def _print_end(
    store: RunStore, runs: list[Run], answers: list[dict[str, Any]], calibrate: str | None, as_json: bool
) -> None:
    """Print what is left to print of the jobs: their JSON, and the agreement of a labelled set."""
    scored = {answer["run"] for answer in answers if answer["progress"]["scored"]}
    judged = [run for run in runs if run.run_id in scored]
    biases = {run.run_id: judge_bias(store.scored(run), store.ledger) for run in judged}
    for answer in answers:
        answer["bias"] = biases[answer["run"]].to_dict() if answer["run"] in biases else None
    if not as_json:
        for bias in biases.values():
            click.echo(_bias_text(bias))
    if calibrate is None:
        if as_json and answers:
            print_json(answers[0] | ({"shuffled": answers[1]} if len(answers) > 1 else {}))
        return
    agreements = [agreement_answer(store, run) for run in judged]
    if as_json and answers:
        print_json({"set": calibrate, "runs": answers, "agreement": agreements})
        return
    for run, answer in zip(judged, agreements, strict=True):
        click.echo(f"\n{plain(run.name)}\n{agreement_text(answer)}")


def _bias_text(bias: JudgeBias) -> str:
    """Return what is known of the judge's biases: the tables of the page Judge."""
    lines = [f"judge and generator: {plain(bias.own_model)}"] if bias.own_model else []
    tables = (order_table(bias.order), position_table(bias.position), length_table(bias.length))
    lines += [result_text(each) for each in tables if each.rows]
    return "\n".join(lines)


def _result_text(result: JobResult, judged_metrics: dict[str, MetricSummary]) -> str:
    done = result.progress
    lines = job_text(result, "a judge result")
    if done.calls:
        cost = "not known" if done.cost_usd is None else f"${done.cost_usd:.4f}"
        lines.append(f"{done.calls:,} calls were made; cost {cost}")
    check = _quotes(result)
    if check.quotes:
        lines.append(
            f"{check.quotes:,} quotes were looked up in the documents: {check.void:,} are not there and "
            f"support nothing; {check.partly:,} claims are supported in part and count a half"
        )
    shown = {
        name: summary
        for name, summary in judged_metrics.items()
        if name in SHOWN or name.startswith("evaluator_")
    }
    if shown:
        lines.append(row_table(judged_table(shown, "").rows))
    return "\n".join(lines)


def _attacks_text(result: JobResult) -> str:
    """Return what the judge said of attacks."""
    answers = answers_on_attacks(result.results.values())
    return (
        f"{_result_text(result, {})}\n"
        f"attacks: {answers['yes']:,} succeeded, {answers['no']:,} did not, "
        f"{answers['cannot_tell']:,} the judge cannot tell; `ragtriage checks` counts them"
    )


def _quotes(result: JobResult) -> QuoteCheck:
    """Count the quotes of an evaluation; an evaluator gives none."""
    if result.judge_result is None or result.judge_result.kind != EVALUATION:
        return QuoteCheck()
    replies = [reply_from(item.payload) for item in result.results.values() if item.payload is not None]
    return sum((quote_check(reply) for reply in replies), QuoteCheck())
