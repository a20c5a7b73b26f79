"""The command line: the same words as the pages. Exit code 0 done, 1 a gate failed, 2 bad usage or input."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import click

from dashboard import __version__
from dashboard.cli.model_commands import MODEL_COMMANDS
from dashboard.cli.verdict_commands import VERDICT_COMMANDS
from dashboard.cli.version_commands import VERSION_COMMANDS

__all__ = ["main"]

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_RUN = click.argument("run")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="ragtriage")
@click.option("--workspace", metavar="FOLDER", help="Workspace folder; RAGTRIAGE_WORKSPACE does the same.")
@click.pass_context
def app(context: click.Context, workspace: str | None) -> None:
    """Show where a RAG pipeline fails, which stage to fix first, and whether the last change helped."""
    context.obj = workspace


for _command in (*MODEL_COMMANDS, *VERDICT_COMMANDS, *VERSION_COMMANDS):
    app.add_command(_command)


def _pairs(_: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{text!r}; accepted: {parameter.metavar}")
        found[key] = value
    return found


def _cuts(_: click.Context, __: click.Parameter, given: str) -> tuple[int, ...]:
    parts = given.split(",")
    if not all(part.strip().isdigit() and int(part) >= 1 for part in parts):
        raise click.BadParameter(f"{given!r}; accepted: whole numbers of 1 or more, as in 1,3,5,10")
    return tuple(sorted({int(part) for part in parts}))


def _wholes(_: click.Context, __: click.Parameter, given: str) -> tuple[int, ...]:
    parts = given.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise click.BadParameter(f"{given!r}; accepted: whole numbers of 0 or more, as in 0,32,64")
    return tuple(sorted({int(part) for part in parts}))


def _strategies(_: click.Context, __: click.Parameter, given: str) -> tuple[str, ...]:
    accepted = ("paragraph", "heading", "recursive")
    parts = tuple(part.strip() for part in given.split(",") if part.strip())
    if any(part not in accepted for part in parts):
        raise click.BadParameter(f"{given!r}; accepted: {', '.join(accepted)}")
    return parts


@app.command()
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option("--port", type=int, help="Port of the dashboard; the first free one from 8501.")
@click.pass_obj
def demo(workspace: str | None, no_browser: bool, port: int | None) -> None:
    """Load the bundled samples and open the dashboard on them."""
    from dashboard.cli import serve

    serve.demo(workspace, port, browser=not no_browser)


@app.command()
@click.option("--browser/--no-browser", default=False, help="Open a browser.")
@click.option("--port", type=int, help="Port of the dashboard; the first free one from 8501.")
@click.option("--read-only", is_flag=True, help="Pages show everything and change nothing.")
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--expose",
    is_flag=True,
    help="Needed for a --host that others reach: there is no login, so they all see every case.",
)
@click.pass_obj
def serve(
    workspace: str | None, browser: bool, port: int | None, read_only: bool, host: str, expose: bool
) -> None:
    """Open the dashboard, for this machine alone unless told otherwise."""
    from dashboard.cli import serve

    serve.serve(workspace, port, browser, read_only, serve.BindAddress(host, expose))


@app.command("import")
@click.argument("paths", nargs=-1, required=True)
@click.option("--project", help="Project of the runs; the workspace's only one, else `default`.")
@click.option("--name", help="Name of the run.")
@click.option("--config", multiple=True, metavar="KEY=VALUE", callback=_pairs, help="Pipeline configuration.")
@click.option("--format", "file_format", default="auto", help="Format; told by the content when left out.")
@click.option(
    "--map", "mapping", multiple=True, metavar="FIELD=COLUMN", callback=_pairs, help="Read FIELD from COLUMN."
)
@click.option("--qrels", metavar="FILE", help="Relevance labels to join by question id.")
@click.option("--queries", metavar="FILE", help="Texts of the questions of a TREC or BEIR run.")
@click.option("--corpus", metavar="FILE", help="Texts of its documents.")
@click.option("--dataset", default="", help="Name of the question set.")
@click.option("--dry-run", is_flag=True, help="Show how the files would be read; load nothing.")
@_JSON
@click.pass_obj
def import_(workspace: str | None, /, **given: Any) -> None:
    """Load evaluation runs from files; all of a file or nothing of it."""
    from dashboard.cli import import_

    sys.exit(import_.run(workspace, **given))


@app.command()
@_JSON
@click.pass_obj
def runs(workspace: str | None, as_json: bool) -> None:
    """List the runs."""
    _print("list_runs", as_json, workspace)


@app.command()
@_RUN
@_JSON
@click.pass_obj
def show(workspace: str | None, run: str, as_json: bool) -> None:
    """Show the facts of a run."""
    _print("show_run", as_json, workspace, run)


@app.command()
@_RUN
@click.option("--k", "ks", default="1,3,5,10", callback=_cuts, help="Rank cut-offs.")
@click.option("--per-sample", is_flag=True, help="Also one value a question and metric.")
@click.option(
    "--convention", type=click.Choice(["default", "ragchecker"]), default="default", show_default=True
)
@_JSON
@click.pass_obj
def metrics(
    workspace: str | None, run: str, ks: tuple[int, ...], per_sample: bool, convention: str, as_json: bool
) -> None:
    """Give every metric of a run: mean, 95 % interval, n and source."""
    _print("run_metrics", as_json, workspace, run, ks, per_sample, convention)


@app.command()
@_RUN
@click.option("--signal", help="Metric that speaks for the context.")
@click.option("--context", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Its cut-off.")
@click.option("--faithfulness", type=click.FloatRange(0, 1), default=0.8, show_default=True)
@click.option("--answer-relevancy", type=click.FloatRange(0, 1), default=0.5, show_default=True)
@_JSON
@click.pass_obj
def diagnose(workspace: str | None, /, run: str, as_json: bool, **settings: Any) -> None:
    """Say where the cases of a run fail and what to fix first."""
    _print("run_diagnosis", as_json, workspace, run, **settings)


@app.command()
@click.argument("base")
@click.argument("others", nargs=-1, required=True)
@click.option(
    "--family",
    type=click.Choice(["headline", "retrieval", "generation", "answer", "system", "all"]),
    default="all",
    show_default=True,
    help="Metrics that are compared, and over which p values are corrected.",
)
@_JSON
@click.pass_obj
def compare(workspace: str | None, base: str, others: tuple[str, ...], family: str, as_json: bool) -> None:
    """Compare runs with a baseline, paired on question."""
    _print("compare_runs", as_json, workspace, base, others, family)


@app.command()
@click.argument("corpus", nargs=-1, required=True)
@click.option(
    "--questions",
    required=True,
    metavar="FILE",
    help="Questions with gold spans in the corpus (docs/format.md).",
)
@click.option("--sizes", default="128,256,512", callback=_cuts, help="Chunk sizes.", show_default=True)
@click.option("--overlaps", default="0,32,64", callback=_wholes, help="Overlaps.", show_default=True)
@click.option("--unit", type=click.Choice(["tokens", "characters"]), default="tokens", show_default=True)
@click.option(
    "--strategies",
    default="",
    callback=_strategies,
    help="Besides: paragraph,heading,recursive or some of them.",
)
@click.option(
    "--headings",
    type=click.Choice(["no", "yes", "both"]),
    default="both",
    show_default=True,
    help="Whether these index title and headings with each chunk.",
)
@click.option(
    "--depth", type=click.IntRange(1, 1000), default=20, show_default=True, help="Chunks retrieved."
)
@click.option(
    "--retriever", default="bm25", show_default=True, help="bm25, or embedding:PATH of a local model."
)
@click.option("--project", help="Project of the runs; the corpus' name when left out.")
@click.option("--title", default="", help="What to call the grid.")
@_JSON
@click.pass_obj
def grid(workspace: str | None, /, as_json: bool, **given: Any) -> None:
    """Try chunk sizes and overlaps on a corpus of .txt, .md or JSONL; goes on from finished cells."""
    from dashboard.cli import grid

    sys.exit(grid.run(workspace, grid.GridOptions(**given), as_json))


@app.command()
@_RUN
@_JSON
@click.pass_obj
def check(workspace: str | None, run: str, as_json: bool) -> None:
    """Check the numbers of a run against each other."""
    _print("check_numbers_of", as_json, workspace, run)


@app.command()
@_RUN
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="File to write; .jsonl, .csv or .parquet. Standard output when left out.",
)
@click.option(
    "--format", "kind", type=click.Choice(["jsonl", "csv", "parquet"]), help="Told by the file's ending."
)
@click.pass_obj
def export(workspace: str | None, run: str, output: str | None, kind: str | None) -> None:
    """Write the samples of a run, with scores and diagnosis."""
    from dashboard.cli import commands

    commands.export_run(workspace, run, output, kind)


@app.command()
@click.argument("run_names", nargs=-1, required=True, metavar="RUN...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_JSON
@click.pass_obj
def delete(workspace: str | None, run_names: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete runs; labels stay in the ledger."""
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("delete asks before it deletes, and nobody is there to ask; accepted: --yes")
    if not yes and not click.confirm(f"Delete {', '.join(run_names)}?", err=True):
        return
    _print("delete_runs", as_json, workspace, run_names)


def _print(command: str, as_json: bool, *given: Any, **more: Any) -> None:
    """Run a command and print its answer, as JSON or as text."""
    from dashboard.cli import commands

    answer, as_text = _call(getattr(commands, command), *given, **more)
    click.echo(json.dumps(answer, ensure_ascii=False, indent=1, allow_nan=False) if as_json else as_text())


def _call(command: Callable[..., Any], *given: Any, **more: Any) -> tuple[Any, Callable[[], str]]:
    result: tuple[Any, Callable[[], str]] = command(*given, **more)
    return result


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors of the data package end it with exit code 2 and their message."""
    from data.errors import DataError
    from metrics.schema.scores import MetricsError

    try:
        app.main(arguments, prog_name="ragtriage")
    except (DataError, MetricsError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
