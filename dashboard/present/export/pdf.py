"""Reports as PDF, printed by a Chromium that is driven through two pipes, by its DevTools protocol."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import orjson

from ragtriage.dashboard.present.export.chromium import (
    FLAGS,
    end_group,
    no_pdf,
    required_chromium,
    run_bounded,
    sandboxes,
)
from ragtriage.dashboard.present.export.html_report import paper_report
from ragtriage.dashboard.present.stories.report import Report
from ragtriage.data.errors import DataError

# Chromium reads commands from file 3 and answers on file 4, which a shell makes of its own input and output
IN_SHELL = ("/bin/sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >&2', "sh")
END = b"\0"  # of a message
READ_BYTES = 1 << 16
PAPER = {"preferCSSPageSize": True, "printBackground": True, "generateDocumentOutline": True}


class _EndedError(Exception):
    """The browser has ended before it answered."""


class Browser:
    """A Chromium with one tab: it starts in the background, and ends with all its processes at the exit.

    Its methods raise a DataError where the browser fails or takes longer, from its start, than the seconds.
    """

    def __init__(self, chromium: str, seconds: float) -> None:
        self._chromium, self._seconds = chromium, seconds
        self._folder = tempfile.TemporaryDirectory(prefix="ragtriage-", ignore_cleanup_errors=True)
        self._path = Path(self._folder.name)
        self._sandboxes = list(sandboxes())
        self._received, self._events = bytearray(), set[str]()
        self._commands, self._session = 0, ""
        self._late = threading.Event()
        self._process = self._start()
        self._limit = threading.Timer(seconds, self._stop)
        self._limit.daemon = True
        self._limit.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limit.cancel()
        end_group(self._process)
        self._folder.cleanup()

    def load(self, page: str) -> None:
        """Load an HTML page that needs no network, and wait until its scripts have run."""
        file = self._path / "report.html"
        file.write_text(page, encoding="utf-8")
        try:
            self._open_tab()
            self._ask("Emulation.setEmulatedMedia", {"media": "print"})
            self._ask("Page.enable")
            self._ask("Page.navigate", {"url": file.as_uri()})
            while "Page.loadEventFired" not in self._events:
                self._receive()
        except _EndedError:
            raise self._failure() from None

    def print(self) -> bytes:
        """Return the loaded page as PDF, with page numbers and bookmarks."""
        try:
            return b64decode(self._ask("Page.printToPDF", PAPER)["data"])
        except _EndedError:
            raise self._failure() from None

    def _start(self) -> subprocess.Popen[bytes]:
        profile = f"--user-data-dir={self._path / 'profile'}"
        flags = [*FLAGS, *self._sandboxes.pop(0), "--no-startup-window", "--remote-debugging-pipe", profile]
        with (self._path / "messages").open("wb") as messages:
            return subprocess.Popen(  # noqa: S603 -- a browser, arguments as a list
                [*IN_SHELL, self._chromium, *flags],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                start_new_session=True,
            )

    def _stop(self) -> None:
        self._late.set()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _open_tab(self) -> None:
        """Open a tab; a browser that found no sandbox starts again without one."""
        try:
            tab = self._ask("Target.createTarget", {"url": "about:blank"})
        except _EndedError:
            if not self._sandboxes or "sandbox" not in self._messages().lower():
                raise
            end_group(self._process)
            self._process = self._start()
            tab = self._ask("Target.createTarget", {"url": "about:blank"})
        attached = self._ask("Target.attachToTarget", {"targetId": tab["targetId"], "flatten": True})
        self._session = attached["sessionId"]

    def _ask(self, method: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a command and return its result; events that come before it are noted."""
        self._commands += 1
        command = {"id": self._commands, "method": method, "params": parameters or {}}
        if self._session:
            command["sessionId"] = self._session
        try:
            os.write(_number(self._process.stdin), orjson.dumps(command) + END)
        except BrokenPipeError:
            raise _EndedError from None
        while (answer := self._receive()).get("id") != self._commands:
            pass
        if "error" in answer:
            raise no_pdf(self._chromium, str(answer["error"].get("message", "")))
        result: dict[str, Any] = answer["result"]
        return result

    def _receive(self) -> dict[str, Any]:
        """Return the next message of the browser."""
        searched = 0
        while (end := self._received.find(END, searched)) < 0:
            searched = len(self._received)
            more = os.read(_number(self._process.stdout), READ_BYTES)
            if not more:
                raise _EndedError
            self._received += more
        message: dict[str, Any] = orjson.loads(self._received[:end])
        del self._received[: end + 1]
        self._events.add(message.get("method", ""))
        return message

    def _messages(self) -> str:
        return (self._path / "messages").read_text("utf-8", "replace")

    def _failure(self) -> DataError:
        """Return why the browser ended: it took too long, or its last words."""
        if self._late.is_set():
            name = Path(self._chromium).name
            return DataError(f"{name} did not end within {self._seconds:.0f} s and was stopped")
        return no_pdf(self._chromium, self._messages())


def _number(pipe: IO[bytes] | None) -> int:
    assert pipe is not None  # noqa: S101 -- the browser was started with both
    return pipe.fileno()


TIME_LIMIT_SECONDS = 120.0
DRAWING_MS = 15_000  # of the page's virtual time, for charts to be laid out
PRINTING = (
    "--no-pdf-header-footer",
    "--generate-pdf-document-outline",
    f"--virtual-time-budget={DRAWING_MS}",
)


def pdf_report(report: Report, chromium: str | None = None, seconds: float = TIME_LIMIT_SECONDS) -> bytes:
    """Write a report as PDF with embedded fonts, page numbers and bookmarks.

    Raises:
        DataError: there is no Chromium (the message says what to install), or it failed or took too long.
    """
    chromium = chromium or required_chromium()
    if sys.platform == "win32":
        return print_by_command(paper_report(report), chromium, seconds)
    with Browser(chromium, seconds) as browser:  # starts while the page is written
        browser.load(paper_report(report))
        return browser.print()


def print_by_command(page: str, chromium: str, seconds: float = TIME_LIMIT_SECONDS) -> bytes:
    """Print an HTML page by a Chromium that ends by itself: Windows hands no pipes to programs by number.

    Raises:
        DataError: the browser failed or took too long.
    """
    with tempfile.TemporaryDirectory(prefix="ragtriage-", ignore_cleanup_errors=True) as folder:
        source, target = Path(folder) / "report.html", Path(folder) / "report.pdf"
        source.write_text(page, encoding="utf-8")
        command = [chromium, *FLAGS, *PRINTING, f"--user-data-dir={folder}/profile"]
        messages = ""
        for sandbox in sandboxes():
            process = run_bounded([*command, *sandbox, f"--print-to-pdf={target}", source.as_uri()], seconds)
            if target.is_file() and target.stat().st_size:
                return target.read_bytes()
            messages = process.stderr.decode("utf-8", "replace")
            if "sandbox" not in messages.lower():
                break
    raise no_pdf(chromium, messages)
