"""What the commands that run an experiment share: options, system, plan, progress, and what came of it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event
from typing import Any

import click
from tqdm import tqdm

from ragtriage.dashboard.cli.asking.paraphrasing import Paraphrased, paraphrase, paraphrase_text
from ragtriage.dashboard.cli.options import JSON, FiniteFloat, key_value_pairs
from ragtriage.dashboard.cli.terminal import plain, print_json, result_text, wrapped
from ragtriage.dashboard.experiments.arm_results import arm_table
from ragtriage.dashboard.experiments.registry import experiment_headline, experiment_parts
from ragtriage.data.api import open_store
from ragtriage.data.chunking.corpus import read_corpus
from ragtriage.data.errors import DataError
from ragtriage.data.experiments.plan import ExperimentPlan, PlannedExperiment, estimate, plan_experiment
from ragtriage.data.experiments.questions import Questions, open_questions
from ragtriage.data.experiments.registry import kind_of
from ragtriage.data.experiments.run_experiment import ExperimentOutcome, kept_replies, run_experiment
from ragtriage.data.experiments.summary import ExperimentSummary, experiment_summary
from ragtriage.data.judge.evaluators import own_prompts
from ragtriage.data.judge.messages import ClientSettings
from ragtriage.data.judge.prices import read_prices
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.systems.builtin.index import PipelineSettings
from ragtriage.data.systems.builtin.pipeline import BuiltInSystem
from ragtriage.data.systems.builtin.readers import ClaudeReader, Extractive, Reader
from ragtriage.data.systems.http import open_system
from ragtriage.data.systems.runner import AskProgress
from ragtriage.data.systems.system import System, SystemLimits

BUILT_IN = "builtin"
BAR = "{desc}: {percentage:3.0f}%|{bar}| {n}/{total} [{elapsed}<{remaining}{postfix}]"
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
    click.option("--limit", type=click.IntRange(1), help="Ask only this many questions, in order."),
    click.option(
        "--quality", default="", metavar="METRIC", help="Measure the arms by this metric, e.g. a judge's."
    ),
    click.option(
        "--keep-alive", is_flag=True, help="The command stays and answers one JSON line for each line."
    ),
    click.option(
        "--header-env",
        multiple=True,
        callback=key_value_pairs,
        metavar="HEADER=VARIABLE",
        help="Send a header with the value of an environment variable, e.g. Authorization=API_TOKEN.",
    ),
    click.option("--corpus", multiple=True, metavar="PATH", help="Built-in: what to search."),
    click.option("--model", help="Built-in: Claude model that answers; without it the best sentence does."),
    click.option(
        "--context-words",
        type=click.IntRange(0),
        default=0,
        help="Built-in: words of the context that are read; 0 for all.",
    ),
    click.option(
        "--budget", type=FiniteFloat(0, min_open=True), metavar="USD", help="The most that may be spent."
    ),
    click.option(
        "--timeout",
        type=FiniteFloat(0, min_open=True),
        default=60.0,
        show_default=True,
        metavar="S",
        help="Seconds to wait for one answer.",
    ),
    click.option(
        "--concurrency", type=click.IntRange(1, 64), default=4, show_default=True, help="Requests at a time."
    ),
    click.option("--dry-run", is_flag=True, help="Show the plan; ask nothing."),
    click.option("--yes", is_flag=True, help="Do not ask for confirmation."),
    JSON,
)


def asking(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every experiment takes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def ask_experiment(
    workspace: str | None, kind: str, parameters: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Plan an experiment, run it, and print what it shows; the same command continues one that was stopped.

    Args:
        workspace: its folder.
        kind: of the experiment.
        parameters: of the kind, without those that are left at their default.
        options: of `asking`.
    """
    store = open_store(workspace, create=True)
    questions = open_questions(store, options["questions"]).first(options["limit"])
    given = {name: value for name, value in parameters.items() if value not in (None, (), "")}
    system = _system(store, options)
    paraphrased = None
    try:
        if "paraphrase_model" in given:
            paraphrased = _paraphrased(store, questions, given["paraphrase_model"], options)
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
        planned = plan_experiment(kind_of(kind), questions, given, system, options["project"])
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


def _paraphrased(
    store: RunStore, questions: Questions, model: str, options: Mapping[str, Any]
) -> Paraphrased | None:
    with _stop_on_signal() as stop:
        return paraphrase(store, questions, model, options, stop.is_set)


def _system(store: RunStore, options: Mapping[str, Any]) -> System:
    if options["system_text"].strip() != BUILT_IN:
        own = {
            "--corpus": options["corpus"],
            "--model": options["model"],
            "--context-words": options["context_words"],
        }
        named = next((name for name, value in own.items() if value), None)
        if named:
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
        before = None if paraphrased is None else paraphrased.plan
        if options["as_json"]:
            first = {} if before is None else {"paraphrases": before.to_dict()}
            print_json({**first, "experiment": planned.experiment.to_dict(), "plan": plan.to_dict()})
        else:
            click.echo("\n".join([*([paraphrase_text(before)] if before else []), _plan_text(planned, plan)]))
        return False
    click.echo(_plan_text(planned, plan), err=True)
    must_confirm = sys.stdin.isatty() and not options["yes"] and plan.remaining
    return not must_confirm or click.confirm("Continue?", err=True)


def _plan_text(planned: PlannedExperiment, plan: ExperimentPlan) -> str:
    experiment = planned.experiment
    unknown = "not known before the first replies"
    no_cost = "not known: the system reports none" if plan.kept else unknown
    cost = no_cost if plan.cost_usd is None else f"about ${plan.cost_usd:.4f}"
    if plan.model_calls == 0:
        cost = "none: no model is asked"
    time = unknown if plan.seconds is None else f"about {tqdm.format_interval(plan.seconds)}"
    sent = "prompts, questions and contexts" if plan.model_calls else "questions and contexts"
    lines = [
        f"experiment {experiment.experiment_id}: {planned.kind.title.lower()} on {plain(experiment.system)}",
        f"arms       {plan.arms}, with up to {plan.questions:,} questions of {plain(experiment.questions)}",
        f"requests   {plan.remaining:,} to ask, {plan.kept:,} of {plan.requests:,} are answered already",
        *([f"calls      {_calls(plan)}"] if plan.model_calls else []),
        f"tokens     about {plan.tokens:,} sent ({sent})",
        f"cost       {cost}",
        f"time       {time}",
        f"runs       in project {plain(experiment.project)}",
    ]
    return "\n".join([*lines, *(f"note       {plain(note)}" for note in experiment.notes)])


def _calls(plan: ExperimentPlan) -> str:
    rewriting = f", {plan.rewriting_calls:,} of them to rewrite questions" if plan.rewriting_calls else ""
    return f"{plan.model_calls:,} of the model{rewriting}"


def _run(
    store: RunStore, planned: PlannedExperiment, system: System, limits: SystemLimits
) -> ExperimentOutcome:
    with (
        _stop_on_signal() as stop,
        tqdm(bar_format=BAR, desc="asked", disable=not sys.stderr.isatty()) as bar,
    ):

        def watch(progress: AskProgress) -> None:
            bar.total, bar.n = progress.total, progress.done
            cost = f", ${progress.cost_usd:.4f}" if progress.cost_usd else ""
            bar.set_postfix_str(f"{progress.failed:,} failed{cost}", refresh=False)
            bar.refresh()

        return run_experiment(store, planned, system, limits, watch, stop.is_set)


@contextmanager
def _stop_on_signal() -> Iterator[Event]:
    """Let the first Ctrl+C or SIGTERM end the asking after what is in flight; a second one ends at once."""
    stop = Event()

    def ask_to_stop(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, ask_to_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
    if as_json:
        print_json(summary.to_dict())
    else:
        click.echo(_summary_text(summary))


def _summary_text(summary: ExperimentSummary) -> str:
    """Return what an experiment shows as text for a terminal."""
    tables = [arm_table(summary), *(part.table for part in experiment_parts(summary) if part.table)]
    notes = [wrapped(f"note: {plain(note)}", "  ") for note in summary.experiment.notes]
    sections = [
        wrapped(plain(experiment_headline(summary).text)),
        *(result_text(each, MOST_ROWS) for each in tables),
    ]
    return "\n\n".join([*sections, *(["\n".join(notes)] if notes else [])])
