"""The command `ragtriage dataset make`: a plan with its cost, the questions, and what the filters did."""

import sys
from collections.abc import Mapping
from typing import Any

import click

from ragtriage.dashboard.cli.options import (
    BASE_URL,
    BUDGET,
    DRY_RUN,
    JSON,
    MODEL,
    YES,
    concurrency_option,
)
from ragtriage.dashboard.cli.terminal import (
    BAR_WITH_REST,
    agreed,
    on_signals,
    plain,
    print_answer,
    progress_bar,
    row_table,
    wrapped,
)
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.api import open_store
from ragtriage.data.chunking.corpus import read_corpus
from ragtriage.data.datasets.coverage import USUAL_MIX
from ragtriage.data.datasets.dataset import create_dataset
from ragtriage.data.datasets.making.job import (
    MakePlan,
    MakeResult,
    make_dataset,
    plan_making,
    read_examples,
)
from ragtriage.data.datasets.making.make import FILTERS, MakeOptions, mix_text, read_mix
from ragtriage.data.datasets.making.requests import MakingPrompts
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.judge.evaluators import own_prompts
from ragtriage.data.judge.requests import ClientSettings, read_prices
from ragtriage.data.text.language import language_code
from ragtriage.metrics.number_text import count

STOPPED = 130
SHOWN = 60  # characters of a question that a filter rejected, and of the reason


@click.command("make")
@click.argument("corpus", nargs=-1, required=True)
@click.option("-n", "n", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Questions.")
@click.option("--name", default="", help="Name of the dataset; by default that of the corpus.")
@click.option(
    "--mix", default=mix_text(USUAL_MIX), show_default=True, help="Kinds of questions with their shares."
)
@click.option(
    "--examples", metavar="FILE", help="Real questions, whose style is followed: a question a line."
)
@click.option("--language", default="", help="Language of the questions; by default that of the corpus.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is drawn.")
@MODEL
@BUDGET
@concurrency_option(256, 8)
@click.option("--batch", is_flag=True, help="Use message batches: half the price, hours of time.")
@BASE_URL
@DRY_RUN
@YES
@JSON
@click.pass_obj
def make(workspace: str | None, /, corpus: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Let Claude write questions on CORPUS: verbatim gold, every filter counted, then read by people.

    CORPUS is a folder of .txt and .md files, such files, or JSONL of documents. The same command continues
    what was stopped.
    """
    sys.exit(_make(workspace, corpus, options, as_json))


def _make(workspace: str | None, paths: tuple[str, ...], given: Mapping[str, Any], as_json: bool) -> int:
    store = open_store(workspace, create=True)
    folder = store.workspace
    windows = CorpusWindows(read_corpus(paths))
    language = language_code(given["language"]) if given["language"] else ""
    if language is None:
        raise click.BadParameter(
            f"{given['language']!r}; accepted: a language by its name or code, as in German or de",
            param_hint="--language",
        )
    examples = read_examples(folder, given["examples"], given["seed"]) if given["examples"] else ()
    options = MakeOptions(given["n"], read_mix(given["mix"]), given["seed"], language, examples)
    model = read_prices(folder.root).model(given["model"])
    settings = ClientSettings(model, given["base_url"], given["concurrency"])
    prompts = MakingPrompts.of(own_prompts(folder))
    plan = plan_making(folder, windows, options, settings, prompts, given["batch"])
    if given["dry_run"]:
        print_answer(plan.to_dict() if as_json else _plan_text(plan))
        return 0
    if not agreed(_plan_text(plan), not given["yes"]):
        return 0
    dataset = create_dataset(folder, given["name"] or windows.corpus.name)
    asked_to_stop: list[bool] = []

    def stop(*_: object) -> None:
        if asked_to_stop:
            raise KeyboardInterrupt
        asked_to_stop.append(True)

    with on_signals(stop), progress_bar("asked", plan.total_calls, BAR_WITH_REST) as show:

        def watch(progress: Mapping[str, Any]) -> None:
            cost = f", ${progress['cost_usd']:.4f}" if progress.get("cost_usd") else ""
            state = f"{progress['stage']}, {progress['accepted']:,} of {progress['asked']:,} questions{cost}"
            show(progress["done"], state, progress["total"])

        result = make_dataset(
            dataset,
            windows,
            options,
            settings,
            prompts,
            given["budget"],
            given["batch"],
            plan.total_calls,
            watch,
            lambda: bool(asked_to_stop),
        )
    print_answer(_answer(result) if as_json else _result_text(result))
    if result.message and not as_json:
        click.echo(f"Stopped: {plain(result.message)}. {_goes_on(result)}", err=True)
    failed = result.message and not (result.made.out_of_budget and any(result.made.facts["got"].values()))
    return STOPPED if asked_to_stop else 2 if failed else 0


def _goes_on(result: MakeResult) -> str:
    if result.made.out_of_budget:
        return "The same command with a larger --budget goes on from here."
    return "The same command goes on from here; nothing is asked twice."


def _plan_text(plan: MakePlan) -> str:
    cost = "not known, and no budget can hold" if plan.cost_usd is None else f"about ${plan.cost_usd:.2f}"
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in plan.kinds.items())
    most, least = max(plan.quotas.values()), min(plan.quotas.values())
    spread = f"{least:,} to {most:,} questions each" if most > least else f"{count(most, 'question')} each"
    none = plan.documents - len(plan.quotas)
    left_out = f", {plan.left_out:,} left out (repeated or too short)" if plan.left_out else ""
    calls = plan.calls
    lines = [
        f"{plan.asked:,} questions by {plan.model}",
        f"kinds      {kinds}",
        f"documents  {len(plan.quotas):,} of {plan.documents:,}, {spread}"
        + (f"; {none:,} get none" if none else ""),
        f"passages   {plan.passages:,} to write from{left_out}",
        f"calls      {calls['write']:,} to write ({plan.cached:,} cached), about "
        f"{calls['alone']:,} to check that questions stand alone, about {calls['read']:,} to read blind",
        f"tokens     about {plan.input_tokens:,} in, {plan.output_tokens:,} out",
        f"cost       {cost}",
    ]
    short = ", ".join(f"{kind} {n:,}" for kind, n in plan.short.items())
    return "\n".join([*lines, *([f"short      no passages for {short}"] if short else [])])


def _answer(result: MakeResult) -> dict[str, Any]:
    return {
        "dataset": result.dataset.dataset_id,
        "name": result.dataset.name,
        "batch": result.batch and result.batch.batch_id,
        "added": 0 if result.batch is None else sum(not item.rejected_by for item in result.batch.items),
        "stopped": result.message,
        **_accounted(result),
    }


def _accounted(result: MakeResult) -> dict[str, Any]:
    facts = dict(result.made.facts)
    accepted = sum(facts["got"].values())
    per_question = {
        name: facts[name] / accepted if accepted and facts[name] is not None else None
        for name in ("calls", "input_tokens", "output_tokens", "cost_usd")
    }
    return {**facts, "accepted": accepted, "per_accepted_question": per_question}


def _result_text(result: MakeResult) -> str:
    facts = _accounted(result)
    kinds = [{"kind": kind, "asked": n, "got": facts["got"][kind]} for kind, n in facts["mix"].items()]
    filters = [
        {"filter": FILTERS[key], "passed": passed, "rejected": rejected, "e.g.": _example(facts, key)}
        for key, (passed, rejected) in facts["filters"].items()
    ]
    parts = [wrapped(headline(facts)), row_table(kinds)]
    if filters:
        parts.append(row_table(filters))
    parts.append(wrapped(_cost_text(facts)))
    if result.batch is not None:
        parts.append(
            "Next: read them on the page Datasets (`ragtriage serve`): only questions that people have read "
            "are golden."
        )
    elif not result.message:
        parts.append(f"Nothing is new: dataset {plain(result.dataset.name)} has these questions already.")
    return "\n\n".join(parts)


def headline(facts: Mapping[str, Any]) -> str:
    """Return what came of it in a sentence, with what is short."""
    short = ", ".join(f"{kind} {facts['got'][kind]:,} of {facts['mix'][kind]:,}" for kind in facts["short"])
    got = f"Asked {facts['asked']:,}, got {facts['accepted']:,}"
    return f"{got}: {short}." if short else f"{got}."


def _example(facts: Mapping[str, Any], key: str) -> str:
    examples = facts["filter_examples"].get(key, ())
    if not examples:
        return ""
    question, reason = (shorten(examples[0][name], SHOWN) for name in ("question", "reason"))
    return f"{question} ({reason})"


def _cost_text(facts: Mapping[str, Any]) -> str:
    each = facts["per_accepted_question"]
    cost = "" if facts["cost_usd"] is None else f", ${facts['cost_usd']:.4f}"
    total = (
        f"{facts['calls']:,} calls, {facts['input_tokens']:,} tokens in, {facts['output_tokens']:,} out{cost}"
    )
    if each["calls"] is None:
        return f"{total}."
    return (
        f"{total}: {each['calls']:.1f} calls and {each['input_tokens']:,.0f} tokens in per accepted question."
    )
