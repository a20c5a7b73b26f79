"""Commands of a workflow, lines that a runner reads: texts of a run are escaped in them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from ragtriage.data.text.printable import printable

Level = Literal["error", "warning", "notice"]
LONGEST = 1_000  # characters of a message


def _data(text: str) -> str:
    """Escape a message; a line end would begin a command of its own."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape the value of a property, which a comma or colon would end."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def annotation(level: Level, message: str, title: str = "", file: str = "", line: int | None = None) -> str:
    """Return the command that shows a message in the log, and beside a line of a file where one is named."""
    values = {"title": printable(title), "file": file, "line": "" if line is None else str(line)}
    properties = ",".join(f"{name}={_property(value)}" for name, value in values.items() if value)
    text = "\n".join(map(printable, message.splitlines()))
    return f"::{level}{' ' if properties else ''}{properties}::{_data(text[:LONGEST])}"


@contextmanager
def commands_stopped() -> Iterator[None]:
    """Let the runner take no line that is printed here for a command."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)  # noqa: T201 -- the runner reads standard output
    try:
        yield
    finally:
        print(f"::{token}::", flush=True)  # noqa: T201 -- as above
