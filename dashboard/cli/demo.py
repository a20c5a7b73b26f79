"""The demo command: the dashboard on the bundled samples."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

import click
from tqdm import tqdm

from ragtriage.dashboard.cli.options import PORT
from ragtriage.dashboard.cli.serve import claimed_port, run_dashboard
from ragtriage.dashboard.present.stories.sections import add_sample_stories
from ragtriage.data.api import open_store
from ragtriage.data.demo import FIRST_PROJECT, FIRST_RUN, load_samples, samples_are_missing
from ragtriage.data.diagnosis.run_digest import digest_new_runs
from ragtriage.data.scoring.run_store import RunStore


@click.command()
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option("--no-serve", is_flag=True, help="Load the samples, and do not start the dashboard.")
@PORT
@click.pass_obj
def demo(workspace: str | None, no_browser: bool, no_serve: bool, port: int | None) -> None:
    """Load the bundled samples and open the dashboard on them.

    The dashboard opens as soon as its first project is loaded; the other samples follow meanwhile.
    """
    if no_serve:
        store = open_store(workspace, create=True)
        _load(store)
        click.echo(f"{len(store.runs())} runs in {store.workspace.root}")
        return
    with claimed_port(port) as chosen:  # a taken port is reported before the samples are loaded, not after
        store = open_store(workspace, create=True)
        _load(store, FIRST_PROJECT)
        runs = [run for run in store.runs(FIRST_PROJECT) if run.name == FIRST_RUN]
        query = urlencode({"project": FIRST_PROJECT, "run": runs[0].run_id}) if runs else ""
        root = str(store.workspace.root)
        with _loading_the_others(store, root):
            run_dashboard(root, chosen, not no_browser, query)


def _load(store: RunStore, project: str | None = None) -> None:
    """Load the samples, or those of one project."""
    quiet = not sys.stderr.isatty()
    with tqdm(bar_format="Loading samples {elapsed} {desc}", leave=False, disable=quiet) as bar:
        load_samples(store, lambda step: bar.set_description_str(f"{step.doing} {step.run}"), project)
    add_sample_stories(store)
    digest_new_runs(store, store.runs())


@contextmanager
def _loading_the_others(store: RunStore, root: str) -> Iterator[None]:
    """Load what is missing in a process of its own, which ends with the dashboard."""
    if not samples_are_missing(store):
        yield
        return
    command = [sys.executable, "-m", "ragtriage.dashboard.cli", "--workspace", root, "demo", "--no-serve"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet) as others:  # noqa: S603 -- this command itself
        try:
            yield
        finally:
            others.terminate()
