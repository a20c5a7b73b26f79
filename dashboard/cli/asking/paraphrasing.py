"""Paraphrases written by a model before an experiment is planned: their own plan, asking and end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click
from tqdm import tqdm

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.questions import Questions
from ragtriage.data.experiments.stability import paraphrase_requests
from ragtriage.data.judge.evaluators import own_prompts
from ragtriage.data.judge.job_spec import Progress
from ragtriage.data.judge.messages import ClientSettings
from ragtriage.data.judge.plain_requests import RequestPlan, ask_requests, kept_calls, plan_requests
from ragtriage.data.judge.prices import read_prices
from ragtriage.data.scoring.run_store import RunStore

BAR = "{desc}: {percentage:3.0f}%|{bar}| {n}/{total} [{elapsed}<{remaining}]"


@dataclass(frozen=True)
class Paraphrased:
    """Questions with paraphrases.

    Attributes:
        questions: of the experiment.
        plan: of what was, or would be, asked for them.
        cost_usd: of the paraphrases, also where an earlier command asked for them.
    """

    questions: Questions
    plan: RequestPlan
    cost_usd: float = 0.0


def paraphrase(
    store: RunStore,
    questions: Questions,
    model_name: str,
    options: Mapping[str, Any],
    stopped: Callable[[], bool],
) -> Paraphrased | None:
    """Let a model write paraphrases for the questions without any; None where the user does not agree.

    Args:
        store: of the workspace; its ledger keeps the calls.
        questions: of the experiment.
        model_name: of the model.
        options: of the command.
        stopped: True ends the asking.

    Raises:
        DataError: it stopped before the end; the same command goes on from there.
    """
    model = read_prices(store.workspace.root).model(model_name)
    settings = ClientSettings(model, concurrency=options["concurrency"], timeout=options["timeout"])
    asked = paraphrase_requests(questions, own_prompts(store.workspace))
    plan = plan_requests(store.ledger, settings, asked.requests)
    if options["dry_run"]:
        return Paraphrased(
            asked.written(kept_calls(store.ledger, settings, asked.requests), model.name), plan
        )
    if plan.calls and not _agreed(plan, options):
        return None
    with tqdm(
        total=len(asked.requests), bar_format=BAR, desc="paraphrased", disable=not sys.stderr.isatty()
    ) as bar:

        def watch(progress: Progress) -> None:
            bar.n = progress.done
            bar.refresh()

        result = ask_requests(store.ledger, settings, asked.requests, options["budget"], watch, stopped)
    if result.stopped:
        raise DataError(f"paraphrases: {result.stopped}; the same command goes on from here")
    return Paraphrased(asked.written(result.calls, model.name), plan, result.cost_usd)


def paraphrase_text(plan: RequestPlan) -> str:
    """Return the plan as text for a terminal."""
    cost = "not known, and no budget can hold" if plan.cost_usd is None else f"about ${plan.cost_usd:.4f}"
    return "\n".join(
        [
            f"paraphrases by {plan.model}",
            f"calls      {plan.calls:,} to make, {plan.cached:,} of {plan.requests:,} are there already",
            f"tokens     about {plan.input_tokens:,} in, {plan.output_tokens:,} out",
            f"cost       {cost}",
            *(["note       planned with plain rewordings until they are written"] if plan.calls else []),
        ]
    )


def _agreed(plan: RequestPlan, options: Mapping[str, Any]) -> bool:
    click.echo(paraphrase_text(plan), err=True)
    must_confirm = sys.stdin.isatty() and not options["yes"]
    return not must_confirm or click.confirm("Continue?", err=True)
