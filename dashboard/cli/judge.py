"""The judge command: a plan, then the job with its progress, then what the verdicts say."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dashboard.cli.commands import open_workspace
from dashboard.cli.model_job import agreed, with_bar
from dashboard.cli.terminal import plain, table
from dashboard.wording.formatting import interval_text, number
from data.errors import DataError
from data.judge.client import ClientSettings
from data.judge.evaluators import judge_task
from data.judge.plan import JudgePlan, choose_rows, plan_task
from data.judge.prices import PriceTable, read_prices
from data.judge.run_job import JobResult, JobSpec
from data.scoring.run_store import RunStore
from data.store.workspace import Run
from metrics.schema.scores import Source

__all__ = ["JudgeOptions", "run"]

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


@dataclass(frozen=True)
class JudgeOptions:
    """What the command line asked for.

    Attributes:
        model: whom to ask; the default of the price table when left out.
        limit: the first so many samples.
        sample: so many drawn at random.
        repeats: how often each is judged.
        budget: in USD.
        concurrency: requests in flight.
        timeout: seconds that a request may take.
        effort: how much the model thinks.
        batch: through message batches.
        evaluator: name of an evaluator to run in place of the reading.
        prompts: folder with prompts of one's own.
        base_url: of the service.
        dry_run: plan only.
        count: let the service count the tokens of a few requests for the plan.
        yes: do not ask.
    """

    model: str | None
    limit: int | None
    sample: int | None
    repeats: int
    budget: float | None
    concurrency: int
    timeout: float
    effort: str
    batch: bool
    evaluator: str | None
    prompts: str | None
    base_url: str | None
    dry_run: bool
    count: bool
    yes: bool


def run(workspace: str | None, wanted: str, given: JudgeOptions, as_json: bool) -> int:
    """Judge a run; gives the exit code."""
    store = open_workspace(workspace)
    chosen = store.find(wanted)
    if chosen.means:
        raise DataError(f"run {chosen.run_id}: known by its means alone; accepted: a run with samples")
    prices = read_prices(store.workspace.root)
    settings = _settings(given, prices)
    work = judge_task(store.workspace, chosen.project, settings.model, given.evaluator or "", given.prompts)
    rows = choose_rows(store.table(chosen), given.limit, given.sample)
    prompts = None if given.prompts is None else str(Path(given.prompts).resolve())
    spec = JobSpec(rows, given.repeats, given.budget, given.batch, given.limit, given.sample, prompts)
    plan = plan_task(store.workspace, chosen, work, settings, spec, prices, given.count)
    if not agreed(plan, given.dry_run, given.yes, as_json):
        return 0
    result = with_bar("judged", store, chosen, work, settings, spec)
    click.echo(_as_json(store, chosen, plan, result) if as_json else _as_text(store, chosen, result))
    return 2 if result.state == "failed" else 0


def _settings(given: JudgeOptions, prices: PriceTable) -> ClientSettings:
    model = prices.model(given.model)
    return ClientSettings(model, given.base_url, given.concurrency, given.timeout, given.effort)


def _as_json(store: RunStore, run: Run, plan: JudgePlan, result: JobResult) -> str:
    answer: dict[str, Any] = {
        "run": run.run_id,
        "job": result.job_id,
        "state": result.state,
        "message": result.message,
        "plan": plan.to_dict(),
        "progress": result.progress.to_dict(),
        "judge": None if result.judgement is None else result.judgement.judge,
        "metrics": {name: one.to_dict() for name, one in _judged(store, run).items()},
    }
    return json.dumps(answer, ensure_ascii=False, indent=1, allow_nan=False)


def _judged(store: RunStore, run: Run) -> dict[str, Any]:
    summary = store.summary(run)
    return {name: one for name, one in summary.items() if Source.JUDGED.label in one.sources}


def _as_text(store: RunStore, run: Run, result: JobResult) -> str:
    done = result.progress
    lines = [f"{result.state}: {plain(result.message)}" if result.message else result.state]
    lines.append(
        f"{done.scored:,} of {done.total:,} samples have a verdict; {done.cached:,} calls were cached"
    )
    lines += [f"{count:,} {status.replace('_', ' ')}" for status, count in sorted(done.failed.items())]
    summary = _judged(store, run)
    rows = [
        [
            name,
            number(one.mean, 3),
            interval_text(one.low, one.high, 3),
            f"{one.n_scored:,} of {one.n_applicable:,}",
            "" if one.worst is None else f"{number(one.worst, 3)} to {number(one.best, 3)}",
        ]
        for name, one in summary.items()
        if name in SHOWN or name.startswith("evaluator_")
    ]
    if rows:
        header = ["metric", "mean", "95 % interval", "questions", "if the failed were worst / best"]
        lines.append(table(header, rows))
    return "\n".join(lines)
