"""The judge command: a plan, then the job with its progress, then the metrics that come of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from dashboard.cli.model_job import agreed, with_bar
from dashboard.cli.options import JSON, RUN, FiniteFloat
from dashboard.cli.terminal import plain, print_json, table
from dashboard.wording.formatting import interval_text, number
from data.api import open_store
from data.errors import DataError
from data.judge.client import ClientSettings
from data.judge.evaluators import judge_task
from data.judge.plan import choose_rows, plan_task
from data.judge.prices import read_prices
from data.judge.run_job import JobResult, JobSpec
from data.scoring.summaries import MetricSummary
from metrics.schema.source import Source

__all__ = ["judge"]

SHOWN = (
    "faithfulness",
    "answer_relevancy",
    "context_recall",
    "context_precision",
    "context_relevance",
    "correctness",
    "hallucination",
    "refused",
    "ignored_top_ranked",
    "injection",
)


@click.command()
@RUN
@click.option("--model", help="Model that judges; RAGTRIAGE_JUDGE_MODEL, else the price table's default.")
@click.option("--limit", type=click.IntRange(1), help="Judge only this many samples, from the first on.")
@click.option("--sample", type=click.IntRange(1), help="Judge this many drawn at random, by question type.")
@click.option(
    "--repeats", type=click.IntRange(1, 20), default=1, show_default=True, help="Evaluations a sample."
)
@click.option("--budget", type=FiniteFloat(0, min_open=True), metavar="USD", help="Most that may be spent.")
@click.option(
    "--concurrency", type=click.IntRange(1, 256), default=8, show_default=True, help="Requests in flight."
)
@click.option("--timeout", type=FiniteFloat(1), default=120, show_default=True, help="Seconds a request.")
@click.option("--effort", type=click.Choice(["low", "medium", "high"]), default="low", show_default=True)
@click.option("--batch", is_flag=True, help="Use message batches: half the price, hours of time.")
@click.option("--evaluator", metavar="NAME", help="Run an evaluator of the project instead.")
@click.option("--prompts", metavar="FOLDER", help="Prompts of your own; the workspace's prompts/ otherwise.")
@click.option("--base-url", metavar="URL", help="Of the service; ANTHROPIC_BASE_URL does the same.")
@click.option(
    "--count", "count_tokens", is_flag=True, help="Let the service count tokens for the plan; free."
)
@click.option("--dry-run", is_flag=True, help="Show the plan and its cost; ask no model.")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@JSON
@click.pass_obj
def judge(
    workspace: str | None,
    run_name: str,
    model: str | None,
    limit: int | None,
    sample: int | None,
    repeats: int,
    budget: float | None,
    concurrency: int,
    timeout: float,
    effort: str,
    batch: bool,
    evaluator: str | None,
    prompts: str | None,
    base_url: str | None,
    count_tokens: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Let Claude judge the answers of a run; continues from earlier results."""
    store = open_store(workspace)
    run = store.find(run_name)
    if run.means:
        raise DataError(f"run {run.run_id}: known by its means alone; accepted: a run with samples")
    prices = read_prices(store.workspace.root)
    settings = ClientSettings(prices.model(model), base_url, concurrency, timeout, effort)
    task = judge_task(store.workspace, run.project, settings.model, evaluator or "", prompts)
    rows = choose_rows(store.scored(run), limit, sample)
    prompt_folder = None if prompts is None else str(Path(prompts).resolve())
    spec = JobSpec(rows, repeats, budget, batch, limit, sample, prompt_folder)
    plan = plan_task(store.workspace, run, task, settings, spec, prices, count_tokens)
    if not agreed(plan, dry_run, yes, as_json):
        return
    result = with_bar("judged", store, run, task, settings, spec)
    judged_metrics = {
        name: summary
        for name, summary in store.summary(run).items()
        if Source.JUDGED.label in summary.sources
    }
    if as_json:
        answer: dict[str, Any] = {
            "run": run.run_id,
            "job": result.job_id,
            "state": result.state,
            "message": result.message,
            "plan": plan.to_dict(),
            "progress": result.progress.to_dict(),
            "judge": None if result.judge_result is None else result.judge_result.judge,
            "metrics": {name: summary.to_dict() for name, summary in judged_metrics.items()},
        }
        print_json(answer)
    else:
        click.echo(_result_text(result, judged_metrics))
    sys.exit(2 if result.state == "failed" else 0)


def _result_text(result: JobResult, judged_metrics: dict[str, MetricSummary]) -> str:
    done = result.progress
    lines = [f"{result.state}: {plain(result.message)}" if result.message else result.state]
    lines.append(
        f"{done.scored:,} of {done.total:,} samples have a judge result; {done.cached:,} calls were cached"
    )
    lines += [f"{count:,} {status.replace('_', ' ')}" for status, count in sorted(done.failed.items())]
    rows = [
        [
            name,
            number(summary.mean, 3),
            interval_text(summary.low, summary.high, 3),
            f"{summary.n_scored:,} of {summary.n_applicable:,}",
            "" if summary.worst is None else f"{number(summary.worst, 3)} to {number(summary.best, 3)}",
        ]
        for name, summary in judged_metrics.items()
        if name in SHOWN or name.startswith("evaluator_")
    ]
    if rows:
        header = ["metric", "mean", "95 % interval", "questions", "if the failed were worst / best"]
        lines.append(table(header, rows))
    return "\n".join(lines)
