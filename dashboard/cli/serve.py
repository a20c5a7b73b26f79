"""The commands that serve a workspace: the dashboard, the same on bundled samples, and to coding agents."""

from __future__ import annotations

import atexit
import errno
import ipaddress
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

import click

from ragtriage.dashboard.cli.options import PORT, with_default
from ragtriage.data.store.access import READ_ONLY, limit_paths
from ragtriage.data.store.workspace import Workspace

if TYPE_CHECKING:
    from ragtriage.data.scoring.run_store import RunStore

HOST = "127.0.0.1"
ALLOWED_HOSTS = "RAGTRIAGE_ALLOWED_HOSTS"  # read by ragtriage.dashboard.entry
FIRST_PORT, LAST_PORT = 8501, 8599
STARTING_SECONDS = 60
EXPOSED = (
    "Everyone who reaches this machine on that port sees every case{}: there is no login and no encryption. "
    "Put a reverse proxy with both in front of it to change that."
)


@dataclass(frozen=True)
class BindAddress:
    """Where the dashboard listens."""

    host: str = HOST  # address or name of this machine
    expose: bool = False  # whether other machines may reach it
    allowed_names: tuple[str, ...] = ()  # further names under which it may be opened

    @property
    def addresses(self) -> list[str]:
        """The IP addresses of the host.

        Raises:
            click.UsageError: it is not an address and cannot be resolved.
        """
        try:
            entries = socket.getaddrinfo(self.host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise click.UsageError(
                f"host {self.host!r}; accepted: an address of this machine, as in 127.0.0.1 or 0.0.0.0"
            ) from error
        return [str(entry[4][0]) for entry in entries]

    @property
    def loopback(self) -> bool:
        """Return whether it can be reached from this machine alone."""
        return all(ipaddress.ip_address(ip.partition("%")[0]).is_loopback for ip in self.addresses)

    @property
    def allowed_hosts(self) -> list[str]:
        """The names and addresses under which it may be opened: any other one may be a rebound name."""
        hosts = [self.host, *self.allowed_names, HOST, "localhost", "::1"]
        if not self.loopback:
            name = socket.gethostname()
            try:
                entries = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
            except OSError:
                entries = []
            hosts += [*self.addresses, name, *(str(entry[4][0]) for entry in entries)]
        return list(dict.fromkeys(name.lower() for name in hosts))

    def url(self, port: int) -> str:
        """Return a URL that works on this machine, also where the server listens on every address."""
        here = {"0.0.0.0": HOST, "::": "::1"}.get(self.host, self.host)  # noqa: S104 -- compared, not bound
        return f"http://[{here}]:{port}/" if ":" in here else f"http://{here}:{port}/"

    def check(self) -> None:
        """Refuse an address that others can reach, unless `expose` allows it.

        Raises:
            click.UsageError: the host is empty, or others can reach it and `expose` is not set.
        """
        if not self.host.strip():
            raise click.UsageError("host: is empty; accepted: an address of this machine, as in 127.0.0.1")
        if not self.loopback and not self.expose:
            raise click.UsageError(
                f"host {self.host}: others reach it, and there is no login: they would see every case; "
                "accepted: --expose with it if they may, or no --host for this machine alone"
            )


@click.command()
@click.option("--browser/--no-browser", default=False, help="Open a browser.")
@PORT
@click.option("--read-only", is_flag=True, help="Pages show everything and change nothing.")
@with_default("--host", HOST, "Where to listen.", metavar="ADDRESS")
@click.option(
    "--expose",
    is_flag=True,
    help="Needed for a --host that others reach: there is no login, so they all see every case.",
)
@click.option(
    "--allow-host",
    "allowed_names",
    multiple=True,
    metavar="NAME",
    help="Another host name to accept, as behind a proxy; may be repeated.",
)
@click.option(
    "--files",
    "file_folders",
    multiple=True,
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder whose files others may load by path; may be repeated. Without it they can only upload.",
)
@click.pass_obj
def serve(
    workspace: str | None,
    browser: bool,
    port: int | None,
    read_only: bool,
    host: str,
    expose: bool,
    allowed_names: tuple[str, ...],
    file_folders: tuple[Path, ...],
) -> None:
    """Open the dashboard, reachable from this machine alone unless --host says otherwise."""
    address = BindAddress(host, expose, allowed_names)
    address.check()
    if not address.loopback or allowed_names or file_folders:  # a name beside its own is that of a proxy
        limit_paths(file_folders)
    if read_only:
        os.environ[READ_ONLY] = "1"
    with claimed_port(port, address.host) as chosen:
        run_dashboard(str(Workspace.open(workspace, create=True).root), chosen, browser, "", address)


def run_dashboard(
    root: str, port: int, browser: bool, query: str, address: BindAddress | None = None
) -> None:
    """Run the Streamlit server until Ctrl+C, for this machine alone unless told.

    The query is that of the first page's URL.
    """
    from streamlit.web import cli

    address = address or BindAddress()
    url = f"{address.url(port)}{'?' if query else ''}{query}"
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))  # Ctrl+C is the usual way to end it, at any moment
    click.echo(f"ragtriage on {url}\nworkspace {root}{_notes(address)}\nCtrl+C stops it.")
    if browser:
        health = f"{address.url(port)}_stcore/health"
        threading.Thread(target=_open_when_ready, args=(health, url), daemon=True).start()
    os.environ["RAGTRIAGE_WORKSPACE"] = root
    os.environ[ALLOWED_HOSTS] = ",".join(address.allowed_hosts)
    atexit.register(_end_silently)
    entry = Path(__file__).resolve().parents[1] / "entry.py"
    cli.main_run([str(entry), *_settings(address, port)], standalone_mode=False)


def _end_silently() -> None:
    """Close standard error at the very end, where DuckDB would list its live objects as leaks of nanobind."""
    sys.stderr.flush()
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)


def _settings(address: BindAddress, port: int) -> list[str]:
    """Return Streamlit's options that guard the dashboard, as arguments.

    An argument takes precedence over the environment and over the settings of the folder that the command is
    started in.
    """
    url = address.url(port)
    settings = {
        "server.port": port,
        "server.address": address.host,
        "server.baseUrlPath": "",
        "server.enableCORS": True,
        "server.corsAllowedOrigins": url.rstrip("/"),
        "server.enableXsrfProtection": True,
        "server.xsrfCookieSameSite": "strict",
        "server.enableStaticServing": False,
        "server.enableAgentApi": False,
        "browser.serverAddress": urlsplit(url).hostname,  # else it looks its own address up outside
        "browser.serverPort": port,
        "browser.gatherUsageStats": False,
        "global.developmentMode": False,
        "logger.hideWelcomeMessage": True,  # it says what stands above, and asks for addresses
    }
    options = [
        f"--{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in settings.items()
    ]
    return options + [f"--server.allowedHosts={name}" for name in address.allowed_hosts]


def _notes(address: BindAddress) -> str:
    """Write what the user should know first: that nothing can be changed, that others see everything."""
    read_only = bool(os.environ.get(READ_ONLY))
    lines = ["read only: nothing can be changed from the pages"] if read_only else []
    if not address.loopback:
        lines.append(EXPOSED.format("" if read_only else " and can change and delete all of it"))
    return "".join(f"\n{line}" for line in lines)


@contextmanager
def claimed_port(wanted: int | None, host: str = HOST) -> Iterator[int]:
    """Yield the port that is asked for, else the first free one from 8501, which no other command then takes.

    The server listens seconds after its port was chosen. Until then its UDP port of the same number says that
    the port is taken.

    Raises:
        click.UsageError: it is not a port number, or it is taken.
    """
    if wanted is not None and not 1 <= wanted <= 65535:
        raise click.UsageError(f"port {wanted}; accepted: 1 to 65535")
    for port in [wanted] if wanted is not None else range(FIRST_PORT, LAST_PORT + 1):
        with socket.socket(_family(host), socket.SOCK_DGRAM) as claim:
            if _free(port, host) and _bound(claim, host, port):
                yield port
                return
    every = f"ports {FIRST_PORT} to {LAST_PORT} are"
    taken = f"{every if wanted is None else f'port {wanted} is'} taken"
    raise click.UsageError(f"{taken}; accepted: a free one, given with --port")


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _free(port: int, host: str) -> bool:
    with socket.socket(_family(host)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return _bound(probe, host, port)


def _bound(listener: socket.socket, host: str, port: int) -> bool:
    try:
        listener.bind((host, port))
    except OSError as error:
        if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            raise click.UsageError(
                f"host {host}: is not an address of this machine; accepted: one of its own, or 0.0.0.0"
            ) from error
        return False
    return True


def _open_when_ready(health: str, url: str) -> None:
    end = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(health, timeout=1).close()  # noqa: S310 -- made by BindAddress.url
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            webbrowser.open(url)
            return


@click.command()
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option("--no-serve", is_flag=True, help="Load the samples, and do not start the dashboard.")
@PORT
@click.pass_obj
def demo(workspace: str | None, no_browser: bool, no_serve: bool, port: int | None) -> None:
    """Load the bundled samples and open the dashboard on them.

    The dashboard opens as soon as its first project is loaded; the other samples follow meanwhile.
    """
    from ragtriage.data.api import open_store  # here: a server starts before it is loaded
    from ragtriage.data.demo import FIRST_PROJECT, FIRST_RUN

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
    from tqdm import tqdm

    from ragtriage.dashboard.present.stories.sections import add_sample_stories
    from ragtriage.data.demo import load_samples
    from ragtriage.data.diagnosis.run_digest import digest_new_runs

    quiet = not sys.stderr.isatty()
    with tqdm(bar_format="Loading samples {elapsed} {desc}", leave=False, disable=quiet) as bar:
        load_samples(store, lambda step: bar.set_description_str(f"{step.doing} {step.run}"), project)
    add_sample_stories(store)
    digest_new_runs(store, store.runs())


@contextmanager
def _loading_the_others(store: RunStore, root: str) -> Iterator[None]:
    """Load what is missing in a process of its own, which ends with the dashboard."""
    from ragtriage.data.demo import samples_are_missing

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


@click.command()
@click.option("--allow-labels", is_flag=True, help="Also offer the tool that labels cases; it writes.")
@click.option(
    "--allow-import",
    "folders",
    multiple=True,
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False),
    help="Also offer the tool that imports runs, from files below this folder; may be repeated. It writes.",
)
@click.pass_obj
def mcp(workspace: str | None, allow_labels: bool, folders: tuple[str, ...]) -> None:
    """Serve the workspace to a coding agent over MCP, on standard input and output."""
    from ragtriage.data.api import open_store
    from ragtriage.data.errors import DataError

    if find_spec("mcp") is None:
        raise DataError('`ragtriage mcp` needs the MCP SDK; accepted: pip install "ragtriage[mcp]"')
    from ragtriage.dashboard.mcp_server.server import serve_stdio  # the base install goes without

    store = open_store(workspace, create=bool(folders))
    if sys.stdin.isatty():  # a person started it, who would wait for an answer
        click.echo(
            f"MCP server over {store.workspace.root}: a coding agent starts it and speaks with it on "
            "standard input (docs/agents.md). Ctrl+C stops it.",
            err=True,
        )
    serve_stdio(store, allow_labels, [Path(folder) for folder in folders])
