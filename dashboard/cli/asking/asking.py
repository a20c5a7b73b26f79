"""What the commands that run an experiment share: options, system, paraphrases, plan, progress, results."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any

import click
from tqdm import tqdm

from ragtriage.dashboard.cli.options import (
    BUDGET,
    DRY_RUN,
    HEADER_ENV,
    JSON,
    KEEP_ALIVE,
    TIMEOUT,
    YES,
    concurrency_option,
)
from ragtriage.dashboard.cli.terminal import (
    BAR_WITH_REST,
    agreed,
    on_signals,
    plain,
    print_answer,
    print_json,
    progress_bar,
    result_text,
    wrapped,
)
from ragtriage.dashboard.experiments.registry import experiment_headline, experiment_parts
from ragtriage.dashboard.experiments.view import arm_table
from ragtriage.data.api import open_store
from ragtriage.data.chunking.corpus import read_corpus
from ragtriage.data.errors import DataError
from ragtriage.data.experiments.experiment import is_kept
from ragtriage.data.experiments.plan import ExperimentPlan, PlannedExperiment, estimate, plan_experiment
from ragtriage.data.experiments.questions import Questions, open_questions, with_negatives
from ragtriage.data.experiments.registry import ExperimentSummary, experiment_summary, kind_of
from ragtriage.data.experiments.run_experiment import (
    ExperimentOutcome,
    kept_replies,
    probe_system,
    run_experiment_job,
)
from ragtriage.data.experiments.stability import paraphrase_requests
from ragtriage.data.judge.evaluators import own_prompts
from ragtriage.data.judge.plain_requests import RequestPlan, ask_requests, kept_calls, plan_requests
from ragtriage.data.judge.requests import ClientSettings, read_prices
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.systems.builtin_pipeline import BuiltInSystem, PipelineSettings
from ragtriage.data.systems.builtin_readers import ClaudeReader, Extractive, Reader
from ragtriage.data.systems.http import open_system
from ragtriage.data.systems.runner import AskProgress
from ragtriage.data.systems.system import System, SystemLimits

BUILT_IN = "builtin"
MOST_ROWS = 20
STOPPED = 130

_OPTIONS = (
    click.option(
        "--system",
        "system_text",
        required=True,
        metavar="COMMAND|URL|builtin",
        help="System under test: a command (JSON in, JSON out), an http address, or the built-in one.",
    ),
    click.option(
        "--questions", required=True, metavar="NAME|FILE|RUN", help="A question set, a file, or a run."
    ),
    click.option("--project", default="", help="Project of the runs; by default named after the questions."),
    click.option(
        "--name", default="", metavar="TEXT", help="Name the runs apart, e.g. by the version of the system."
    ),
    click.option("--again", is_flag=True, help="Ask everything again, in runs of their own."),
    click.option("--limit", type=click.IntRange(1), help="Ask only this many questions, in order."),
    click.option(
        "--quality", default="", metavar="METRIC", help="Measure the arms by this metric, e.g. a judge's."
    ),
    KEEP_ALIVE,
    HEADER_ENV,
    click.option("--corpus", multiple=True, metavar="PATH", help="Built-in: what to search."),
    click.option("--model", help="Built-in: Claude model that answers; without it the best sentence does."),
    click.option(
        "--context-words",
        type=click.IntRange(0),
        default=0,
        help="Built-in: words of the context that are read; 0 for all.",
    ),
    BUDGET,
    TIMEOUT,
    concurrency_option(64, 4),
    DRY_RUN,
    YES,
    JSON,
)


def asking(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every experiment takes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Paraphrased:
    """Questions with paraphrases."""

    questions: Questions  # of the experiment
    plan: RequestPlan  # of what was, or would be, asked for them
    cost_usd: float = 0.0  # of the paraphrases, also where an earlier command asked for them


def _paraphrased(
    store: RunStore, questions: Questions, model_name: str, options: Mapping[str, Any]
) -> Paraphrased | None:
    """Let a model write paraphrases for the questions without any; None where the user does not agree.

    Raises:
        DataError: it stopped before the end; the same command goes on from there.
    """
    model = read_prices(store.workspace.root).model(model_name)
    settings = ClientSettings(model, concurrency=options["concurrency"], timeout=options["timeout"])
    asked = paraphrase_requests(questions, own_prompts(store.workspace))
    plan = plan_requests(store.ledger, settings, asked.requests)
    if options["dry_run"]:
        kept = kept_calls(store.ledger, settings, asked.requests)
        return Paraphrased(asked.written(kept, model.name), plan)
    if plan.calls and not agreed(_paraphrase_text(plan), not options["yes"]):
        return None
    bar = progress_bar("paraphrased", len(asked.requests), BAR_WITH_REST)
    with _stop_on_signal() as stop, bar as show:
        result = ask_requests(
            store.ledger,
            settings,
            asked.requests,
            options["budget"],
            lambda progress: show(progress.done),
            stop.is_set,
        )
    if result.stopped:
        raise DataError(f"paraphrases: {result.stopped}; the same command goes on from here")
    return Paraphrased(asked.written(result.calls, model.name), plan, result.cost_usd)


def _paraphrase_text(plan: RequestPlan) -> str:
    """Return the plan as text for a terminal."""
    cost = "not known, and no budget can hold" if plan.cost_usd is None else f"about ${plan.cost_usd:.4f}"
    lines = [
        f"paraphrases by {plan.model}",
        f"calls      {plan.calls:,} to make, {plan.cached:,} of {plan.requests:,} are there already",
        f"tokens     about {plan.input_tokens:,} in, {plan.output_tokens:,} out",
        f"cost       {cost}",
    ]
    note = "note       planned with plain rewordings until they are written"
    return "\n".join([*lines, note] if plan.calls else lines)


def ask_experiment(
    workspace: str | None, kind: str, parameters: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Plan an experiment, run it, and print what it shows; the same command continues one that was stopped.

    Of the parameters of the kind, those that are None or empty are left at their default; the options are
    those of `asking`.
    """
    store = open_store(workspace, create=True)
    questions = open_questions(store, options["questions"]).first(options["limit"])
    settings = {name: value for name, value in parameters.items() if value not in (None, (), [], "")}
    if "negatives" in settings:
        questions = with_negatives(questions, read_corpus(settings["negatives"]))
    system = _system(store, options)
    paraphrased = None
    try:
        if "paraphrase_model" in settings:
            paraphrased = _paraphrased(store, questions, settings["paraphrase_model"], options)
            if paraphrased is None:
                return
            questions = paraphrased.questions
        # the limits of the system; what paraphrases cost comes out of the same budget
        budget = options["budget"]
        if budget is not None and paraphrased is not None:
            budget = max(budget - paraphrased.cost_usd, 0.0)
        limits = SystemLimits(
            timeout_seconds=options["timeout"], concurrency=options["concurrency"], budget_usd=budget
        )
        planned = plan_experiment(
            kind_of(kind), questions, settings, system, options["project"], name=options["name"]
        )
        planned = _attempt(store, planned, system, limits, options)
        plan = estimate(planned, kept_replies(store, planned, system), limits, system)
        if not _agreed(planned, plan, options, paraphrased):
            return
        if plan.remaining and isinstance(system, BuiltInSystem):
            system.start()
        outcome = _run(store, planned, system, limits)
    finally:
        system.close()
    _print(store, outcome, options)
    sys.exit(STOPPED if outcome.stopped else 0)


def _attempt(
    store: RunStore,
    planned: PlannedExperiment,
    system: System,
    limits: SystemLimits,
    options: Mapping[str, Any],
) -> PlannedExperiment:
    """Return the attempt to begin or to continue: a new one on request, or where the system has changed."""
    newest = planned.newest(store.workspace)
    following = newest.experiment.attempt + is_kept(store.workspace, newest.experiment.experiment_id)
    if options["again"]:
        return planned.attempted(following)
    if options["dry_run"] or isinstance(system, BuiltInSystem):  # which is known down to its version
        return newest
    probe = probe_system(store, newest, system, limits)
    if probe.changed:
        return planned.attempted(following, probe.note)
    if probe.note:
        click.echo(f"note: {probe.note}", err=True)
    return newest


def _system(store: RunStore, options: Mapping[str, Any]) -> System:
    if options["system_text"].strip() != BUILT_IN:
        own = ("corpus", "model", "context_words")
        if given := next((name for name in own if options[name]), ""):
            named = f"--{given.replace('_', '-')}"
            raise DataError(f"{named} is for --system {BUILT_IN}; another system has its own settings")
        return open_system(options["system_text"], options["keep_alive"], options["header_env"])
    corpus = read_corpus(options["corpus"]) if options["corpus"] else None
    defaults = PipelineSettings(context_words=options["context_words"])
    return BuiltInSystem(_reader(store, options), corpus, defaults)


def _reader(store: RunStore, options: Mapping[str, Any]) -> Reader:
    if not options["model"]:
        return Extractive()
    model = read_prices(store.workspace.root).model(options["model"])
    settings = ClientSettings(model, concurrency=options["concurrency"], timeout=options["timeout"])
    return ClaudeReader(settings, store.ledger, own_prompts(store.workspace))


def _agreed(
    planned: PlannedExperiment,
    plan: ExperimentPlan,
    options: Mapping[str, Any],
    paraphrased: Paraphrased | None,
) -> bool:
    """Show the plan, and return whether to go on; at a terminal the user confirms."""
    if options["dry_run"]:
        if options["as_json"]:
            first = {} if paraphrased is None else {"paraphrases": paraphrased.plan.to_dict()}
            print_json({**first, "experiment": planned.experiment.to_dict(), "plan": plan.to_dict()})
        else:
            first_text = "" if paraphrased is None else f"{_paraphrase_text(paraphrased.plan)}\n"
            click.echo(f"{first_text}{_plan_text(planned, plan)}")
        return False
    return agreed(_plan_text(planned, plan), not options["yes"] and plan.remaining > 0)


def _plan_text(planned: PlannedExperiment, plan: ExperimentPlan) -> str:
    experiment = planned.experiment
    unknown = "not known before the first replies"
    no_cost = "not known: the system reports none" if plan.kept else unknown
    cost = no_cost if plan.cost_usd is None else f"about ${plan.cost_usd:.4f}"
    if plan.model_calls == 0:
        cost = "none: no model is asked"
    time = unknown if plan.seconds is None else f"about {tqdm.format_interval(plan.seconds)}"
    rewriting = f", {plan.rewriting_calls:,} of them to rewrite questions" if plan.rewriting_calls else ""
    sent = "prompts, questions and contexts" if plan.model_calls else "questions and contexts"
    lines = [
        f"experiment {experiment.experiment_id}: {planned.kind.title.lower()} on {plain(experiment.system)}",
        f"arms       {plan.arms}, with up to {plan.questions:,} questions of {plain(experiment.questions)}",
        f"requests   {plan.remaining:,} to ask, {plan.kept:,} of {plan.requests:,} are answered already",
        *([f"calls      {plan.model_calls:,} of the model{rewriting}"] if plan.model_calls else []),
        f"tokens     about {plan.tokens:,} sent ({sent})",
        f"cost       {cost}",
        f"time       {time}",
        f"runs       in project {plain(experiment.project)}",
    ]
    return "\n".join([*lines, *(f"note       {plain(note)}" for note in experiment.notes)])


def _run(
    store: RunStore, planned: PlannedExperiment, system: System, limits: SystemLimits
) -> ExperimentOutcome:
    with _stop_on_signal() as stop, progress_bar("asked", form=BAR_WITH_REST) as show:

        def watch(progress: AskProgress) -> None:
            cost = f", ${progress.cost_usd:.4f}" if progress.cost_usd else ""
            show(progress.done, f"{progress.failed:,} failed{cost}", progress.total)

        return run_experiment_job(store, planned, system, limits, watch, stop.is_set)


@contextmanager
def _stop_on_signal() -> Iterator[Event]:
    """Let the first Ctrl+C or SIGTERM end the asking after what is in flight; a second one ends at once."""
    stop = Event()

    def ask_to_stop(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    with on_signals(ask_to_stop):
        yield stop


def _print(store: RunStore, outcome: ExperimentOutcome, options: Mapping[str, Any]) -> None:
    done = outcome.experiment.run_ids
    summary = experiment_summary(store, outcome.experiment, options["quality"] if done else "")
    if options["as_json"]:
        progress = {**vars(outcome.progress), "stopped": outcome.stopped, "failures": dict(outcome.reasons)}
        print_json({**summary.to_dict(), "progress": progress})
        return
    click.echo(_summary_text(summary))
    for reason, times in outcome.reasons:
        click.echo(f"failed: {times:,} times: {plain(reason)}")
    if outcome.stopped:
        click.echo(f"Stopped: {plain(outcome.stopped)}. The same command goes on from here.", err=True)


def print_summary(summary: ExperimentSummary, as_json: bool) -> None:
    """Print what an experiment shows, as text or as JSON."""
    print_answer(summary.to_dict() if as_json else _summary_text(summary))


def _summary_text(summary: ExperimentSummary) -> str:
    """Return what an experiment shows as text for a terminal."""
    tables = [arm_table(summary), *(part.table for part in experiment_parts(summary) if part.table)]
    notes = "\n".join(wrapped(f"note: {plain(note)}", "  ") for note in summary.experiment.notes)
    headline = wrapped(plain(experiment_headline(summary).text))
    return "\n\n".join(filter(None, [headline, *(result_text(each, MOST_ROWS) for each in tables), notes]))
