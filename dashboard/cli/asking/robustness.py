"""The experiments on what a system withstands: text planted in its documents, and questions asked again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import orjson

from ragtriage.dashboard.cli.asking.asking import ask_experiment, asking
from ragtriage.dashboard.cli.options import JSON, WholeNumbers, key_value_pairs
from ragtriage.dashboard.cli.terminal import plain, print_json, table, wrapped
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.api import open_store
from ragtriage.data.errors import DataError
from ragtriage.data.experiments.injection import poisoned_share
from ragtriage.data.experiments.planted_text import HIDINGS, PLACES
from ragtriage.data.experiments.questions import open_questions
from ragtriage.data.experiments.stability import repeat_flips
from ragtriage.data.experiments.summary import json_values
from ragtriage.metrics.number_text import count, interval_text, number, percent

MOST_LISTED = 20


@click.command()
@asking
@click.option("--documents", type=click.IntRange(1, 1000), help="Documents in a context.  [default: 3]")
@click.option(
    "--ranks", type=WholeNumbers(1, "1,3"), help="Ranks of the poisoned document.  [default: 1 and the last]"
)
@click.option(
    "--place",
    "places",
    multiple=True,
    type=click.Choice(PLACES),
    help="Where in the document the instruction stands.",
)
@click.option(
    "--hiding", "hidings", multiple=True, type=click.Choice([*HIDINGS]), help="How the instruction is hidden."
)
@click.option("--full", is_flag=True, help="Every combination, not one thing at a time.")
@click.option(
    "--defence",
    multiple=True,
    callback=key_value_pairs,
    metavar="KEY=VALUE",
    help="Setting sent with each request that turns on your defence: every arm with and without it.",
)
@click.option("--attacks", metavar="FILE", help="JSONL: `instruction`, `category`; by default a canary.")
@click.pass_obj
def injection(
    workspace: str | None, /, full: bool, defence: Any, attacks: str | None, **options: Any
) -> None:
    """Plant an instruction in a document: does the system follow it, and is the task still done?

    Needs questions with the text of a gold passage. A question with `poisoned_documents` and a
    `target_answer` gets these documents in its context as well.
    """
    given = {name: options.pop(name) for name in ("documents", "ranks", "places", "hidings")}
    parameters = {
        **given,
        "full": full or None,
        "defence": dict(defence) or None,
        "attacks": _attacks(attacks) if attacks else None,
    }
    ask_experiment(workspace, "injection", parameters, options)


def _attacks(path: str) -> list[dict[str, str]]:
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); accepted: a JSONL file") from error
    listed = []
    for at, line in enumerate(lines, start=1):
        try:
            entry = orjson.loads(line)
            instruction, category = entry["instruction"], entry["category"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            instruction = category = None
        if not isinstance(instruction, str) or not isinstance(category, str):
            raise DataError(
                f"{path}:{at}: is no attack; accepted: an object with texts `instruction` and `category`"
            )
        listed.append({"instruction": instruction, "category": category})
    if not listed:
        raise DataError(f"{path}: holds no attack; accepted: a JSON object a line")
    return listed


@click.command()
@asking
@click.option(
    "--repeats", type=click.IntRange(0, 100), help="Times a question is asked as it stands.  [default: 3]"
)
@click.option("--shuffles", type=click.IntRange(0, 100), help="Orders of its documents to try.  [default: 3]")
@click.option("--seed", type=int, help="Seed of these orders.  [default: 0]")
@click.option("--no-rewording", is_flag=True, help="Do not ask in other words.")
@click.option(
    "--paraphrase-model", metavar="MODEL", help="Claude model that paraphrases where a question has none."
)
@click.pass_obj
def stability(workspace: str | None, /, no_rewording: bool, **options: Any) -> None:
    """Ask again, in other words and with shuffled documents: which verdicts flip?

    A question's `paraphrases` are used where it has any, else those that --paraphrase-model writes; others
    are reworded plainly. The result names which is which.
    """
    if no_rewording and options["paraphrase_model"]:
        raise click.UsageError("--no-rewording and --paraphrase-model: accepted: one of them")
    given = {name: options.pop(name) for name in ("repeats", "shuffles", "seed", "paraphrase_model")}
    ask_experiment(workspace, "stability", {**given, "reworded": False if no_rewording else None}, options)


@click.command()
@click.argument("run_name", metavar="RUN")
@click.option("--metric", required=True, help="Metric whose value decides.")
@click.option("--passes-from", type=float, default=0.5, show_default=True, help="Value that passes.")
@JSON
@click.pass_obj
def flips(workspace: str | None, run_name: str, metric: str, passes_from: float, as_json: bool) -> None:
    """Show the questions of a run with repeats whose verdict is not always the same."""
    store = open_store(workspace)
    scored = store.scored(store.find(run_name))
    if metric not in scored.metrics:
        known = ", ".join(sorted(scored.metrics)[:20])
        raise DataError(f"run {run_name}: no metric {metric!r}; accepted: {known}")
    found = repeat_flips(scored, metric, passes_from)
    rate = found.flips.rate
    if as_json:
        values = {
            "metric": metric,
            "passes_from": passes_from,
            "repeats": found.variants,
            "compared": found.flips.compared,
            "rate": vars(rate),
            "always": found.flips.always,
            "never": found.flips.never,
            "questions": list(found.questions),
        }
        print_json(json_values(values))
        return
    listed = ", ".join(plain(name) for name in found.questions[:MOST_LISTED])
    click.echo(
        wrapped(
            f"{percent(rate.mean)} of {count(found.flips.compared, 'question')} flip ({span(rate)}): asked "
            f"up to {found.variants} times, {metric} of {passes_from:g} or more passes. Always right "
            f"{found.flips.always:,}, never {found.flips.never:,}."
        )
    )
    if listed:
        click.echo(wrapped(f"Flips: {listed}{' ...' if len(found.questions) > MOST_LISTED else ''}"))


@click.command()
@click.argument("run_name", metavar="RUN")
@click.argument("questions", metavar="QUESTIONS")
@click.option("--k", type=click.IntRange(1, 1000), default=5, show_default=True, help="Number of top ranks.")
@JSON
@click.pass_obj
def poisoned(workspace: str | None, run_name: str, questions: str, k: int, as_json: bool) -> None:
    """Show how many poisoned documents a run brought into its top k.

    QUESTIONS has `poisoned_documents` for the questions of RUN; they are known by their text.
    """
    store = open_store(workspace)
    share = poisoned_share(store.scored(store.find(run_name)), open_questions(store, questions), k)
    if as_json:
        print_json(json_values({"k": k, **asdict(share)}))
        return
    rows = [
        [name, number(mean.mean, 3), interval_text(mean.low, mean.high, 3), f"{mean.n_scored:,}"]
        for name, mean in (("precision", share.precision), ("recall", share.recall), ("F1", share.f1))
    ]
    click.echo(table([f"poisoned in the top {k}", "mean", "95 % interval", "questions"], rows))
