"""Running a person's command when a run fails its gates; whatever it does, the watch goes on."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Sequence

from data.errors import DataError
from data.gates.report import GateReport

__all__ = ["HOOK_SECONDS", "command_words", "run_hook"]

HOOK_SECONDS = 60.0
_TO_STDERR = 2  # standard output of the watch is for its own lines


def command_words(text: str) -> list[str]:
    """Divide a command as a shell would; no shell reads it unless the command itself names one.

    Raises:
        DataError: a quotation mark stays open, or there is no word.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise DataError(f"command {text!r}: {error}; accepted: a program and its arguments") from error
    if not words:
        raise DataError("command: is empty; accepted: a program and its arguments")
    return words


def run_hook(
    words: Sequence[str], report: GateReport, strict: bool = False, seconds: float = HOOK_SECONDS
) -> str:
    """Run a command over a run that failed; "" where it ended well, else what went wrong.

    It finds RAGTRIAGE_RUN, RAGTRIAGE_VERDICT and RAGTRIAGE_PROJECT in its environment and the JSON of
    `ragtriage gate RUN --json` on standard input. What it prints goes to standard error.

    Args:
        words: the program and its arguments.
        report: of the gates.
        strict: whether gates count that had nothing to be judged by.
        seconds: after these it is ended, with whatever it has started.
    """
    told = {
        "RAGTRIAGE_RUN": report.run.run_id,
        "RAGTRIAGE_VERDICT": report.verdict_under(strict),
        "RAGTRIAGE_PROJECT": report.run.project,
    }
    try:
        answer = json.dumps(report.to_dict(strict), ensure_ascii=False, allow_nan=False)
        process = subprocess.Popen(  # noqa: S603 -- the user's own command, without a shell
            list(words),
            stdin=subprocess.PIPE,
            stdout=_TO_STDERR,
            env={**os.environ, **told},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return f"{words[0]}: cannot be run ({reason})"
    try:
        process.communicate(answer.encode("utf-8", "replace"), timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"{words[0]}: ended after {seconds:g} s without coming to an end"
    finally:
        _end(process)
    return f"{words[0]}: exit code {process.returncode}" if process.returncode else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command that still runs, with what it has started."""
    if process.poll() is not None:
        return
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
