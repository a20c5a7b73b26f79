"""Starting the dashboard: on this machine alone, on a free port, over one workspace."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from pathlib import Path
from urllib.parse import urlencode

import click

__all__ = ["demo", "free_port", "serve"]

HOST = "127.0.0.1"
FIRST_PORT, LAST_PORT = 8501, 8599
STARTING_SECONDS = 60


def demo(workspace: str | None, port: int | None, browser: bool) -> None:
    """Load the bundled samples and open the dashboard on a run with something to find."""
    from tqdm import tqdm

    from dashboard.commands import open_workspace
    from data.demo import FIRST_PROJECT, FIRST_RUN, load_samples

    free_port(port)  # a taken port is told before the samples are loaded, not after
    catalogue = open_workspace(workspace, create=True)
    quiet = not sys.stderr.isatty()
    with tqdm(bar_format="Loading samples {elapsed} {desc}", leave=False, disable=quiet) as bar:
        load_samples(catalogue, lambda step: bar.set_description_str(f"{step.doing} {step.run}"))
    runs = [run for run in catalogue.runs(FIRST_PROJECT) if run.name == FIRST_RUN and run.n > run.n_questions]
    query = urlencode({"project": FIRST_PROJECT, "run": runs[0].run_id}) if runs else ""
    _run(str(catalogue.workspace.root), port, browser, query)


def serve(workspace: str | None, port: int | None, browser: bool) -> None:
    """Open the dashboard on a workspace."""
    from dashboard.commands import open_workspace

    _run(str(open_workspace(workspace, create=True).workspace.root), port, browser, "")


def _run(root: str, port: int | None, browser: bool, query: str) -> None:
    from streamlit.web import cli

    chosen = free_port(port)
    url = f"http://{HOST}:{chosen}/{'?' if query else ''}{query}"
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))  # Ctrl+C is the usual way to end it, at any moment
    click.echo(f"ragtriage on {url}\nworkspace {root}\nCtrl+C stops it.")
    if browser:
        threading.Thread(target=_open_when_ready, args=(chosen, url), daemon=True).start()
    os.environ["RAGTRIAGE_WORKSPACE"] = root
    entry = Path(__file__).with_name("app.py")
    words = [str(entry), "--server.port", str(chosen), "--server.address", HOST]
    cli.main_run(words, standalone_mode=False)


def free_port(wanted: int | None) -> int:
    """Give the port wanted, else the first free one from 8501.

    Raises:
        click.UsageError: it is no port, or it is taken.
    """
    if wanted is not None and not 1 <= wanted <= 65535:
        raise click.UsageError(f"port {wanted}; accepted: 1 to 65535")
    for port in [wanted] if wanted is not None else range(FIRST_PORT, LAST_PORT + 1):
        if _free(port):
            return port
    taken = (
        f"port {wanted} is taken" if wanted is not None else f"ports {FIRST_PORT} to {LAST_PORT} are taken"
    )
    raise click.UsageError(f"{taken}; accepted: a free one, given with --port")


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _open_when_ready(port: int, url: str) -> None:
    end = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://{HOST}:{port}/_stcore/health", timeout=1).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            webbrowser.open(url)
            return
