"""The export command: the samples of a run as a file, or its scores as a file for another tool."""

import sys
from collections.abc import Collection, Mapping
from pathlib import Path

import click
import numpy as np

from ragtriage.dashboard.cli.options import RUN, ChosenWords
from ragtriage.dashboard.cli.terminal import plain
from ragtriage.data.api import diagnosis_of, open_store
from ragtriage.data.cases.export import EXPORTS, export_pieces
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings
from ragtriage.data.errors import DataError
from ragtriage.data.exports.feedback import OURS, SOURCES, Chosen, Counts
from ragtriage.data.exports.tools import TOOLS, Tool, ToolFile, written_name
from ragtriage.data.store.stored_file import write_file

MOST_NAMED = 5  # metrics in a sentence


@click.command()
@RUN
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="File to write; .jsonl, .csv or .parquet. Standard output by default, or as -.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(EXPORTS),
    help="By default from the file's ending; JSONL on standard output.",
)
@click.option(
    "--to",
    type=click.Choice([*TOOLS, "parquet"]),
    help="Scores and human labels for a tool instead, joined by its ids; parquet: the samples as a data set.",
)
@click.option(
    "--sources",
    type=ChosenWords(SOURCES),
    help=f"With --to TOOL: which scores, by where they come from; by default {','.join(OURS)}.",
)
@click.option(
    "--metrics",
    metavar="NAMES",
    help="With --to TOOL: these alone, separated by commas, wherever they come from.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="With --to TOOL: also imported and estimated scores, latency, tokens and cost.",
)
@click.pass_obj
def export(
    workspace: str | None,
    run_name: str,
    output: str | None,
    file_format: str | None,
    to: str | None,
    sources: tuple[str, ...] | None,
    metrics: str | None,
    everything: bool,
) -> None:
    """Write the samples of a run with scores and diagnosis, or its scores for the tool that recorded it."""
    if to is not None and file_format is not None and to != file_format:
        raise click.UsageError(f"--to {to} has a format of its own; accepted: --to or --format, not both")
    if (metrics or sources or everything) and to not in TOOLS:
        options = "--sources, --metrics and --all"
        raise click.UsageError(f"{options} go with --to TOOL; accepted: {', '.join(TOOLS)}")
    if everything and (metrics or sources):
        raise click.UsageError("--all leaves nothing to choose; accepted: --all, or --sources and --metrics")
    output = None if output == "-" else output
    if output is None and "parquet" in (to, file_format) and sys.stdout.isatty():
        raise click.UsageError("parquet is not written to a terminal; accepted: -o FILE, or a pipe")
    store = open_store(workspace)
    diagnosis = diagnosis_of(store, store.find(run_name), DiagnosisSettings())
    if to in TOOLS:
        names = tuple(name.strip() for name in (metrics or "").split(",") if name.strip())
        chosen = Chosen(sources or (SOURCES if names or everything else OURS), names, everything)
        _for_tool(ToolFile(str(to), diagnosis, store.ledger, chosen), output)
    else:
        _samples(diagnosis, output, to or file_format)


def _samples(diagnosis: Diagnosis, output: str | None, file_format: str | None) -> None:
    if file_format is None:
        ending = Path(output or "").suffix.removeprefix(".").lower()
        if ending and ending not in EXPORTS:
            accepted = ", ".join(f".{each}" for each in EXPORTS)
            raise DataError(
                f"output {output}: cannot be written as {ending!r}; accepted: {accepted}, or --format"
            )
        file_format = ending or EXPORTS[0]
    scored = diagnosis.scored
    content = export_pieces(diagnosis, np.arange(scored.n), file_format)
    if output is None:
        sys.stdout.buffer.writelines(content)
        return
    write_file(output, content)
    click.echo(f"Wrote {scored.n:,} samples of {scored.run.run_id} as {file_format} to {output}.", err=True)


def _for_tool(file: ToolFile, output: str | None) -> None:
    """Write the file and say on the error output what is in it and how it is sent."""
    if output is None:
        sys.stdout.buffer.writelines(file.lines())
    else:
        write_file(output, file.lines())
    tool, counts = file.tool, file.counts
    sentences = [written(tool, counts, output or "the output"), left_out(tool, counts), renamed(file.names)]
    click.echo(plain(" ".join(filter(None, [*sentences, cautions(tool, counts, TOOLS.values())]))), err=True)
    click.echo(f"\n{sending(tool, counts, output or f'FILE.{tool.ending}')}", err=True)


def written(tool: Tool, counts: Counts, path: str) -> str:
    """Return what was written, in a sentence."""
    samples = f"{counts.samples:,} sample{'' if counts.samples == 1 else 's'}"
    errors = f", {counts.errors:,} of them failed" if counts.errors else ""
    return f"Wrote {counts.written:,} scores and labels{errors}, of {samples} as {tool.content} to {path}."


def left_out(tool: Tool, counts: Counts) -> str:
    """Return what was left out, in a sentence; "" where everything was written."""
    parts = (
        (counts.failed, f"failed, for which {tool.title} has no form"),
        (counts.not_applicable, "not applicable"),
        (counts.not_run, "not run"),
        (counts.notes, "a note alone"),
        (counts.repeated, "replaced by a later one of the same annotator"),
        (counts.without_id, f"{'sample' if counts.without_id == 1 else 'samples'} without {tool.id_name}"),
    )
    listed = ", ".join(f"{number:,} {what}" for number, what in parts if number)
    sentences = [f"Left out: {listed}." if listed else ""]
    if counts.left_out:
        kinds = ", ".join(
            f"{len(names):,} {kind} ({', '.join(names[:MOST_NAMED])}{', ...' * (len(names) > MOST_NAMED)})"
            for kind, names in counts.left_out.items()
        )
        sentences.append(f"Metrics not written: {kinds}; --all writes them.")
    return " ".join(filter(None, sentences))


def renamed(names: Mapping[str, str]) -> str:
    """Return which metrics have another name in the file, since theirs is taken, in a sentence; else ""."""
    others = [f"{metric} as {name}" for metric, name in names.items() if name != written_name(metric)]
    listed = ", ".join(others[:MOST_NAMED])
    return f"Written under another name, since theirs is taken: {listed}." if others else ""


def cautions(tool: Tool, counts: Counts, others: Collection[Tool]) -> str:
    """Return what to look at before sending: scores that the tool may have, ids of another tool; else ""."""
    sentences = []
    if counts.imported:
        sentences.append(f"{counts.imported:,} came with the run; --sources leaves them out.")
    recorders = {name.lower() for name in counts.tools}
    foreign = sorted(each.title for each in others if each.title.lower() in recorders and each is not tool)
    if foreign and tool.title.lower() not in recorders:
        sentences.append(f"The {tool.id_name} of each sample is that of {' and '.join(foreign)}.")
    return " ".join(sentences)


def sending(tool: Tool, counts: Counts, path: str) -> str:
    """Return the lines of Python that send a file, with what must be there first."""
    needs = ""
    if counts.human and tool.send_human:
        kinds = "; ".join(
            f"{name} ({', '.join(sorted(values)) if all(values) else 'a number'})"
            for name, values in sorted(counts.human.items())
        )
        needs = f"{tool.title} needs {tool.human_needs}: {kinds}.\n"
    lines = tool.lines(path, bool(counts.human))
    return f"{needs}To send it (nothing was sent):\n\n{lines}"
