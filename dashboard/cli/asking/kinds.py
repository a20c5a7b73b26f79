"""The experiments that change a context or the settings of a pipeline: arms, noise, position."""

from __future__ import annotations

from typing import Any

import click

from ragtriage.dashboard.cli.asking.asking import ask_experiment, asking
from ragtriage.dashboard.cli.options import WholeNumbers


class Shares(click.ParamType[Any]):
    """Shares from 0 to below 1, separated by commas; they come sorted, each once."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the shares."""
        try:
            shares = tuple(sorted({float(part) for part in str(value).split(",")}))
        except ValueError:
            shares = (1.0,)
        if not all(0 <= share < 1 for share in shares):
            self.fail(f"{value!r}; accepted: shares from 0 to below 1, as in 0,0.4,0.8", param, ctx)
        return shares


def _factors(
    _: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, tuple[str | int | float, ...]]:
    """Read the NAME=A,B texts of an option; what looks like a number is one."""
    factors = {}
    for text in texts:
        name, equals, levels = text.partition("=")
        values = tuple(_level(level.strip()) for level in levels.split(",") if level.strip())
        if not equals or not name.strip() or not values:
            raise click.BadParameter(f"{text!r}; accepted: {parameter.metavar}, as in top_k=3,5,10")
        factors[name.strip()] = values
    return factors


def _level(text: str) -> str | int | float:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


@click.command()
@asking
@click.option("--documents", type=click.IntRange(3, 1000), help="Documents in a context.  [default: 10]")
@click.option(
    "--ranks",
    type=WholeNumbers(1, "1,5,10"),
    help="Ranks of the gold document.  [default: five, evenly spread]",
)
@click.pass_obj
def position(
    workspace: str | None, /, documents: int | None, ranks: tuple[int, ...] | None, **options: Any
) -> None:
    """Put the gold document first, in the middle, last: is it lost in the middle?

    Needs questions with the text of a gold passage. Distractors are drawn from the other questions' passages;
    closed book and the gold document alone are asked as floor and ceiling.
    """
    ask_experiment(workspace, "position", {"documents": documents, "ranks": ranks}, options)


@click.command()
@asking
@click.option("--documents", type=click.IntRange(2, 1000), help="Documents in a context.  [default: 5]")
@click.option("--shares", type=Shares(), help="Shares of noise in a context.  [default: 0,0.2,0.4,0.6,0.8]")
@click.pass_obj
def noise(
    workspace: str | None, /, documents: int | None, shares: tuple[float, ...] | None, **options: Any
) -> None:
    """Add documents that do not help, take the gold one away, and alter it.

    Needs questions with the text of a gold passage. Without the gold document the system should decline; from
    an altered one it shows whether it follows the context or its own knowledge.
    """
    ask_experiment(workspace, "noise", {"documents": documents, "shares": shares}, options)


@click.command()
@asking
@click.option(
    "--factor",
    "factors",
    multiple=True,
    required=True,
    callback=_factors,
    metavar="NAME=A,B",
    help="A setting with its levels, the base's first. Built-in: chunking, chunk_size, chunk_overlap, "
    "retriever, reranker, top_k, query_rewriting, context_words.",
)
@click.option("--one-at-a-time", is_flag=True, help="Change one setting at a time from the base.")
@click.pass_obj
def arms(workspace: str | None, /, factors: dict[str, Any], one_at_a_time: bool, **options: Any) -> None:
    """Try settings of a pipeline: every combination, or one at a time from a base.

    Each arm is a run with its settings, so Compare shows their effects and Chunking its grids.
    """
    ask_experiment(workspace, "arms", {"factors": factors, "one_at_a_time": one_at_a_time or None}, options)
