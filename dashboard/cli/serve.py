"""Starting the dashboard: on this machine alone unless told otherwise, on a free port, over one workspace."""

from __future__ import annotations

import errno
import ipaddress
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import click

from data.store.read_only import READ_ONLY

__all__ = ["BindAddress", "demo", "free_port", "serve"]

HOST = "127.0.0.1"
FIRST_PORT, LAST_PORT = 8501, 8599
STARTING_SECONDS = 60
EXPOSED = (
    "Everyone who reaches this machine on that port sees every case{}: there is no login and no encryption. "
    "Put a server that asks for both in front of it where that is not what you want."
)


@dataclass(frozen=True)
class BindAddress:
    """Where the dashboard listens.

    Attributes:
        host: address or name of this machine.
        expose: whether others may reach it.
    """

    host: str = HOST
    expose: bool = False

    @property
    def addresses(self) -> list[str]:
        """The addresses that the host stands for.

        Raises:
            click.UsageError: it is no address and no name that is known here.
        """
        try:
            found = socket.getaddrinfo(self.host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise click.UsageError(
                f"host {self.host!r}; accepted: an address of this machine, as in 127.0.0.1 or 0.0.0.0"
            ) from error
        return [str(one[4][0]) for one in found]

    @property
    def loopback(self) -> bool:
        """Whether this machine alone reaches it."""
        return all(ipaddress.ip_address(one.partition("%")[0]).is_loopback for one in self.addresses)

    def url(self, port: int) -> str:
        """Give the address that this machine reaches it under, also where it listens on every one."""
        here = {"0.0.0.0": HOST, "::": "::1"}.get(self.host, self.host)  # noqa: S104 -- compared, not bound
        return f"http://[{here}]:{port}/" if ":" in here else f"http://{here}:{port}/"

    def check(self) -> None:
        """Refuse to listen where others reach it, unless that was asked for in so many words.

        Raises:
            click.UsageError: it is not this machine alone, and nobody said that it may be reached.
        """
        if not self.host.strip():
            raise click.UsageError("host: is empty; accepted: an address of this machine, as in 127.0.0.1")
        if not self.loopback and not self.expose:
            raise click.UsageError(
                f"host {self.host}: others reach it, and there is no login: they would see every case; "
                "accepted: --expose with it if they may, or no --host for this machine alone"
            )


def demo(workspace: str | None, port: int | None, browser: bool) -> None:
    """Load the bundled samples and open the dashboard on a run with something to find."""
    from tqdm import tqdm

    from dashboard.cli.commands import open_workspace
    from data.demo import FIRST_PROJECT, FIRST_RUN, load_samples

    free_port(port)  # a taken port is told before the samples are loaded, not after
    store = open_workspace(workspace, create=True)
    quiet = not sys.stderr.isatty()
    with tqdm(bar_format="Loading samples {elapsed} {desc}", leave=False, disable=quiet) as bar:
        load_samples(store, lambda step: bar.set_description_str(f"{step.doing} {step.run}"))
    runs = [run for run in store.runs(FIRST_PROJECT) if run.name == FIRST_RUN and run.n > run.n_questions]
    query = urlencode({"project": FIRST_PROJECT, "run": runs[0].run_id}) if runs else ""
    _run(str(store.workspace.root), port, browser, query)


def serve(
    workspace: str | None,
    port: int | None,
    browser: bool,
    read_only: bool = False,
    door: BindAddress | None = None,
) -> None:
    """Open the dashboard on a workspace.

    Args:
        workspace: folder; the default one where None.
        port: the first free one where None.
        browser: open one.
        read_only: pages show everything and change nothing.
        door: where to listen; this machine alone where None.
    """
    from dashboard.cli.commands import open_workspace

    door = door or BindAddress()
    door.check()
    if read_only:
        os.environ[READ_ONLY] = "1"
    root = str(open_workspace(workspace, create=True).workspace.root)
    _run(root, port, browser, "", door)


def _run(root: str, port: int | None, browser: bool, query: str, door: BindAddress | None = None) -> None:
    from streamlit.web import cli

    door = door or BindAddress()
    chosen = free_port(port, door.host)
    url = f"{door.url(chosen)}{'?' if query else ''}{query}"
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))  # Ctrl+C is the usual way to end it, at any moment
    click.echo(f"ragtriage on {url}\nworkspace {root}{_notes(door)}\nCtrl+C stops it.")
    if browser:
        threading.Thread(
            target=_open_when_ready, args=(f"{door.url(chosen)}_stcore/health", url), daemon=True
        ).start()
    os.environ["RAGTRIAGE_WORKSPACE"] = root
    entry = Path(__file__).resolve().parents[1] / "app.py"
    words = [str(entry), "--server.port", str(chosen), "--server.address", door.host]
    cli.main_run(words, standalone_mode=False)


def _notes(door: BindAddress) -> str:
    """Say what a person should know before others come: that nothing can be changed, that all is seen."""
    reading = bool(os.environ.get(READ_ONLY))
    lines = ["read only: nothing can be changed from the pages"] if reading else []
    if not door.loopback:
        lines.append(EXPOSED.format("" if reading else " and can change and delete all of it"))
    return "".join(f"\n{line}" for line in lines)


def free_port(wanted: int | None, host: str = HOST) -> int:
    """Give the port wanted, else the first free one from 8501.

    Raises:
        click.UsageError: it is no port, or it is taken.
    """
    if wanted is not None and not 1 <= wanted <= 65535:
        raise click.UsageError(f"port {wanted}; accepted: 1 to 65535")
    for port in [wanted] if wanted is not None else range(FIRST_PORT, LAST_PORT + 1):
        if _free(port, host):
            return port
    taken = (
        f"port {wanted} is taken" if wanted is not None else f"ports {FIRST_PORT} to {LAST_PORT} are taken"
    )
    raise click.UsageError(f"{taken}; accepted: a free one, given with --port")


def _free(port: int, host: str) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                raise click.UsageError(
                    f"host {host}: is no address of this machine; accepted: one of its own, or 0.0.0.0"
                ) from error
            return False
    return True


def _open_when_ready(health: str, url: str) -> None:
    end = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(health, timeout=1).close()  # noqa: S310 -- made by Door.url
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            webbrowser.open(url)
            return
