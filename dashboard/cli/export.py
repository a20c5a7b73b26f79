"""The export command: the samples of a run as a file."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import numpy as np

from dashboard.cli.options import RUN
from dashboard.cli.terminal import write_file
from data.api import diagnosis_of, open_store
from data.cases.export import EXPORTS, export_rows
from data.diagnosis.diagnosis import DiagnosisSettings

__all__ = ["export"]


@click.command()
@RUN
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="File to write; .jsonl, .csv or .parquet. Standard output by default.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(EXPORTS),
    help="By default from the file's ending; JSONL on standard output.",
)
@click.pass_obj
def export(workspace: str | None, run_name: str, output: str | None, file_format: str | None) -> None:
    """Write the samples of a run, with scores and diagnosis."""
    store = open_store(workspace)
    diagnosis = diagnosis_of(store, store.find(run_name), DiagnosisSettings())
    if file_format is None:
        ending = Path(output or "").suffix.removeprefix(".")
        file_format = ending if ending in EXPORTS else "jsonl"
    scored = diagnosis.scored
    content = export_rows(diagnosis, np.arange(scored.n), file_format)
    if output is None:
        sys.stdout.buffer.write(content)
        return
    write_file(output, content)
    click.echo(f"Wrote {scored.n:,} samples of {scored.run.run_id} as {file_format} to {output}.", err=True)
