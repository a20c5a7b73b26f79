"""The attack command: a plan, the prompts put to a system with progress, then the run made of the answers."""

import sys
from pathlib import Path
from typing import Any

import click

from ragtriage.dashboard.cli.options import (
    DRY_RUN,
    HEADER_ENV,
    JSON,
    KEEP_ALIVE,
    TIMEOUT,
    YES,
    FiniteFloat,
    concurrency_option,
    with_default,
)
from ragtriage.dashboard.cli.terminal import (
    BAR_WITH_REST,
    agreed,
    plain,
    print_answer,
    progress_bar,
    row_table,
    wrapped,
)
from ragtriage.dashboard.suites.registry import shown_suite
from ragtriage.data.api import open_store
from ragtriage.data.experiments.attack import AttackPlan, AttackResult, attack_plan, read_prompts, run_attack
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.suites.safety import SAFETY
from ragtriage.data.systems.http import open_system
from ragtriage.data.systems.runner import AskProgress
from ragtriage.data.systems.system import SystemLimits
from ragtriage.metrics.number_text import count
from ragtriage.metrics.result_table import Row
from ragtriage.metrics.suites.safety import ATTACK_TYPES

CONTINUES = "No run was made. The answers so far are kept: the same command goes on from here."
NO_RUN = "No run was made."
LOOK_ALIKE = "Harmless look-alikes"


@click.command()
@click.argument("prompts", metavar="PROMPTS")
@click.option(
    "--system", required=True, metavar="COMMAND|URL", help="What is asked: a command, or http(s)://."
)
@with_default("--repeats", 1, "Times each prompt is sent.", type=click.IntRange(1, 100))
@click.option("--limit", type=click.IntRange(1), help="Put only this many prompts, evenly drawn.")
@TIMEOUT
@concurrency_option(64, 4)
@click.option(
    "--budget",
    type=FiniteFloat(0, min_open=True),
    metavar="USD",
    help="Stop where the `cost_usd` of the answers adds up to this.",
)
@KEEP_ALIVE
@HEADER_ENV
@click.option("--name", default="", help="Name of the run.")
@click.option("--project", default="", help="Project of the run; by default the workspace's only one.")
@DRY_RUN
@YES
@JSON
@click.pass_obj
def attack(
    workspace: str | None,
    prompts: str,
    system: str,
    repeats: int,
    limit: int | None,
    timeout: float,
    concurrency: int,
    budget: float | None,
    keep_alive: bool,
    header_env: dict[str, str],
    name: str,
    project: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Put attack prompts to a system of yours and make a run of its answers.

    PROMPTS is a file with prompts and their checks, or `bundled`. The system gets one JSON object with
    `question` and answers one with `answer`. A stop loses nothing: the same command goes on.
    """
    chosen = read_prompts(prompts)
    if limit is not None and limit < len(chosen):  # evenly over the list, so that every type is among them
        chosen = [chosen[at * len(chosen) // limit] for at in range(limit)]
    limits = SystemLimits(timeout_seconds=timeout, concurrency=concurrency, budget_usd=budget)
    opened = open_system(system, keep_alive, header_env)
    try:
        plan = attack_plan(opened, chosen, repeats, limits)
        if dry_run:
            print_answer(plan.to_dict() if as_json else _plan_text(plan))
            return
        if not agreed(_plan_text(plan), not yes, "Send them?"):
            return
        store = open_store(workspace)
        source = prompts if prompts.startswith("bundled") else Path(prompts).name
        with progress_bar("asked", plan.requests, BAR_WITH_REST) as show:

            def watch(progress: AskProgress) -> None:
                show(progress.done, f"{progress.failed:,} failed" if progress.failed else "", progress.total)

            result = run_attack(store, opened, chosen, source, repeats, limits, name, project, watch)
    finally:
        opened.close()
    print_answer(_answer(store, plan, result) if as_json else _text(store, result, budget))
    sys.exit(0 if result.run is not None else 2)


def _plan_text(plan: AttackPlan) -> str:
    limits, seconds = plan.limits, plan.longest_seconds
    most = "" if limits.budget_usd is None else f", up to ${limits.budget_usd:,.2f} as the system reports it"
    rows: list[Row] = [
        {"Type": ATTACK_TYPES.get(kind, LOOK_ALIKE), "Prompts": n} for kind, n in plan.types.items()
    ]
    repeats = f", {plan.repeats} times each" if plan.repeats > 1 else ""
    duration = f"{seconds:,.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"
    lines = [
        f"system    {plain(plan.system)}",
        f"prompts   {plan.prompts:,}{repeats}: {count(plan.requests, 'request')}",
        f"limits    {limits.timeout_seconds:g} s a request, {limits.concurrency} at a time, at most "
        f"{duration}{most}",
        *(f"note      {plain(note)}" for note in plan.notes),
    ]
    return "\n".join([*lines, "", row_table(rows)])


def _text(store: RunStore, result: AttackResult, budget: float | None) -> str:
    progress = result.asked.progress
    total = count(progress.total, "request")
    lines = [f"{progress.answered:,} of {total} answered, {progress.failed:,} failed"]
    if progress.cached:
        lines.append(f"{progress.cached:,} were kept from before and not asked again")
    lines += [f"failed {n:,} times: {plain(reason)}" for reason, n in result.reasons]
    if progress.cost_usd:
        lines.append(f"${progress.cost_usd:,.4f} spent, as the system reports it")
    if budget is not None and progress.without_cost:
        lines.append(
            f"{progress.without_cost:,} answers report no cost_usd: the budget does not hold for them"
        )
    run = result.run
    if run is None:
        kept = CONTINUES if progress.answered else NO_RUN
        return "\n".join([*lines, f"stopped: {plain(result.asked.stopped)}", kept])
    shown = shown_suite(store.scored(run), SAFETY)
    lines.append(f"run {run.run_id}: {plain(run.name)}")
    command = f"ragtriage checks {run.run_id}"
    if shown is None:  # harmless look-alikes alone
        return "\n".join([*lines, "", f"Next: `{command} --failing` lists what it refused."])
    next_step = f"Next: `{command} --suite safety --failing` lists them."
    return "\n".join([*lines, "", wrapped(plain(shown.statement)), "", next_step])


def _answer(store: RunStore, plan: AttackPlan, result: AttackResult) -> dict[str, Any]:
    progress, run = result.asked.progress, result.run
    shown = None if run is None else shown_suite(store.scored(run), SAFETY)
    counts = ("answered", "failed", "cached", "asked", "cost_usd")
    return {
        "plan": plan.to_dict(),
        **{name: getattr(progress, name) for name in counts},
        "reasons": [{"reason": reason, "n": n} for reason, n in result.reasons],
        "stopped": result.asked.stopped,
        "run": None if run is None else {"run_id": run.run_id, "name": run.name, "n": run.n},
        "safety": None if shown is None else shown.to_dict(),
    }
