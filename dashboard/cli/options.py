"""Options that several commands share, and the kinds of value that they accept."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

T = TypeVar("T", bound="Callable[..., Any] | click.Command")


class FiniteFloat(click.FloatRange):
    """A number within limits, neither infinite nor NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


def with_default(name: str, default: Any, help_text: str, **more: Any) -> Callable[[T], T]:
    """Return an option whose help shows its default."""
    return click.option(name, default=default, show_default=True, help=help_text, **more)


PATH = click.Path(path_type=Path)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
RUN = click.argument("run_name", metavar="RUN")
RUNS = click.argument("run_names", nargs=-1, required=True, metavar="RUN...")
PROJECT = click.option("--project", help="Project; the run's, else the workspace's only one.")
NEW_PROJECT = click.option("--project", help="Project of the runs; the workspace's only one, else `default`.")
WHO = click.option("--who", metavar="NAME", help="Who makes the change; by default your login name.")
PORT = click.option("--port", type=int, help="Port of the dashboard; the first free one from 8501.")
YES = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
BASELINE = click.option(
    "--baseline", metavar="RUN", help="Run to compare with; by default the project's baseline."
)
GATES_FILE = click.option(
    "--config", metavar="FILE", help="Gates; the workspace's gates.toml, else the bundled ones."
)

# of what asks a model or a system under test
BUDGET = click.option(
    "--budget", type=FiniteFloat(0, min_open=True), metavar="USD", help="The most that may be spent."
)
DRY_RUN = click.option("--dry-run", is_flag=True, help="Show the plan and its cost; ask nothing.")
BASE_URL = click.option(
    "--base-url", metavar="URL", help="Address of the service; ANTHROPIC_BASE_URL does the same."
)
MODEL = click.option("--model", help="Claude model; RAGTRIAGE_JUDGE_MODEL, else the price table's default.")
TIMEOUT = with_default(
    "--timeout", 60.0, "Time to wait for one answer.", type=FiniteFloat(0, min_open=True), metavar="SECONDS"
)
KEEP_ALIVE = click.option(
    "--keep-alive", is_flag=True, help="The command stays and answers one JSON line for each line."
)


def concurrency_option(most: int, usual: int) -> Callable[[T], T]:
    """Return the option on how many requests are sent at a time."""
    return with_default("--concurrency", usual, "Requests at a time.", type=click.IntRange(1, most))


def bands_option(usual: str) -> Callable[[T], T]:
    """Return the option on the bands that means are put into."""
    from ragtriage.data.comparison.published_results import SCALE_TITLES  # here: it loads NumPy

    return with_default(
        "--bands",
        usual,
        "Target bands: production targets, RAGChecker's guide for strict or general use, or the Ragas scale.",
        type=click.Choice([*SCALE_TITLES]),
    )


class WholeHelp(click.Group):
    """A group whose list of commands shows the first sentence of each, not its first 45 characters."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in the help."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command.get_short_help_str(limit=200)) for name, command in commands if command]
            )


class ChosenWords(click.ParamType[Any]):
    """Words out of a list, separated by commas; each comes once, in the order of the list."""

    name = "text"

    def __init__(self, accepted: Sequence[str]) -> None:
        self.accepted = tuple(accepted)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the words."""
        words = value if isinstance(value, tuple) else [part.strip() for part in str(value).split(",")]
        unknown = [word for word in words if word not in self.accepted]
        if unknown:
            accepted = f"any of {', '.join(self.accepted)}, separated by commas"
            self.fail(f"{unknown[0][:40]!r}; accepted: {accepted}", param, ctx)
        return tuple(word for word in self.accepted if word in words)


class WholeNumbers(click.ParamType[Any]):
    """Whole numbers separated by commas; they come sorted, each once."""

    name = "text"

    def __init__(self, least: int, example: str) -> None:
        self.least = least
        self.example = example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the numbers."""
        from ragtriage.metrics.schema.metric import whole_number  # here: it loads NumPy

        parts = [part.strip() for part in str(value).split(",")]
        if not all((number := whole_number(part)) is not None and number >= self.least for part in parts):
            accepted = f"whole numbers of {self.least} or more, as in {self.example}"
            self.fail(f"{value!r}; accepted: {accepted}", param, ctx)
        return tuple(sorted({int(part) for part in parts}))


def key_value_pairs(_: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Read the KEY=VALUE texts of an option that may be repeated."""
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{text!r}; accepted: {parameter.metavar}")
        if pairs.setdefault(key, value) != value:
            raise click.BadParameter(
                f"{key!r} is given twice, as {pairs[key]!r} and as {value!r}; accepted: each name once"
            )
    return pairs


def column_mapping(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    """Read the FIELD=COLUMN texts of an option; each field and each column may be named once."""
    pairs = key_value_pairs(context, parameter, texts)
    for field, column in pairs.items():
        if not column.strip() or not all(part.strip() for part in field.split(".")):
            raise click.BadParameter(f"'{field}={column}'; accepted: FIELD=COLUMN, both named in full")
    columns = list(pairs.values())
    if twice := next((column for column in columns if columns.count(column) > 1), ""):
        named = " and ".join(field for field, column in pairs.items() if column == twice)
        raise click.BadParameter(f"column {twice!r} is given to {named}; accepted: one field for a column")
    return pairs


HEADER_ENV = click.option(
    "--header-env",
    multiple=True,
    metavar="HEADER=VARIABLE",
    callback=key_value_pairs,
    help="Send a header with the value of an environment variable, as in Authorization=MY_KEY.",
)


def named_numbers(names: Sequence[str], most: float = math.inf) -> Callable[..., dict[str, float]]:
    """Return the callback of an option NAME=NUMBER that may be repeated, with numbers from 0 to the most."""

    def read(_: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, float]:
        numbers = {}
        for text in texts:
            name, _sign, value = text.partition("=")
            try:
                numbers[name] = float(value)
            except ValueError:
                numbers[name] = -1.0
            if name not in names or not 0 <= numbers[name] <= most or math.isinf(numbers[name]):
                limits = "from 0 up" if math.isinf(most) else f"from 0 to {most:g}"
                accepted = f"{parameter.metavar}, a number {limits} for any of {', '.join(names)}"
                raise click.BadParameter(f"{text!r}; accepted: {accepted}")
        return numbers

    return read
