"""The ab command: which arm of a live test is better, and whether it may stop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ragtriage.dashboard.cli.options import JSON, FiniteFloat
from ragtriage.dashboard.cli.terminal import plain, print_json, result_text, row_table, wrapped
from ragtriage.dashboard.headlines.ab import ab_headline
from ragtriage.dashboard.tables.live_tests import arm_table, metric_table
from ragtriage.data.ab.ab_test import TestOptions, live_test
from ragtriage.data.ab.reading import TestRows, read_test
from ragtriage.data.errors import DataError
from ragtriage.data.store.workspace import Workspace

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


def _runs(_: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Read the ARM=RUN texts."""
    runs = dict(text.split("=", 1) for text in texts if "=" in text)
    if len(runs) < len(texts) or not all(arm and run for arm, run in runs.items()):
        raise click.BadParameter(f"{', '.join(texts)!r}; accepted: {parameter.metavar}, each arm once")
    return runs


@click.command()
@click.argument("data", nargs=-1, metavar="[DATA...]")
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
@click.option("--arm", metavar="ARM", help="Arm that the conclusion is about; by default the best one.")
@click.option("--once", is_flag=True, help="This is the only look, planned before the start.")
@click.option("--save", metavar="NAME", help="Keep the test in the workspace, for the page A/B.")
@click.option("--note", metavar="TEXT", default="", help="With --save: what to know of the data.")
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="ARM=RUN",
    callback=_runs,
    help="With --save: the run of the version that an arm is, which the page leads to. May be repeated.",
)
@JSON
@click.pass_obj
def ab(
    workspace: str | None,
    /,
    data: tuple[str, ...],
    save: str | None,
    note: str,
    runs: dict[str, str],
    as_json: bool,
    **given: Any,
) -> None:
    """Compare the arms of a live test: split, metrics, guardrails, and what would settle it.

    DATA is a file with a column of arms, a file for each arm, or a folder of them: CSV, TSV or JSONL with
    a row for each answer or user; or the name of a test that --save has kept. Without DATA, the tests that
    are kept are listed. Columns such as user_id, timestamp, task_completed, satisfaction_score, nps_score and
    response_time are known by name; every column of numbers or of yes and no is a metric.
    """
    if not data:
        _list(workspace, as_json)
        return
    rows, options = _opened(workspace, data, given)
    test = live_test(rows, options)
    if save is not None:
        _save(workspace, (rows, options), save, data, note, runs)
    headline = ab_headline(test)
    if as_json:
        print_json({**test.to_dict(), "sentence": headline.text})
        return
    shown = [] if test.state == "split_broken" else [metric_table(test, arm) for arm in test.results]
    parts = [wrapped(plain(headline.text)), *(result_text(table) for table in (arm_table(test), *shown))]
    click.echo("\n\n".join(parts))


def _opened(
    workspace: str | None, data: Sequence[str], given: Mapping[str, Any]
) -> tuple[TestRows, TestOptions]:
    """Return the rows and the options of files, or of a test that is kept, with what is given beside it."""
    shares = given["shares"]
    named = {name: given[name] for name in ("metric", "worth", "arm") if given[name] is not None}
    if given["guardrails"]:
        named["guardrails"] = given["guardrails"]
    if shares is not None:
        named |= {"shares": shares or None, "randomised": shares != ()}
    if given["once"]:
        named["once"] = True
    columns = {name: given[name] for name in ("by", "user", "time", "base")}
    if len(data) > 1 or Path(data[0]).exists() or not Workspace.find(workspace).root.is_dir():
        return read_test(data, **columns), TestOptions(**named)
    from ragtriage.data.ab.stored_tests import chosen_options, find_test, stored_tests

    opened = Workspace.find(workspace)
    if not any(data[0] in (test.name, test.test_id) for test in stored_tests(opened)[0]):
        return read_test(data, **columns), TestOptions(**named)
    if asked := [f"--{name}" for name, value in columns.items() if value is not None]:
        raise DataError(f"{', '.join(asked)} with a kept test; accepted: with files, before it is kept")
    test = find_test(opened, data[0])
    return test.rows(), chosen_options(test.options, **named)


def _save(
    workspace: str | None,
    test: tuple[TestRows, TestOptions],
    name: str,
    data: Sequence[str],
    note: str,
    runs: Mapping[str, str],
) -> None:
    """Keep a test, and say so on standard error."""
    from ragtriage.data.ab.stored_tests import keep_test
    from ragtriage.data.scoring.run_store import open_store

    store = open_store(workspace, create=True)
    ids = {arm: store.find(run).run_id for arm, run in runs.items()}
    origin = ", ".join(Path(path).name for path in data)
    kept = keep_test(store.workspace, *test, name, origin, note, ids)
    if kept.name != name.strip():
        click.echo(f"The same test was kept before: it stays {kept.name!r}, not {name!r}.", err=True)
    click.echo(
        f"Kept as {kept.name!r} ({kept.test_id}): the page A/B of `ragtriage serve` shows it.", err=True
    )


def _list(workspace: str | None, as_json: bool) -> None:
    """Print the tests that are kept, each with its conclusion."""
    from ragtriage.data.ab.stored_tests import stored_tests

    tests, problems = stored_tests(Workspace.find(workspace))
    rows = []
    for test in tests:
        found = live_test(test.rows(), test.options)
        names = {"id": test.test_id, "name": test.name, "kept": test.created_at, "origin": test.origin}
        rows.append({**names, "state": found.state, "conclusion": ab_headline(found).statement})
    for problem in problems:
        click.echo(problem, err=True)
    if as_json:
        print_json(rows)
        return
    shown = [{"Test": each["name"], "Id": each["id"], "Conclusion": each["conclusion"]} for each in rows]
    click.echo(
        row_table(shown) if rows else "No live test is kept; `ragtriage ab DATA --save NAME` keeps one."
    )
