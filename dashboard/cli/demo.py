"""The demo command: the dashboard on the bundled samples."""

from __future__ import annotations

import sys
from urllib.parse import urlencode

import click
from tqdm import tqdm

from ragtriage.dashboard.cli.options import PORT
from ragtriage.dashboard.cli.serve import claimed_port, run_dashboard
from ragtriage.dashboard.present.stories.sections import add_sample_stories
from ragtriage.data.api import open_store
from ragtriage.data.demo import FIRST_PROJECT, FIRST_RUN, load_samples
from ragtriage.data.diagnosis.run_digest import digest_new_runs


@click.command()
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@PORT
@click.pass_obj
def demo(workspace: str | None, no_browser: bool, port: int | None) -> None:
    """Load the bundled samples and open the dashboard on them."""
    with claimed_port(port) as chosen:  # a taken port is reported before the samples are loaded, not after
        store = open_store(workspace, create=True)
        quiet = not sys.stderr.isatty()
        with tqdm(bar_format="Loading samples {elapsed} {desc}", leave=False, disable=quiet) as bar:
            load_samples(store, lambda step: bar.set_description_str(f"{step.doing} {step.run}"))
        add_sample_stories(store)
        digest_new_runs(store, store.runs())
        runs = [run for run in store.runs(FIRST_PROJECT) if run.name == FIRST_RUN]
        query = urlencode({"project": FIRST_PROJECT, "run": runs[0].run_id}) if runs else ""
        run_dashboard(str(store.workspace.root), chosen, not no_browser, query)
