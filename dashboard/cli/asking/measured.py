"""The experiments that ask no system: retrieval across languages, and parsed pages against true ones."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from ragtriage.dashboard.cli.asking.asking import print_summary
from ragtriage.dashboard.cli.options import JSON
from ragtriage.dashboard.cli.terminal import print_json, table, wrapped
from ragtriage.data.api import open_store
from ragtriage.data.experiments.languages import run_language_experiment
from ragtriage.data.experiments.parallel_questions import read_multilingual
from ragtriage.data.experiments.parsed_pages import parsed_pages, read_pages
from ragtriage.data.experiments.parsing import run_parsing_experiment, table_recall
from ragtriage.data.experiments.summary import experiment_summary, json_values
from ragtriage.metrics.number_text import count, interval_text, number


@click.command()
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
    experiment = run_language_experiment(store, read_multilingual(questions, corpus), project, stored)
    summary = experiment_summary(store, experiment)
    print_summary(summary, as_json)


@click.command()
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
    experiment = run_parsing_experiment(store, parsers, pages, Path(gold).resolve().stem, project)
    summary = experiment_summary(store, experiment)
    print_summary(summary, as_json)


@click.command()
@click.argument("run_name", metavar="RUN")
@click.argument("gold", metavar="GOLD")
@click.option("--metric", default="recall@5", show_default=True, help="Retrieval metric of the run.")
@JSON
@click.pass_obj
def tables(workspace: str | None, run_name: str, gold: str, metric: str, as_json: bool) -> None:
    """Show whether a run finds gold in tables as often as gold in text.

    GOLD holds the true pages, named as the gold documents of RUN. A question's gold sits in a table where
    its reference answer stands in a cell and nowhere in the text.
    """
    store = open_store(workspace)
    found = table_recall(store.scored(store.find(run_name)), read_pages(gold), metric)
    if as_json:
        print_json(json_values(asdict(found)))
        return
    rows = [
        [name, number(mean.mean, 3), interval_text(mean.low, mean.high, 3), f"{mean.n_scored:,}"]
        for name, mean in (("in a table", found.in_table), ("in the text", found.in_text))
    ]
    click.echo(table(["gold", metric, "95 % interval", "questions"], rows))
    if found.unknown:
        click.echo(
            wrapped(f"{count(found.unknown, 'question')} left out: no reference answer on a true page.")
        )
