"""The experiment command: its kinds, and what was tried so far."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import orjson

from ragtriage.dashboard.cli.asking.asking import ask_experiment, asking, print_summary
from ragtriage.dashboard.cli.options import (
    JSON,
    RUN,
    YES,
    WholeHelp,
    WholeNumbers,
    key_value_pairs,
    with_default,
)
from ragtriage.dashboard.cli.terminal import plain, print_json, row_table, wrapped
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.api import open_store
from ragtriage.data.errors import DataError
from ragtriage.data.experiments.experiment import delete_experiment, experiments, find_experiment
from ragtriage.data.experiments.injection import poisoned_share
from ragtriage.data.experiments.languages import run_language_experiment
from ragtriage.data.experiments.parallel_questions import read_multilingual
from ragtriage.data.experiments.parsed_pages import parsed_pages, read_pages
from ragtriage.data.experiments.parsing import run_parsing_experiment, table_recall
from ragtriage.data.experiments.planted_text import HIDINGS, PLACES
from ragtriage.data.experiments.questions import open_questions
from ragtriage.data.experiments.registry import KINDS, experiment_summary, json_values
from ragtriage.data.experiments.stability import repeat_flips
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.result_table import Number, Row, ends_of
from ragtriage.metrics.statistics.intervals import Interval


@click.group(cls=WholeHelp)
def experiment() -> None:
    """Ask a system the same questions under changed conditions, and test what the change did.

    A system is a command (one JSON object in, one out), an http address, or the built-in pipeline. Each
    experiment makes paired runs; the same command continues one that was stopped, if the system is the same.
    """


class Shares(click.ParamType[Any]):
    """Shares from 0 to below 1, separated by commas; they come sorted, each once."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the shares."""
        try:
            shares = tuple(sorted({float(part) for part in str(value).split(",")}))
        except ValueError:
            shares = (1.0,)
        if not all(0 <= share < 1 for share in shares):
            self.fail(f"{value!r}; accepted: shares from 0 to below 1, as in 0,0.4,0.8", param, ctx)
        return shares


def _factors(
    _: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, tuple[str | int | float, ...]]:
    """Read the NAME=A,B texts of an option; what looks like a number is one."""
    factors = {}
    for text in texts:
        name, equals, levels = text.partition("=")
        values = tuple(_level(level.strip()) for level in levels.split(",") if level.strip())
        if not equals or not name.strip() or not values:
            raise click.BadParameter(f"{text!r}; accepted: {parameter.metavar}, as in top_k=3,5,10")
        factors[name.strip()] = values
    return factors


def _level(text: str) -> str | int | float:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


@experiment.command()
@asking
@click.option("--documents", type=click.IntRange(3, 1000), help="Documents in a context.  [default: 10]")
@click.option(
    "--ranks",
    type=WholeNumbers(1, "1,5,10"),
    help="Ranks of the gold document.  [default: five, evenly spread]",
)
@click.pass_obj
def position(
    workspace: str | None, /, documents: int | None, ranks: tuple[int, ...] | None, **options: Any
) -> None:
    """Put the gold document first, in the middle, last: is it lost in the middle?

    Needs questions with the text of a gold passage. Distractors are drawn from the other questions' passages;
    closed book and the gold document alone are asked as floor and ceiling.
    """
    ask_experiment(workspace, "position", {"documents": documents, "ranks": ranks}, options)


@experiment.command()
@asking
@click.option("--documents", type=click.IntRange(2, 1000), help="Documents in a context.  [default: 5]")
@click.option("--shares", type=Shares(), help="Shares of noise in a context.  [default: 0,0.2,0.4,0.6,0.8]")
@click.option(
    "--negatives",
    multiple=True,
    metavar="PATH",
    help="Documents that hold no answer, to be the noise: a folder or a file.",
)
@click.pass_obj
def noise(
    workspace: str | None,
    /,
    documents: int | None,
    shares: tuple[float, ...] | None,
    negatives: tuple[str, ...],
    **options: Any,
) -> None:
    """Add documents that do not help, take the gold one away, and alter it.

    Needs questions with the text of a gold passage. Noise is what --negatives or the questions' `negatives`
    hold, else passages of other questions. Without the gold document the system should decline; from an
    altered one it shows whether it follows the context or its own knowledge.
    """
    parameters = {"documents": documents, "shares": shares, "negatives": list(negatives)}
    ask_experiment(workspace, "noise", parameters, options)


@experiment.command()
@asking
@click.pass_obj
def sources(workspace: str | None, /, **options: Any) -> None:
    """Give the document alone, a live state alone, and both: which questions need both?

    Needs questions with the text of a gold passage and with a `state`, as text or an object: what a live
    source said. A system gets it as the last of its contexts.
    """
    ask_experiment(workspace, "sources", {}, options)


@experiment.command()
@asking
@click.option(
    "--factor",
    "factors",
    multiple=True,
    required=True,
    callback=_factors,
    metavar="NAME=A,B",
    help="A setting with its levels, the base's first. Built-in: chunking, chunk_size, chunk_overlap, "
    "retriever, reranker, top_k, query_rewriting, context_words.",
)
@click.option("--one-at-a-time", is_flag=True, help="Change one setting at a time from the base.")
@click.pass_obj
def arms(workspace: str | None, /, factors: dict[str, Any], one_at_a_time: bool, **options: Any) -> None:
    """Try settings of a pipeline: every combination, or one at a time from a base.

    Each arm is a run with its settings, so Compare shows their effects and Chunking its grids.
    """
    ask_experiment(workspace, "arms", {"factors": factors, "one_at_a_time": one_at_a_time or None}, options)


MOST_LISTED = 20


@experiment.command()
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
    help="Position of the instruction in the document.",
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
    parameters = {
        **{name: options.pop(name) for name in ("documents", "ranks", "places", "hidings")},
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
                f"{path}:{at}: is not an attack; accepted: an object with texts `instruction` and `category`"
            )
        listed.append({"instruction": instruction, "category": category})
    if not listed:
        raise DataError(f"{path}: holds no attack; accepted: a JSON object a line")
    return listed


@experiment.command()
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
    parameters = {name: options.pop(name) for name in ("repeats", "shuffles", "seed", "paraphrase_model")}
    parameters["reworded"] = False if no_rewording else None
    ask_experiment(workspace, "stability", parameters, options)


@experiment.command()
@RUN
@click.option("--metric", required=True, help="Metric whose value decides.")
@with_default("--passes-from", 0.5, "Value that passes.", type=float)
@JSON
@click.pass_obj
def flips(workspace: str | None, run_name: str, metric: str, passes_from: float, as_json: bool) -> None:
    """Show the questions of a run with repeats whose verdict is not always the same."""
    store = open_store(workspace)
    scored = store.scored(store.find(run_name))
    if metric not in scored.metrics:
        known = ", ".join(sorted(scored.metrics)[:20])
        raise DataError(f"run {run_name}: no metric {metric!r}; accepted: {known}")
    repeated = repeat_flips(scored, metric, passes_from)
    counts, rate = repeated.flips, repeated.flips.rate
    if as_json:
        values = {
            "metric": metric,
            "passes_from": passes_from,
            "repeats": repeated.variants,
            "compared": counts.compared,
            "rate": vars(rate),
            "always": counts.always,
            "never": counts.never,
            "questions": list(repeated.questions),
        }
        print_json(json_values(values))
        return
    sentence = (
        f"{percent(rate.mean)} of {count(counts.compared, 'question')} flip ({span(rate)}): asked up to "
        f"{repeated.variants} times, {metric} of {passes_from:g} or more passes. Always right "
        f"{counts.always:,}, never {counts.never:,}."
    )
    click.echo(wrapped(sentence))
    named = ", ".join(plain(name) for name in repeated.questions[:MOST_LISTED])
    if named:
        click.echo(wrapped(f"Flips: {named}{' ...' if len(repeated.questions) > MOST_LISTED else ''}"))


@experiment.command()
@RUN
@click.argument("questions", metavar="QUESTIONS")
@with_default("--k", 5, "Number of top ranks.", type=click.IntRange(1, 1000))
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
    means = {"precision": share.precision, "recall": share.recall, "F1": share.f1}
    click.echo(_mean_table(f"poisoned in the top {k}", means, "mean"))


def _mean_table(title: str, means: Mapping[str, Interval], measured: str) -> str:
    rows: list[Row] = [
        {title: name, measured: Number(mean.mean), "95 % interval": ends_of(mean), "questions": mean.n_scored}
        for name, mean in means.items()
    ]
    return row_table(rows)


@experiment.command()
@click.argument("questions", metavar="QUESTIONS")
@click.option("--corpus", required=True, metavar="FILE", help="JSONL: id, text, language of each passage.")
@click.option("--run", "run_name", metavar="RUN", help="Measure what this run retrieved from all passages.")
@click.option("--project", default="", help="Project of the runs; by default named after the questions.")
@JSON
@click.pass_obj
def languages(
    workspace: str | None, questions: str, corpus: str, run_name: str | None, project: str, as_json: bool
) -> None:
    """Retrieve across languages: questions of each against passages of each, and of all at once.

    QUESTIONS is JSONL with question_id, question, relevant (ids of the passages in every language) and
    language; without a language it is told from the text. Without --run the built-in BM25 searches.
    """
    store = open_store(workspace, create=True)
    stored = store.scored(store.find(run_name)) if run_name else None
    record = run_language_experiment(store, read_multilingual(questions, corpus), project, stored)
    print_summary(experiment_summary(store, record), as_json)


@experiment.command()
@click.argument("parsed", metavar="PARSED")
@click.argument("gold", metavar="GOLD")
@click.option("--project", default="", help="Project of the runs; by default named after the true pages.")
@JSON
@click.pass_obj
def parsing(workspace: str | None, parsed: str, gold: str, project: str, as_json: bool) -> None:
    """Score parsed pages against true ones: text, tables, cells and headings.

    PARSED and GOLD are files or folders of Markdown or HTML, a page each, named alike on both sides; where
    PARSED has subfolders, each is a parser. Every parser becomes a run with a case for each page.
    """
    store = open_store(workspace, create=True)
    pages, parsers = read_pages(gold), parsed_pages(parsed)
    record = run_parsing_experiment(store, parsers, pages, Path(gold).resolve().stem, project)
    print_summary(experiment_summary(store, record), as_json)


@experiment.command()
@RUN
@click.argument("gold", metavar="GOLD")
@with_default("--metric", "recall@5", "Retrieval metric of the run.")
@JSON
@click.pass_obj
def tables(workspace: str | None, run_name: str, gold: str, metric: str, as_json: bool) -> None:
    """Show whether a run finds gold in tables as often as gold in text.

    GOLD holds the true pages, named as the gold documents of RUN. A question's gold sits in a table where
    its reference answer stands in a cell and nowhere in the text.
    """
    store = open_store(workspace)
    recall = table_recall(store.scored(store.find(run_name)), read_pages(gold), metric)
    if as_json:
        print_json(json_values(asdict(recall)))
        return
    click.echo(_mean_table("gold", {"in a table": recall.in_table, "in the text": recall.in_text}, metric))
    if recall.unknown:
        left_out = f"{count(recall.unknown, 'question')} left out: no reference answer on a true page."
        click.echo(wrapped(left_out))


@experiment.command(name="list")
@JSON
@click.pass_obj
def list_experiments(workspace: str | None, as_json: bool) -> None:
    """List the experiments of the workspace, the newest first."""
    kept = experiments(open_store(workspace).workspace)
    if as_json:
        print_json([{**entry.to_dict(), "state": entry.state} for entry in kept])
        return
    if not kept:
        click.echo("No experiment yet. `ragtriage experiment position --help` says how one is begun.")
        return
    rows: list[Row] = [
        {
            "experiment": entry.experiment_id,
            "kind": KINDS[entry.kind].title if entry.kind in KINDS else entry.kind,
            "questions": entry.questions,
            "n": entry.n_questions,
            "arms done": f"{len(entry.run_ids)} / {len(entry.arms)}",
            "system": entry.system,
        }
        for entry in kept
    ]
    click.echo(row_table(rows))


@experiment.command()
@click.argument("identifier", metavar="ID")
@click.option("--quality", default="", metavar="METRIC", help="Measure the arms by this metric.")
@JSON
@click.pass_obj
def show(workspace: str | None, identifier: str, quality: str, as_json: bool) -> None:
    """Show what an experiment found: each arm, the effect, and its test."""
    store = open_store(workspace)
    record = find_experiment(store.workspace, identifier)
    print_summary(experiment_summary(store, record, quality), as_json)


@experiment.command()
@click.argument("identifier", metavar="ID")
@YES
@click.pass_obj
def delete(workspace: str | None, identifier: str, yes: bool) -> None:
    """Delete an experiment's record and its replies; its runs stay."""
    store = open_store(workspace)
    if not yes:
        click.confirm(f"Delete experiment {plain(identifier)}?", abort=True)
    delete_experiment(store.workspace, identifier)
    click.echo(f"deleted {plain(identifier)}")
