"""Commands of the user that are told something: a run that failed, an alert."""

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import current_thread, main_thread

from ragtriage.data.errors import DataError

HOOK_SECONDS = 60.0
LOOK_SECONDS = 0.1  # between two looks whether a signal was received
_TO_STDERR = 2  # standard output of the watch is for its own lines


def command_words(text: str) -> list[str]:
    """Split a command into words as a shell would; no shell runs it unless the command itself names one.

    Raises:
        DataError: a quotation mark is not closed, or there is no word.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise DataError(f"command {text!r}: {error}; accepted: a program and its arguments") from error
    if not words:
        raise DataError("command: is empty; accepted: a program and its arguments")
    return words


def run_hook(
    words: Sequence[str], variables: Mapping[str, str], body: str, seconds: float = HOOK_SECONDS
) -> str:
    """Run a command and return what went wrong, "" where nothing did.

    What it is told is in its environment and on its standard input, never in its words. What it prints goes
    to standard error. SIGINT and SIGTERM end it and are then passed on to this process. After `seconds` it
    is killed together with the processes it started.

    Args:
        words: of the command.
        variables: added to its environment.
        body: its standard input.
        seconds: its time limit.
    """
    with _signals_held() as received:
        try:
            process = subprocess.Popen(  # noqa: S603 -- the user's own command, without a shell
                list(words),
                stdin=subprocess.PIPE,
                stdout=_TO_STDERR,
                env={**os.environ, **variables},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            return f"{words[0]}: cannot be run ({reason})"
        try:
            ended = _wait(process, body.encode("utf-8", "replace"), seconds, received)
        finally:
            _kill(process)
    if not ended:
        return f"{words[0]}: killed after {seconds:g} s, its time limit"
    return f"{words[0]}: exit code {process.returncode}" if process.returncode else ""


@contextmanager
def _signals_held() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM in a list, and raise them again at the end.

    A handler that raises could do so between the start of a process and the `try` that ends it. A signal
    that is ignored stays so.
    """
    received: list[int] = []
    handlers = {}
    if current_thread() is main_thread():  # no other thread may set handlers, and none gets signals
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                handlers[number] = signal.signal(number, lambda number, _: received.append(number))
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for received_number in received[:1]:
            signal.raise_signal(received_number)


def _wait(process: subprocess.Popen[bytes], answer: bytes, seconds: float, received: Sequence[int]) -> bool:
    """Wait until a process ends; return False when its time is up or a signal was received before."""
    end = time.monotonic() + seconds
    to_write: bytes | None = answer
    while not received and time.monotonic() < end:
        try:
            process.communicate(to_write, timeout=min(LOOK_SECONDS, max(0.0, end - time.monotonic())))
        except subprocess.TimeoutExpired:
            to_write = None  # communicate() goes on with the rest of what it was given first
        else:
            return True
    return False


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that still runs, and its whole session."""
    if process.poll() is not None:
        return
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
