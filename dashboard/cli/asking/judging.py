"""The judge command, and what commands that ask a model share: the plan to agree to, a bar, the end."""

import sys
from dataclasses import replace
from typing import Any

import click
from tqdm import tqdm

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
    with_default,
)
from ragtriage.dashboard.cli.results.agreement import agreement_answer, agreement_text
from ragtriage.dashboard.cli.terminal import (
    agreed,
    plain,
    print_answer,
    print_json,
    progress_bar,
    result_text,
    row_table,
)
from ragtriage.dashboard.tables.judged import judged_table, length_table, order_table, position_table
from ragtriage.dashboard.wording.judge_plans import other_way_text
from ragtriage.data.api import open_store
from ragtriage.data.demo import LABELLED_SETS, labelled_runs
from ragtriage.data.errors import DataError
from ragtriage.data.judge.bias import judge_bias
from ragtriage.data.judge.evaluation import REFERENCE_WAYS
from ragtriage.data.judge.evaluators import answers_on_attacks, rows_for_the_judge
from ragtriage.data.judge.job_spec import AGAIN, STOP_AFTER, JobSpec, Progress
from ragtriage.data.judge.judge_run import (
    CHECKS_ALONE,
    EFFORTS,
    MOST_REPEATS,
    MOST_REQUESTS,
    NONE_WAITS,
    USUAL_REQUESTS,
    USUAL_TIMEOUT,
    Ask,
    JudgeOptions,
    judge_answer,
    judge_jobs,
    judged_metrics,
    quotes_of,
)
from ragtriage.data.judge.plan import JudgePlan
from ragtriage.data.judge.requests import ClientSettings, JudgeTask
from ragtriage.data.judge.run_job import JobResult, run_task
from ragtriage.data.labels.agreement_report import labelled_rows
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.judge_results import EVALUATION
from ragtriage.data.store.workspace import Run
from ragtriage.data.suites.safety import SAFETY

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


def plan_text(plan: JudgePlan) -> str:
    """Format a plan for the terminal."""
    half = ", at the price of batches" if plan.batch else ""
    priced = "not known" if plan.cost_usd is None else f"about ${plan.cost_usd:.4f}{half}"
    follow_ups = f", {plan.follow_ups:,} of them follow-up calls" if plan.follow_ups else ""
    nothing = f", {plan.nothing:,} {_without(plan.kind)}" if plan.nothing else ""
    alike = f", {plan.alike:,} identical and asked once" if plan.alike else ""
    kind = "evaluation" if plan.kind == EVALUATION else plan.kind
    other = [] if plan.other_way is None else [f"or       {other_way_text(plan.other_way)}"]
    lines = [
        f"{kind} by {plan.model}, prompt {plan.prompt}",
        f"samples  {plan.samples:,}, {plan.cached:,} of them done already{alike}{nothing}",
        f"calls    {plan.calls:,}{follow_ups}",
        f"tokens   {plan.input_tokens:,} in, {plan.output_tokens:,} out ({plan.method})",
        f"cost     {priced} (prices of {plan.price_date})",
    ]
    return "\n".join([*lines, *other, *(f"note     {plain(note)}" for note in plan.notes)])


def _without(kind: str) -> str:
    """Return what a sample lacks that is not sent."""
    if not kind.startswith("answer:"):
        return "with nothing to judge"
    return {
        "answer:oracle": "without texts of gold documents",
        "answer:retrieved": "without retrieved texts",
    }.get(kind, "without a question")


def plan_agreed(plan: JudgePlan, dry_run: bool, yes: bool, as_json: bool) -> bool:
    """Show a plan and return whether to go on; at a terminal the user confirms before anything is spent."""
    if dry_run:
        print_answer(plan.to_dict() if as_json else plan_text(plan))
        return False
    return agreed(plan_text(plan), not yes and plan.calls > 0)


def with_bar(
    doing: str, store: RunStore, run: Run, work: JudgeTask, settings: ClientSettings, spec: JobSpec
) -> JobResult:
    """Run a task under a progress bar with rate, cost so far and time left."""
    with progress_bar(doing, len(spec.rows) * spec.repeats) as show:

        def watch(progress: Progress) -> None:
            left, cost, rate = progress.seconds_left, progress.cost_usd, progress.rate
            parts = [
                "" if rate is None else f"{rate:.1f} calls/s",
                "" if cost is None else f"${cost:.4f}",
                "" if left is None else f"about {tqdm.format_interval(left)} left",
            ]
            show(progress.done, ", ".join(part for part in parts if part))

        return run_task(store.workspace, run, work, settings, spec, watch)


def job_text(result: JobResult, product: str) -> list[str]:
    """Return how a job ended, a line each: its state, how many samples have what it makes, what failed."""
    done = result.progress
    return [
        f"{result.state}: {plain(result.message)}" if result.message else result.state,
        f"{done.scored:,} of {done.total:,} samples have {product}; {done.cached:,} calls were cached",
        *(f"{n:,} {status.replace('_', ' ')}" for status, n in sorted(done.failed.items())),
    ]


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
@with_default("--repeats", 1, "Evaluations per sample.", type=click.IntRange(1, MOST_REPEATS))
@BUDGET
@concurrency_option(MOST_REQUESTS, USUAL_REQUESTS)
@with_default("--timeout", USUAL_TIMEOUT, "Time limit of a request, in seconds.", type=FiniteFloat(1))
@with_default("--effort", "low", "Reasoning effort of the model.", type=click.Choice(EFFORTS))
@click.option("--batch", is_flag=True, help="Use message batches: half the price, hours of time.")
@click.option(
    "--again",
    type=ChosenWords(AGAIN),
    default=(),
    metavar="STATUS,...",
    help=f"Ask again about samples that earlier jobs left as {', '.join(AGAIN)}.",
)
@with_default(
    "--stop-after",
    STOP_AFTER,
    "End the job after this many equal faults in a row; 0: never.",
    type=click.IntRange(0),
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
@with_default(
    "--reference",
    "apart",
    "Show the reference answer in a request of its own (apart), or with the rest (along): cheaper.",
    type=click.Choice(REFERENCE_WAYS),
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
    /,
    run_name: str | None,
    calibrate: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Let Claude judge the answers of a run; continues from earlier results.

    With --calibrate it judges what humans labelled, and shows how far it agrees with them.
    """
    options = _options(run_name, calibrate, chosen)
    store = open_store(workspace, create=calibrate is not None)
    runs = [store.find(str(run_name))] if calibrate is None else labelled_runs(store, calibrate)
    answers: list[dict[str, Any]] = []
    plans: list[dict[str, Any]] = []
    for run in runs:
        if options.checks and not rows_for_the_judge(store.scored(run.with_samples())):
            nothing = {"run": run.run_id, "state": "done", "message": NONE_WAITS, "answers": {}}
            print_answer(nothing if as_json else f"{plain(run.name)}: {NONE_WAITS}.")
            return
        among = None if calibrate is None else labelled_rows(store, run)
        spent = sum(answer["progress"]["cost_usd"] or 0.0 for answer in answers)
        left = None if options.budget is None else max(options.budget - spent, 0.0)
        ask = _asking(store, run, plans, (dry_run, yes, as_json))
        for plan, result in judge_jobs(store, run, replace(options, budget=left), ask, among):
            if result is None:
                continue
            answers.append(judge_answer(store, run, plan, result))
            if not as_json:
                shown = judged_metrics(store, run)
                click.echo(_attacks_text(result) if options.checks else _result_text(result, shown))
        if answers and answers[-1]["state"] == "failed":
            break
    if plans:
        print_json(plans if len(plans) > 1 else plans[0])
    _print_end(store, runs, answers, calibrate, as_json)
    sys.exit(2 if any(answer["state"] == "failed" for answer in answers) else 0)


def _options(run_name: str | None, calibrate: str | None, chosen: dict[str, Any]) -> JudgeOptions:
    """Return the options of each run; raise where they do not go together."""
    if (run_name is None) == (calibrate is None):
        raise DataError("judge: accepted: a RUN, or --calibrate SET")
    if calibrate and chosen["checks"]:
        raise DataError(CHECKS_ALONE)
    return JudgeOptions(**chosen)


def _asking(store: RunStore, run: Run, plans: list[dict[str, Any]], show: tuple[bool, bool, bool]) -> Ask:
    """Return what does a job after its plan is shown; plans that are to be JSON alone are collected."""
    dry_run, yes, as_json = show

    def ask(plan: JudgePlan, task: JudgeTask, settings: ClientSettings, spec: JobSpec) -> JobResult | None:
        if dry_run and as_json:  # printed together, so that several plans are one JSON value
            plans.append(plan.to_dict())
            return None
        if not plan_agreed(plan, dry_run, yes, as_json):
            return None
        return with_bar("judged", store, run, task, settings, spec)

    return ask


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
            lines = [f"judge and generator: {plain(bias.own_model)}"] if bias.own_model else []
            tables = (order_table(bias.order), position_table(bias.position), length_table(bias.length))
            click.echo("\n".join([*lines, *(result_text(each) for each in tables if each.rows)]))
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


def _result_text(result: JobResult, judged_metrics: dict[str, MetricSummary]) -> str:
    done = result.progress
    lines = job_text(result, "a judge result")
    if done.calls:
        cost = "not known" if done.cost_usd is None else f"${done.cost_usd:.4f}"
        lines.append(f"{done.calls:,} calls were made; cost {cost}")
    check = quotes_of(result)
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
