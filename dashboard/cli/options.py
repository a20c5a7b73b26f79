"""Options that several commands share, and the kinds of value that they accept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import click

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
RUN = click.argument("run_name", metavar="RUN")
RUNS = click.argument("run_names", nargs=-1, required=True, metavar="RUN...")
PROJECT = click.option("--project", help="Project; the run's, else the workspace's only one.")
WHO = click.option("--who", metavar="NAME", help="Who makes the change; by default your login name.")
PORT = click.option("--port", type=int, help="Port of the dashboard; the first free one from 8501.")
GATES_FILE = click.option(
    "--config", metavar="FILE", help="Gates; the workspace's gates.toml, else the bundled ones."
)


class FiniteFloat(click.FloatRange):
    """A number within limits, neither infinite nor NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


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
        from ragtriage.metrics.schema.whole_number import (
            whole_number,  # here: it loads NumPy, which options do without
        )

        parts = [part.strip() for part in str(value).split(",")]
        if not all((number := whole_number(part)) is not None and number >= self.least for part in parts):
            self.fail(
                f"{value!r}; accepted: whole numbers of {self.least} or more, as in {self.example}",
                param,
                ctx,
            )
        return tuple(sorted({int(part) for part in parts}))


def key_value_pairs(_: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Read the KEY=VALUE texts of an option that may be repeated."""
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{text!r}; accepted: {parameter.metavar}")
        pairs[key] = value
    return pairs
