"""What commands share on a terminal: answers as text and JSON, files, tables, questions, progress, errors."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import textwrap
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING, Any
from unicodedata import category, east_asian_width

import click

from ragtriage.data.errors import CANNOT_WRITE, DataError
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.text.printable import UNPRINTABLE
from ragtriage.metrics.result_table import Cell, Ends, Number, Of, ResultTable, cell_text
from ragtriage.metrics.schema.scores import MetricsError

if TYPE_CHECKING:
    from ragtriage.data.gates.next_steps import NextStep

STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, formats, halves of surrogate pairs, separators
MOST_STEPS = 3  # next steps that are written out
NARROWEST = 18  # characters that a wrapped cell keeps, however little room is left
BAR = "{desc}: {percentage:3.0f}%|{bar}| {n}/{total} [{elapsed}{postfix}]"
BAR_WITH_REST = BAR.replace("{elapsed}", "{elapsed}<{remaining}")  # of what does not know its own time left


def print_json(values: Any) -> None:
    """Print values as JSON."""
    text = json.dumps(values, ensure_ascii=False, indent=1, allow_nan=False)
    click.echo(UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text))


def print_answer(answer: Any) -> None:
    """Print the answer of a command: a text as it is, values as JSON."""
    click.echo(answer) if isinstance(answer, str) else print_json(answer)


def screen_width() -> int | None:
    """Return the width of the terminal; None where the text goes to a file or another program."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Align rows under a header, two spaces between columns.

    Where they are wider than the width, the widest columns are broken into lines first; the last ones are
    left out where that is not enough, and named below. None for no width: nothing is broken or left out.
    """
    cells = [[plain(cell) for cell in row] for row in (header, *rows)]
    widths = [max(_width(row[at]) for row in cells) for at in range(len(header))]
    if width is not None:
        widths = _fitting(widths, width)
    lines = []
    for row in cells:
        parts = [_parts(cell, column) for cell, column in zip(row, widths, strict=False)]
        for line in zip_longest(*parts, fillvalue=""):
            padded = [cell + " " * (column - _width(cell)) for cell, column in zip(line, widths, strict=True)]
            lines.append("  ".join(padded).rstrip())
        if row is cells[0]:
            lines.append("  ".join("-" * column for column in widths))
    if left_out := cells[0][len(widths) :]:
        lines.append(f"A wider terminal also shows: {', '.join(left_out)}; --json has everything.")
    return "\n".join(lines)


def _fitting(widths: Sequence[int], width: int) -> list[int]:
    """Return the widths of the columns that fit, the widest narrowed; the first two always stay."""
    shown = len(widths)
    while shown > 2 and sum(min(each, NARROWEST) for each in widths[:shown]) + 2 * (shown - 1) > width:
        shown -= 1
    fitted = list(widths[:shown])
    while sum(fitted) + 2 * (shown - 1) > width and max(fitted) > NARROWEST:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _parts(cell: str, width: int) -> list[str]:
    """Break a cell into lines at a width."""
    return textwrap.wrap(cell, width, break_on_hyphens=False) if _width(cell) > width else [cell]


def row_table(rows: Sequence[Mapping[str, Cell]]) -> str:
    """Align typed rows as wide as the terminal."""
    if not rows:
        return "none"
    header = list(rows[0])
    cells = [[cell_text(row[name]) for name in header] for row in rows]
    texts = [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in cells]
    return table(header, texts, screen_width())


def mean_cells(summary: MetricSummary) -> dict[str, Cell]:
    """Return the cells of a mean: itself, its interval, and the questions that it is over."""
    ends, questions = Ends(summary.low, summary.high), Of(summary.n_scored, summary.n_applicable)
    return {"mean": Number(summary.mean), "95 % interval": ends, "questions": questions}


def result_text(result: ResultTable, most: int | None = None) -> str:
    """Return a table of results with its title and note for a terminal, of its rows at most so many."""
    shown, n = result.rows[:most], len(result.rows)
    rest = "" if len(shown) == n else f"The first {len(shown)} of {n:,} rows."
    parts = [plain(result.title), row_table(shown)]
    return "\n".join([*parts, *(wrapped(plain(note)) for note in (result.note, rest) if note)])


def wrapped(text: str, indent: str = "") -> str:
    """Wrap a paragraph at the terminal's width; lines after the first begin with the indent."""
    width = screen_width()
    if width is None:
        return text
    return textwrap.fill(
        text,
        max(width, NARROWEST),
        subsequent_indent=indent,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def plain(text: str) -> str:
    """Replace what would steer a terminal or cannot be printed, direction marks included, by spaces."""
    return "".join(character if category(character) not in STEERING else " " for character in text)


def _width(text: str) -> int:
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def confirmed(question: str, yes: bool, command: str) -> bool:
    """Return whether the user wants it: asked on a terminal, unless --yes says so.

    Raises:
        click.UsageError: nobody can be asked.
    """
    if not yes and not sys.stdin.isatty():
        raise click.UsageError(
            f"{command} asks for confirmation, and this is not a terminal; accepted: --yes"
        )
    return yes or click.confirm(question, err=True)


def agreed(plan: str, ask: bool, question: str = "Continue?") -> bool:
    """Show a plan on the error output and return whether to go on; asked on a terminal alone."""
    click.echo(plan, err=True)
    return not (ask and sys.stdin.isatty()) or click.confirm(question, err=True)


@contextmanager
def progress_bar(doing: str, total: int | None = None, form: str = BAR) -> Iterator[Callable[..., None]]:
    """Show a progress bar on a terminal; yields what moves it: show(done, state, total)."""
    from tqdm import tqdm  # here, since most commands go without

    with tqdm(total=total, desc=doing, bar_format=form, disable=not sys.stderr.isatty()) as bar:

        def show(done: int, state: str = "", total: int | None = total) -> None:
            bar.n, bar.total = done, total
            bar.set_postfix_str(state, refresh=False)
            bar.refresh()

        yield show


@contextmanager
def on_signals(handler: Callable[..., object]) -> Iterator[None]:
    """Let SIGINT and SIGTERM call a function; a shell starts its background jobs with SIGINT ignored."""
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def error_text(error: Exception) -> str:
    """Return the message of an error; the traceback of one that we did not foresee goes to a file."""
    if isinstance(error, DataError | MetricsError):
        return "\n".join(map(plain, str(error).split("\n")))
    if isinstance(error, OSError) and error.errno in CANNOT_WRITE:
        where = f"{error.filename}: " if error.filename else ""
        accepted = "a folder that you may write to, on a disk with free space"
        return f"{where}cannot be written ({os.strerror(error.errno or 0)}); accepted: {accepted}"
    what = plain(f"{type(error).__name__}: {error}"[:300])
    details = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", errors="replace", prefix="ragtriage-error-", suffix=".txt", delete=False
        ) as file:
            file.write(details)
    except OSError:
        return f"internal error in ragtriage ({what}); the details could not be stored\n{details}"
    return f"internal error in ragtriage ({what}); the details are in {file.name}, please report them"


def step_list(steps: Sequence[NextStep]) -> str:
    """Return the first next steps of a run, numbered, under their title; "" for none."""
    from ragtriage.dashboard.wording.next_steps import step_sentences  # late: most commands need no gates

    lines = [f"{at}. {text}" for at, text in enumerate(step_sentences(steps[:MOST_STEPS]), 1)]
    return "\n".join(["Next steps:", *(wrapped(plain(line), "   ") for line in lines)]) if lines else ""
