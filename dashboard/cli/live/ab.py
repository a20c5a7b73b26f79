"""The ab command: which arm of a live test is better, and whether it may stop."""

from __future__ import annotations

import math

import click

from ragtriage.dashboard.cli.options import JSON, FiniteFloat
from ragtriage.dashboard.cli.terminal import plain, print_json, result_text, wrapped
from ragtriage.dashboard.headlines.ab import ab_headline
from ragtriage.dashboard.tables.live_tests import arm_table, metric_table
from ragtriage.data.ab.ab_test import TestOptions, live_test
from ragtriage.data.ab.reading import read_test

NO_SHARES = "none"


def _margins(_: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, float]:
    """Read the NAME:MARGIN texts."""
    margins = {}
    for text in texts:
        name, colon, value = text.rpartition(":")
        try:
            margin = float(value)
        except ValueError:
            margin = -1.0
        if not (colon and name and 0 <= margin < math.inf):
            accepted = (
                f"{parameter.metavar}, a metric and the largest loss accepted, as in back_within_7_days:0.03"
            )
            raise click.BadParameter(f"{text!r}; accepted: {accepted}")
        margins[name] = margin
    return margins


def _shares(_: click.Context, _parameter: click.Parameter, text: str | None) -> tuple[float, ...] | None:
    """Read shares joined by colons; () for none."""
    if text is None or text == NO_SHARES:
        return None if text is None else ()
    try:
        shares = tuple(float(part) for part in text.split(":"))
    except ValueError:
        shares = ()
    if len(shares) < 2 or not all(0 < share < math.inf for share in shares):
        raise click.BadParameter(f"{text!r}; accepted: a number above 0 for each arm, as in 50:50, or none")
    return shares


@click.command()
@click.argument("data", nargs=-1, required=True, metavar="DATA...")
@click.option("--by", metavar="COLUMN", help="Column that names the arm; by default found by its name.")
@click.option("--base", metavar="ARM", help="Arm to compare with; by default base, control or the first.")
@click.option(
    "--metric", metavar="NAME", help="Metric that decides; by default task completion, satisfaction ..."
)
@click.option(
    "--guardrail",
    "guardrails",
    multiple=True,
    metavar="NAME:MARGIN",
    callback=_margins,
    help="Metric that may lose at most a margin, in its unit (a share: 0.03). May be repeated.",
)
@click.option(
    "--worth",
    type=FiniteFloat(0, min_open=True),
    metavar="EFFECT",
    help="Effect worth having, in the metric's unit, fixed before the start.",
)
@click.option(
    "--shares",
    metavar="50:50",
    callback=_shares,
    help="Planned shares, the base first; equal by default. `none`: nobody was assigned at random.",
)
@click.option("--user", metavar="COLUMN", help="Column of the user; by default found by its name.")
@click.option("--time", metavar="COLUMN", help="Column of the time; by default found by its name.")
@click.option("--once", is_flag=True, help="This is the only look, planned before the start.")
@JSON
def ab(
    data: tuple[str, ...],
    by: str | None,
    base: str | None,
    metric: str | None,
    guardrails: dict[str, float],
    worth: float | None,
    shares: tuple[float, ...] | None,
    user: str | None,
    time: str | None,
    once: bool,
    as_json: bool,
) -> None:
    """Compare the arms of a live test: split, metrics, guardrails, and what would settle it.

    DATA is a file with a column of arms, a file for each arm, or a folder of them: CSV, TSV or JSONL with
    a row for each answer or user. Columns such as user_id, timestamp, task_completed, satisfaction_score,
    nps_score and response_time are known by name; every column of numbers or of yes and no is a metric.
    """
    rows = read_test(data, by=by, user=user, time=time, base=base)
    options = TestOptions(metric, guardrails, worth, shares or None, randomised=shares != (), once=once)
    test = live_test(rows, options)
    headline = ab_headline(test)
    if as_json:
        print_json({**test.to_dict(), "sentence": headline.text})
        return
    shown = [] if test.state == "split_broken" else [metric_table(test, arm) for arm in test.results]
    parts = [wrapped(plain(headline.text)), *(result_text(table) for table in (arm_table(test), *shown))]
    click.echo("\n\n".join(parts))
