"""The collect command: receives the traces and the feedback of a system in use."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragtriage.dashboard.cli.options import NEW_PROJECT, PATH, with_default
from ragtriage.dashboard.cli.serve import HOST, BindAddress
from ragtriage.data.errors import DataError
from ragtriage.data.live import COLLECT_TOKEN
from ragtriage.metrics.number_text import count

if TYPE_CHECKING:
    from ragtriage.data.live.journal import Position
    from ragtriage.data.live.policy import PolicyFile
    from ragtriage.data.live.receiver import Intake
    from ragtriage.data.live.worker import Worker

PORT = 4318  # of OTLP over HTTP
SHORTEST_TOKEN = 16
DRAIN_SECONDS = 10
MOST_CONNECTIONS = 500
RUNS_NAMED = 3


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...", type=PATH)
@NEW_PROJECT
@with_default("--host", HOST, "Where to listen.", metavar="ADDRESS")
@with_default("--port", PORT, "Port to listen on; 0 for a free one.", type=click.IntRange(0, 65535))
@click.option(
    "--token-file",
    metavar="FILE",
    type=PATH,
    help=f"File with the token that senders must bring; {COLLECT_TOKEN} does the same.",
)
@click.pass_obj
def collect(
    workspace: str | None,
    files: tuple[Path, ...],
    project: str | None,
    host: str,
    port: int,
    token_file: Path | None,
) -> None:
    """Receive traces over OTLP/HTTP, and feedback, until Ctrl+C; or take in files of spans.

    Reachable from this machine alone unless --host says otherwise, which needs a token. What is answered with
    200 is on the disk, without personal data, in the folder `live` of the workspace.
    """
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.proto") is None:
        raise DataError(
            '`ragtriage collect` needs the messages of OTLP; accepted: pip install "ragtriage[live]"'
        )
    from ragtriage.data.api import open_store  # here: they load NumPy
    from ragtriage.data.live.calls import JOURNAL, live_folder
    from ragtriage.data.live.journal import Journal
    from ragtriage.data.live.policy import FILE_NAME, read_policy
    from ragtriage.data.live.receiver import Intake
    from ragtriage.data.live.redacting import redactor_of
    from ragtriage.data.live.worker import Worker

    address = BindAddress(host)
    token = "" if files else _token(address, token_file)
    store = open_store(workspace, create=True)
    project = store.usual_project() if project is None else project
    folder = live_folder(store.workspace, project)
    policy = read_policy(folder / FILE_NAME)
    listening = nullcontext() if files else _listening(address, port)  # first: a taken port leaves nothing
    with (
        listening as listener,
        Journal(folder / JOURNAL, most_stored=policy.policy.retention.bytes) as journal,
    ):
        intake = Intake(journal, redactor_of(folder), folder)

        def drop_before(position: Position) -> None:
            journal.most_stored = worker.policy.retention.bytes  # the policy may have changed
            journal.drop_before(position)

        worker = Worker(store, project, _say, drop_before)
        intake.stuck = worker.is_stuck
        for note in journal.notes:
            _say(note)
        if listener is None:
            _take_in(files, intake, worker)
            return
        click.echo(_start_text(address, listener.getsockname()[1], project, folder, policy))
        worker.start()
        try:
            asyncio.run(_serve(listener, address, token, intake))
        finally:
            worker.stop()
    click.echo(f"Stopped; what was acknowledged is stored{_taken_out(intake)}.")


def _taken_out(intake: Intake) -> str:
    counts = ", ".join(f"{n:,} x [{kind}]" for kind, n in sorted(intake.taken_out.items()))
    return f"; taken out of texts: {counts}" if counts else ""


def _say(sentence: str) -> None:
    click.echo(f"note: {sentence}", err=True)


def _token(address: BindAddress, file: Path | None) -> str:
    """Return the token that senders must bring; "" for none.

    Raises:
        click.UsageError: it cannot be read, is short, or is missing where others reach the address.
    """
    token, source = os.environ.get(COLLECT_TOKEN, ""), COLLECT_TOKEN
    if file is not None:
        source = str(file)
        try:
            token = file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not ASCII"
            raise click.UsageError(f"token file {file}: {reason}; accepted: a file with a token") from error
    if (token or file is not None) and not (
        len(token) >= SHORTEST_TOKEN and token.isascii() and token.isprintable() and " " not in token
    ):
        accepted = f"{SHORTEST_TOKEN} or more letters, digits and signs without spaces"
        raise click.UsageError(f"token of {source}: {len(token)} characters; accepted: {accepted}")
    if not address.loopback and not token:
        raise click.UsageError(
            f"host {address.host}: reachable from other machines, so a token is required; "
            f"accepted: --token-file FILE or {COLLECT_TOKEN} with it, or no --host for this machine alone"
        )
    return token


@contextmanager
def _listening(address: BindAddress, port: int) -> Iterator[socket.socket]:
    """Yield a socket that listens."""
    ip = address.addresses[0]
    listener = socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET)
    try:
        if os.name != "nt":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((ip, port))
        listener.listen(1_024)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRNOTAVAIL:
            what, accepted = f"host {address.host}: is not an address of this machine", "one of its own"
        elif error.errno == errno.EADDRINUSE:
            what, accepted = f"port {port} is taken", "a free one, given with --port"
        else:
            what, accepted = f"port {port}: {error.strerror}", "one that you may listen on"
        raise click.UsageError(f"{what}; accepted: {accepted}") from error
    with listener:
        yield listener


def _start_text(address: BindAddress, port: int, project: str, folder: Path, policy: PolicyFile) -> str:
    redaction = policy.policy.redaction
    kinds = [
        "e-mail",
        "phone",
        "card",
        "IBAN",
        *redaction.patterns,
        *(["users"] if redaction.hash_users else []),
    ]
    hidden = "off, by the policy: texts are stored as they come" if redaction.off else ", ".join(kinds)
    lines = (
        f"Listening on {address.url(port)}: v1/traces, v1/logs, v1/feedback",
        f"project {project}, in {folder}",
        f"policy: {policy.source}",
        f"redaction: {hidden}",
        "Ctrl+C stops it.",
    )
    return "\n".join(lines)


async def _serve(listener: socket.socket, address: BindAddress, token: str, intake: Intake) -> None:
    import uvicorn  # here: a file needs no server

    from ragtriage.data.live.receiver import receiver

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Stop by a signal, which its own way would raise again afterwards."""
            stopping = (signal.SIGINT, signal.SIGTERM)
            before = {each: signal.signal(each, self.handle_exit) for each in stopping}
            try:
                yield
            finally:
                for each, handler in before.items():
                    signal.signal(each, handler)

    config = uvicorn.Config(
        receiver(intake, token=token, hosts=() if token else tuple(address.allowed_hosts)),
        log_level="error",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    await Server(config).serve([listener])


def _take_in(files: tuple[Path, ...], intake: Intake, worker: Worker) -> None:
    from ragtriage.data.live.span_files import calls_among, take_in_file

    traces: set[str] = set()
    for file in files:
        taken = take_in_file(file, intake)
        left = "".join(f"; left out: {n:,} {reason}" for reason, n in taken.left_out.items())
        click.echo(f"{file}: {taken.spans:,} spans of {len(taken.traces):,} traces{left}")
        traces |= taken.traces
    intake.count(now=True)
    worker.round(time.time(), whole=True)
    among = calls_among(worker.calls, traces)
    others = "; the others ask nothing" if among.calls < len(traces) else ""
    of_all = f"{among.calls:,} of {len(traces):,} traces{others}{_taken_out(intake)}"
    click.echo(f"calls of project {worker.project}: {of_all}")
    if among.runs:
        more = f" and {len(among.runs) - RUNS_NAMED:,} more" if len(among.runs) > RUNS_NAMED else ""
        click.echo(f"runs: {', '.join(among.runs[:RUNS_NAMED])}{more}")
    if among.unpublished:
        waiting = f"{count(among.unpublished, 'call')} of a window that is not over"
        click.echo(f"in no run yet: {waiting}; `ragtriage collect` publishes it then")
    if losses := worker.calls.losses():
        click.echo(f"not used so far: {', '.join(f'{n:,} {name}' for name, n in losses.items())}")
