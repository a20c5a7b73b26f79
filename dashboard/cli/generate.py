"""The generate command: a plan, the answers with progress, then the run that they make."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from dashboard.cli.commands import open_workspace
from dashboard.cli.model_job import agreed, with_bar
from dashboard.cli.terminal import plain
from data.chunking.corpus import read_corpus
from data.errors import DataError
from data.generation.generate import CONTEXTS, GenerationTask, generate_run
from data.generation.oracle_context import gold_texts
from data.judge.client import ClientSettings
from data.judge.evaluators import own_prompts
from data.judge.plan import JudgePlan, choose_rows, plan_task
from data.judge.prices import read_prices
from data.judge.run_job import JobResult, JobSpec
from data.prompts.prompt import load_prompt
from data.scoring.run_store import RunStore
from data.store.workspace import Run

__all__ = ["GenerateOptions", "run"]

NEXT = (
    "Next: measure both runs alike with `ragtriage judge {original}` and `ragtriage judge {made}`; the "
    "Diagnosis page then parts what is lost in retrieval from what is lost in generation."
)
KEPT = "No run was made. The same command goes on from here; --limit makes a run of the first so many."


@dataclass(frozen=True)
class GenerateOptions:
    """What the command line asked for.

    Attributes:
        context: what the answers are given: one of data.generation.generate.CONTEXTS.
        corpus: folders and files with the texts of gold documents that the run does not hold.
        model: whom to ask; the default of the price table when left out.
        limit: the first so many samples.
        budget: in USD.
        concurrency: requests in flight.
        base_url: of the service.
        dry_run: plan only.
        yes: do not ask.
    """

    context: str
    corpus: Sequence[str]
    model: str | None
    limit: int | None
    budget: float | None
    concurrency: int
    base_url: str | None
    dry_run: bool
    yes: bool


def run(workspace: str | None, wanted: str, given: GenerateOptions, as_json: bool) -> int:
    """Answer the questions of a run anew; gives the exit code."""
    store = open_workspace(workspace)
    original = _original(store, wanted)
    prices = read_prices(store.workspace.root)
    settings = ClientSettings(prices.model(given.model), given.base_url, given.concurrency)
    work = _work(store, original, given)
    spec = JobSpec(choose_rows(store.table(original), given.limit), 1, given.budget, limit=given.limit)
    plan = plan_task(store.workspace, original, work, settings, spec, prices)
    if plan.nothing == plan.samples:
        raise DataError(_nothing(store, original, work, spec))
    if not agreed(plan, given.dry_run, given.yes, as_json):
        return 0
    result = with_bar("answered", store, original, work, settings, spec)
    made = _made(store, original, work, settings, result)
    answer = _as_json(original, work, plan, result, made)
    click.echo(json.dumps(answer, ensure_ascii=False, indent=1) if as_json else _text(original, result, made))
    return 2 if result.state == "failed" else 0


def _original(store: RunStore, wanted: str) -> Run:
    """Find the run whose questions are answered.

    Raises:
        DataError: it has no samples, or is itself such a run of answers.
    """
    found = store.find(wanted)
    if found.means:
        raise DataError(f"run {found.run_id}: known by its means alone; accepted: a run with samples")
    if "generated_from" in found.config:
        raise DataError(
            f"run {found.run_id}: holds generated answers; accepted: the run they were made from, "
            f"{found.config['generated_from']}"
        )
    return found


def _work(store: RunStore, original: Run, given: GenerateOptions) -> GenerationTask:
    prompt = load_prompt("answering", own_prompts(store.workspace))
    corpus = read_corpus(given.corpus) if given.corpus else None
    return GenerationTask(
        given.context, gold_texts(store.workspace.samples_path(original.run_id), corpus), prompt
    )


def _nothing(store: RunStore, original: Run, work: GenerationTask, spec: JobSpec) -> str:
    """Say why no question can be answered from the context, by the reason of the first."""
    sample = store.table(original).samples.read([spec.rows[0]], work.columns)[0]
    return (
        f"run {original.run_id}: no question can be answered from {CONTEXTS[work.context]}; of the first: "
        f"{work.documents(sample)[1]}; accepted: a run whose gold documents have texts, or --corpus with them"
    )


def _made(
    store: RunStore, original: Run, work: GenerationTask, settings: ClientSettings, result: JobResult
) -> Run | None:
    """Make the run of a job that came to its end; one that was stopped leaves no run of a part."""
    if result.state != "done":
        return None
    outcomes = {row: outcome for (row, _), outcome in result.outcomes.items()}
    return generate_run(store, original, outcomes, work, settings.model.name)


def _as_json(
    original: Run, work: GenerationTask, plan: JudgePlan, result: JobResult, made: Run | None
) -> dict[str, Any]:
    return {
        "run": original.run_id,
        "context": work.context,
        "job": result.job_id,
        "state": result.state,
        "message": result.message,
        "plan": plan.to_dict(),
        "progress": result.progress.to_dict(),
        "generated": None if made is None else {"run_id": made.run_id, "name": made.name, "n": made.n},
    }


def _text(original: Run, result: JobResult, made: Run | None) -> str:
    done = result.progress
    lines = [f"{result.state}: {plain(result.message)}" if result.message else result.state]
    lines.append(
        f"{done.scored:,} of {done.total:,} samples have an answer; {done.cached:,} calls were cached"
    )
    if done.not_applicable:
        lines.append(f"{done.not_applicable:,} have no document to answer from")
    lines += [f"{count:,} {status.replace('_', ' ')}" for status, count in sorted(done.failed.items())]
    if made is None:
        return "\n".join([*lines, KEPT])
    lines.append(f"run {made.run_id}: {plain(made.name)}")
    return "\n".join([*lines, NEXT.format(original=original.run_id, made=made.run_id)])
