"""The checks command: the check suites of a run, and which of their checks failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import click

from ragtriage.dashboard.cli.options import JSON, RUN
from ragtriage.dashboard.cli.terminal import plain, print_json, result_text, screen_width, table, wrapped
from ragtriage.dashboard.headlines.checks import checks_headline, no_checks_headline
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.dashboard.wording.suites import counts_text, name_rows, reason_rows, suite_rows
from ragtriage.data.api import open_store
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.failing import CheckFilter, CheckPage, check_page
from ragtriage.data.suites.registry import suite_detail
from ragtriage.data.suites.router import router_scores
from ragtriage.data.suites.summary import SuiteSummary, suite_summaries
from ragtriage.metrics.number_text import count, number
from ragtriage.metrics.result_table import ResultTable

ROUTE_COSTS = ("refused", "added", "mixed_up")


@click.command()
@RUN
@click.option("--suite", default="", help="Key of one suite, such as router; all without it.")
@click.option("--failing", is_flag=True, help="List the checks that failed, a page at a time.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Checks a page.")
@click.option("--page", type=click.IntRange(1), default=1, show_default=True, help="Page of the list.")
@click.option(
    "--route-cost",
    "route_costs",
    multiple=True,
    metavar="KIND=WEIGHT",
    help="What a wrong route costs, 1 without it: refused (to the fallback), added (past it), mixed_up.",
)
@JSON
@click.pass_obj
def checks(
    workspace: str | None,
    run_name: str,
    suite: str,
    failing: bool,
    limit: int,
    page: int,
    route_costs: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show the check suites of a run: what passed, with intervals, and why the rest failed."""
    store = open_store(workspace)
    run = store.find(run_name)
    if run.means:
        raise DataError(f"{run.name} ({run.run_id}) has summary scores only; accepted: a run with samples")
    scored = store.scored(run)
    summaries, weights = _chosen(suite_summaries(scored), suite, run.name), _weights(route_costs)
    listed = check_page(scored, CheckFilter(suite), page, limit) if failing else None
    if as_json:
        print_json({**_answer(scored, summaries, listed), **_route_costs(scored, weights)})
    elif not summaries:
        click.echo(wrapped(plain(no_checks_headline(run.name).text)))
    else:
        click.echo(_text(scored, run.name, summaries, listed))
        for name, costs in _route_costs(scored, weights).get("route_costs", {}).items():
            values = (
                f"{number(costs['router'], 3)}; always “{costs['constant']}” {number(costs['always'], 3)}"
            )
            click.echo(wrapped(plain(f"Cost of a decision of {name} under your weights: {values}.")))


def _weights(texts: Sequence[str]) -> dict[str, float]:
    weights = {}
    for text in texts:
        kind, _, value = text.partition("=")
        try:
            weights[kind] = float(value)
        except ValueError:
            weights[kind] = -1.0
        if kind not in ROUTE_COSTS or not 0 <= weights[kind] < inf:
            accepted = f"KIND=WEIGHT with a weight from 0 up and a kind of {', '.join(ROUTE_COSTS)}"
            raise click.BadParameter(f"{text!r}; accepted: {accepted}", param_hint="--route-cost")
    return weights


def _route_costs(scored: ScoredRun, weights: Mapping[str, float]) -> dict[str, Any]:
    """Return the cost of a decision of each router and of its best constant one; {} without weights."""
    if not weights:
        return {}
    found = {}
    for one in router_scores(scored):
        costs = [one.constant_cost(code, **weights) for code in range(len(one.decisions.routes))]
        best = min(range(len(costs)), key=costs.__getitem__)
        found[one.decisions.name] = {
            "router": one.cost(**weights),
            "constant": one.decisions.routes[best],
            "always": costs[best],
            "weights": dict(weights),
        }
    return {"route_costs": found}


def _chosen(summaries: Sequence[SuiteSummary], suite: str, run: str) -> list[SuiteSummary]:
    chosen = [summary for summary in summaries if suite in ("", summary.key)]
    if suite and not chosen:
        keys = ", ".join(shorten(summary.key, 40) for summary in summaries) or "none, as it records no checks"
        raise DataError(f"--suite {suite[:60]!r}: {run} has no such suite; accepted: {keys}")
    return chosen


def _answer(scored: ScoredRun, summaries: Sequence[SuiteSummary], listed: CheckPage | None) -> dict[str, Any]:
    suites = []
    for summary in summaries:
        detail = suite_detail(scored, summary.key)
        suites.append({**summary.to_dict(), "detail": None if detail is None else detail.to_dict()})
    answer: dict[str, Any] = {"run": scored.run.run_id, "name": scored.run.name, "suites": suites}
    if listed is not None:
        answer["failing"] = {
            "total": listed.total,
            "page": listed.page,
            "pages": listed.pages,
            "checks": [row.to_dict() for row in listed.rows],
        }
    return answer


def _text(scored: ScoredRun, name: str, summaries: Sequence[SuiteSummary], listed: CheckPage | None) -> str:
    width = screen_width()
    rows = suite_rows(summaries)
    sections = [
        wrapped(plain(checks_headline(name, summaries).text)),
        table(list(rows[0]), [[str(cell) for cell in row.values()] for row in rows], width),
    ]
    if listed is None:
        sections += [part for summary in summaries for part in _suite(scored, summary)]
    else:
        sections += [_listed(listed)]
    return "\n\n".join(sections)


def _suite(scored: ScoredRun, summary: SuiteSummary) -> list[str]:
    """Return what a suite tells beyond its row in the table of suites."""
    parts = [wrapped(plain(f"{shorten(summary.title, 60)}: {counts_text(summary)}"))]
    detail = suite_detail(scored, summary.key)
    if detail is not None and detail.statement:
        parts += [wrapped(plain(detail.statement))]
    tables = [] if detail is None else list(detail.tables)
    if len(summary.names) > 1:
        tables.append(ResultTable("By check", tuple(name_rows(summary.names))))
    tables.append(ResultTable("Why", tuple(reason_rows(summary))))
    return [*parts, *(result_text(each) for each in tables if each.rows)]


def _listed(page: CheckPage) -> str:
    if not page.rows:
        return "No check failed."
    rows = [
        [
            row.question_id if not row.repeat else f"{row.question_id}, repeat {row.repeat}",
            shorten(row.suite, 20),
            shorten(row.name, 30),
            shorten(row.expected, 40),
            shorten(row.actual, 40),
            shorten(row.reason, 120),
        ]
        for row in page.rows
    ]
    header = ["case", "suite", "check", "expected", "actual", "reason"]
    told = f"Page {page.page:,} of {page.pages:,}; {count(page.total, 'check')} failed."
    return f"{table(header, rows, screen_width())}\n{told}"
