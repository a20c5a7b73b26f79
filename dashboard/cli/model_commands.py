"""The commands that ask a model, as the command line takes them: judge, generate."""

from __future__ import annotations

import math
import sys
from typing import Any

import click

__all__ = ["MODEL_COMMANDS"]

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_RUN = click.argument("run")


class _Finite(click.FloatRange):
    """A number within limits that is a number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return found


@click.command()
@_RUN
@click.option("--model", help="Model that judges; RAGTRIAGE_JUDGE_MODEL, else the price table's default.")
@click.option("--limit", type=click.IntRange(1), help="Judge the first so many samples.")
@click.option("--sample", type=click.IntRange(1), help="Judge so many drawn at random, by type of question.")
@click.option(
    "--repeats", type=click.IntRange(1, 20), default=1, show_default=True, help="Readings a sample."
)
@click.option("--budget", type=_Finite(0, min_open=True), metavar="USD", help="Limit that is not passed.")
@click.option("--concurrency", type=click.IntRange(1, 256), default=8, show_default=True, help="In flight.")
@click.option("--timeout", type=_Finite(1), default=120, show_default=True, help="Seconds a request.")
@click.option("--effort", type=click.Choice(["low", "medium", "high"]), default="low", show_default=True)
@click.option("--batch", is_flag=True, help="Through message batches: half the price, hours of time.")
@click.option("--evaluator", metavar="NAME", help="Run an evaluator of the project in place of the reading.")
@click.option("--prompts", metavar="FOLDER", help="Prompts of your own; the workspace's prompts/ otherwise.")
@click.option("--base-url", metavar="URL", help="Of the service; ANTHROPIC_BASE_URL does the same.")
@click.option("--count", is_flag=True, help="Let the service count tokens for the plan; costs nothing.")
@click.option("--dry-run", is_flag=True, help="Show what it would take; ask nobody.")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@_JSON
@click.pass_obj
def judge(workspace: str | None, /, run: str, as_json: bool, **given: Any) -> None:
    """Let Claude read the answers of a run; goes on from what was judged before."""
    from dashboard.cli import judge

    sys.exit(judge.run(workspace, run, judge.JudgeOptions(**given), as_json))


@click.command()
@_RUN
@click.option(
    "--context",
    type=click.Choice(["oracle", "retrieved", "none"]),
    default="oracle",
    show_default=True,
    help="What the answers are given: the gold documents, those that the run retrieved, or none.",
)
@click.option("--corpus", multiple=True, metavar="PATH", help="Texts of gold documents: .txt, .md, JSONL.")
@click.option("--model", help="Model that answers; RAGTRIAGE_JUDGE_MODEL, else the price table's default.")
@click.option("--limit", type=click.IntRange(1), help="Answer the first so many samples.")
@click.option("--budget", type=_Finite(0, min_open=True), metavar="USD", help="Limit that is not passed.")
@click.option("--concurrency", type=click.IntRange(1, 256), default=8, show_default=True, help="In flight.")
@click.option("--base-url", metavar="URL", help="Of the service; ANTHROPIC_BASE_URL does the same.")
@click.option("--dry-run", is_flag=True, help="Show what it would take; ask nobody.")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@_JSON
@click.pass_obj
def generate(workspace: str | None, /, run: str, as_json: bool, **given: Any) -> None:
    """Let Claude answer a run's questions anew: a run beside it that parts retrieval from generation."""
    from dashboard.cli import generate

    sys.exit(generate.run(workspace, run, generate.GenerateOptions(**given), as_json))


MODEL_COMMANDS = (judge, generate)
