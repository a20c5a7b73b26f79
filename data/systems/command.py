"""A system that is a command: started without a shell, one JSON object in, one out.

By default every question starts a process of its own; with `keep_alive` processes stay and answer one line of
JSON with one line. A process is the head of a process group, which is killed whole when it takes too long,
writes too much, or is done.
"""

import hashlib
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from ragtriage.data.errors import DataError
from ragtriage.data.systems.system import (
    Secrets,
    SystemLimits,
    SystemReply,
    SystemRequest,
    failed,
    read_reply,
    reason_text,
    secret_arguments,
)

MOST_STDERR = 4_000  # bytes kept of what it wrote on standard error, its end
AT_ONCE = 65_536
POLL_SECONDS = 0.05
INTERPRETERS = ("bash", "bun", "deno", "node", "perl", "python", "Rscript", "ruby", "sh")
SCRIPTS = {".cfg", ".js", ".mjs", ".pl", ".py", ".r", ".rb", ".sh", ".toml", ".ts", ".yaml", ".yml"}
LARGEST_SCRIPT = 1_000_000  # bytes: scripts of a command up to this are part of what it is


def split_command(text: str) -> list[str]:
    """Return a command as a list of arguments: a JSON list of texts, or split as a shell would.

    Raises:
        DataError: nothing could be started.
    """
    try:
        arguments = orjson.loads(text) if text.lstrip().startswith("[") else shlex.split(text)
    except ValueError as error:
        raise DataError(
            f"command {text[:80]!r}: {error}; accepted: a program with arguments, or a JSON list of texts"
        ) from error
    if not arguments or not all(isinstance(argument, str) and "\0" not in argument for argument in arguments):
        raise DataError(f"command {text[:80]!r}: no program; accepted: a program with arguments")
    if shutil.which(arguments[0]) is None:
        raise DataError(f"command {arguments[0]!r}: not found; accepted: a program on the PATH, or its path")
    script = (
        Path(arguments[1]) if Path(arguments[0]).name.startswith(INTERPRETERS) and arguments[1:] else None
    )
    if script is not None and script.suffix in SCRIPTS and not script.is_file():
        raise DataError(f"script {arguments[1]!r}: not found; accepted: the path of a file")
    return list(arguments)


@dataclass
class _Process:
    """A process with its pipes; `errors` is the end of what it wrote on standard error."""

    popen: subprocess.Popen[bytes]
    errors: bytearray = field(default_factory=bytearray)

    def kill(self) -> None:
        """Kill the whole group, also where its head has ended, and close the pipes."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        for pipe in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


@dataclass
class _Exchange:
    """The outcome of writing to a process and reading from it; `problem` is "" where it ended well."""

    written: bytearray = field(default_factory=bytearray)
    problem: str = ""


class CommandSystem:
    """A system that is a command."""

    def __init__(self, arguments: Sequence[str], keep_alive: bool = False) -> None:
        """Take a command as a list of arguments.

        No shell reads the arguments; with `keep_alive` its processes stay and answer line by line.

        Raises:
            DataError: this machine has no process groups.
        """
        if sys.platform == "win32":
            raise DataError("a system that is a command needs Linux or macOS; accepted: an http address")
        self._arguments, self._keep_alive = list(arguments), keep_alive
        self._secrets = Secrets(secret_arguments(self._arguments))
        self._shown = self._secrets.hide_arguments(self._arguments)
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._running: set[int] = set()
        self._processes: dict[int, _Process] = {}
        self._closed = False

    @property
    def name(self) -> str:
        """The command without secrets."""
        return shlex.join(self._shown)

    @property
    def identity(self) -> str:
        """Digest of the command and of the scripts that it names, so that an edited one is another system."""
        digest = hashlib.sha256(orjson.dumps(["command", self._shown]))
        for place, argument in enumerate(self._arguments):
            path = Path(argument)
            with suppress(OSError, ValueError):
                if (place == 0 or path.suffix in SCRIPTS) and path.stat().st_size <= LARGEST_SCRIPT:
                    digest.update(path.read_bytes())
        return digest.hexdigest()

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:
        """Ask one question; what the command does wrong is a failed reply with the reason."""
        start = time.monotonic()
        try:
            process = self._taken()
        except OSError as error:
            return failed(f"it could not be started ({error.strerror})", passing=True)
        exchange = _Exchange()
        try:
            line = orjson.dumps(request.payload()) + b"\n"
            exchange = _converse(process, line, start + limits.timeout_seconds, limits, self._keep_alive)
            seconds = time.monotonic() - start
            if exchange.problem:
                passing = exchange.problem.startswith("no answer within")
                return failed(self._with_stderr(exchange.problem, process), seconds, passing)
            reply = read_reply(bytes(exchange.written), request, seconds, self._secrets)
            if reply.status == "failed":
                return failed(self._with_stderr(reply.reason, process), seconds)
            return reply
        finally:
            self._give_back(process, stays=self._keep_alive and not exchange.problem)

    def close(self) -> None:
        """Kill what runs."""
        with self._lock:
            self._closed = True
            processes = list(self._processes.values())
            self._idle.clear()
        for process in processes:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.popen.pid, signal.SIGKILL)

    def _taken(self) -> _Process:
        """Return a process that waits for a question: an idle one that was silent meanwhile, or a new one."""
        while True:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            if process is None:
                return self._started()
            if process.popen.poll() is None and not _has_output(process):
                return process
            self._give_back(process, stays=False)

    def _started(self) -> _Process:
        popen = subprocess.Popen(  # noqa: S603 -- the user's own command, as a list
            self._arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        for pipe in (popen.stdin, popen.stdout, popen.stderr):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
        process = _Process(popen)
        with self._lock:
            self._processes[popen.pid] = process
            closed = self._closed
        if closed:
            process.kill()
        return process

    def _give_back(self, process: _Process, stays: bool) -> None:
        with self._lock:
            if stays and not self._closed:
                self._idle.append(process)
                return
            self._processes.pop(process.popen.pid, None)
        process.kill()

    def _with_stderr(self, reason: str, process: _Process) -> str:
        message = reason_text(self._secrets.hide(process.errors.decode("utf-8", "replace"))[-200:])
        return f"{reason}; on standard error: {message}" if message else reason


def _has_output(process: _Process) -> bool:
    """Return whether a process wrote unasked; it would be taken for the next answer."""
    if process.popen.stdout is None:
        return False
    with suppress(BlockingIOError):
        return os.read(process.popen.stdout.fileno(), 1) is not None
    return False


def _converse(
    process: _Process, line: bytes, deadline: float, limits: SystemLimits, one_line: bool
) -> _Exchange:
    """Write a line to a process and read its answer: one line, or all it writes until it ends."""
    popen, exchange = process.popen, _Exchange()
    if popen.stdin is None or popen.stdout is None or popen.stderr is None:
        raise DataError("a process without pipes")
    unsent = memoryview(line)
    with selectors.DefaultSelector() as selector:
        selector.register(popen.stdin, selectors.EVENT_WRITE)
        selector.register(popen.stdout, selectors.EVENT_READ)
        selector.register(popen.stderr, selectors.EVENT_READ)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                exchange.problem = f"no answer within {limits.timeout_seconds:g} s"
                return exchange
            ended = popen.poll() is not None
            ready = _ready(selector, popen, 0.0 if ended else left)
            for key, _ in ready:
                if key.fileobj is popen.stdin:
                    unsent = _sent(process, unsent, selector, keep_open=one_line)
                elif key.fileobj is popen.stderr:
                    stderr = process.popen.stderr
                    chunk = _chunk(stderr.fileno()) if stderr is not None else b""
                    if chunk == b"" and stderr is not None:
                        selector.unregister(stderr)
                    process.errors.extend(chunk or b"")
                    del process.errors[:-MOST_STDERR]
                elif not _read_output(process, exchange, selector):
                    ended = True
            if _is_over(process, exchange, limits, one_line, ended and not ready):
                return exchange


def _ready(
    selector: selectors.BaseSelector, popen: subprocess.Popen[bytes], left: float
) -> list[tuple[selectors.SelectorKey, int]]:
    """Wait for a pipe that can be read or written, or a little; for the end where all pipes are closed."""
    if selector.get_map():
        return selector.select(min(left, POLL_SECONDS))
    with suppress(subprocess.TimeoutExpired):
        popen.wait(left)
    return []


def _sent(
    process: _Process, unsent: memoryview, selector: selectors.BaseSelector, keep_open: bool
) -> memoryview:
    """Write what the pipe takes; at the end, or where nobody reads, the pipe is left alone or closed."""
    stdin = process.popen.stdin
    if stdin is None:
        return unsent
    try:
        unsent = unsent[os.write(stdin.fileno(), unsent[:AT_ONCE]) :]
    except BlockingIOError:
        return unsent
    except OSError:  # it reads no more; what it answers decides
        unsent = unsent[:0]
    if not unsent:
        selector.unregister(stdin)
        if not keep_open:
            with suppress(OSError):
                stdin.close()
    return unsent


def _read_output(process: _Process, exchange: _Exchange, selector: selectors.BaseSelector) -> bool:
    """Read what there is; return False at the end of the output."""
    stdout = process.popen.stdout
    chunk = _chunk(stdout.fileno()) if stdout is not None else b""
    if chunk == b"" and stdout is not None:
        selector.unregister(stdout)
        return False
    exchange.written.extend(chunk or b"")
    return True


def _chunk(descriptor: int) -> bytes | None:
    """Return what can be read now; None where that is nothing, b"" at the end."""
    try:
        return os.read(descriptor, AT_ONCE)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _is_over(
    process: _Process, exchange: _Exchange, limits: SystemLimits, one_line: bool, drained: bool
) -> bool:
    """Return whether there is an answer, or a problem, which is then set."""
    if len(exchange.written) > limits.most_bytes:
        exchange.problem = f"it wrote more than {limits.most_bytes:,} bytes"
        return True
    if one_line and b"\n" in exchange.written:
        if exchange.written.partition(b"\n")[2].strip():
            exchange.problem = "it wrote more than one line for one question"
        return True
    code = process.popen.poll()
    if code is None or not drained:
        return False
    if one_line:
        exchange.problem = f"it ended ({_ending(code)}) before it answered"
    elif code != 0:
        exchange.problem = f"it ended with {_ending(code)}"
    return True


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return f"signal {signal.Signals(-code).name}"
    return f"signal {-code}"
