"""The commands on checks: check (of the numbers), checks (of the run's suites), citations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from ragtriage.dashboard.cli.options import JSON, RUN, named_numbers, with_default
from ragtriage.dashboard.cli.terminal import plain, print_answer, print_json, result_text, row_table, wrapped
from ragtriage.dashboard.suites.headline import (
    check_name_table,
    checks_headline,
    counts_text,
    no_checks_headline,
    reason_table,
    suite_table,
)
from ragtriage.dashboard.suites.registry import shown_suite
from ragtriage.dashboard.tables.run import citation_table
from ragtriage.dashboard.wording.citations import NOT_CITED, citation_facts, citations_sentence
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.analysis.citations import citations_answer, citations_of_run
from ragtriage.data.api import open_store
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.check_table import (
    CheckFilter,
    CheckPage,
    SuiteSummary,
    check_page,
    suite_summaries,
)
from ragtriage.data.suites.router import router_scores
from ragtriage.metrics.number_text import count, number


@click.command()
@RUN
@JSON
@click.pass_obj
def check(workspace: str | None, run_name: str, as_json: bool) -> None:
    """Run the sanity checks on the numbers of a run."""
    store = open_store(workspace)
    findings = check_run(store.scored(store.find(run_name)))
    texts = [f"{finding.severity}: {finding.title}: {finding.message}" for finding in findings]
    text = "\n".join(wrapped(plain(text), "  ") for text in texts) or "Nothing found."
    print_answer([finding.to_dict() for finding in findings] if as_json else text)


ROUTE_COSTS = ("refused", "added", "mixed_up")


@click.command()
@RUN
@click.option("--suite", default="", help="Key of one suite, such as router; all without it.")
@click.option("--failing", is_flag=True, help="List the checks that failed, a page at a time.")
@with_default("--limit", 20, "Checks a page.", type=click.IntRange(1, 1000))
@with_default("--page", 1, "Page of the list.", type=click.IntRange(1))
@click.option(
    "--route-cost",
    "route_costs",
    multiple=True,
    metavar="KIND=WEIGHT",
    callback=named_numbers(ROUTE_COSTS),
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
    route_costs: dict[str, float],
    as_json: bool,
) -> None:
    """Show the check suites of a run: what passed, with intervals, and why the rest failed."""
    store = open_store(workspace)
    run = store.find(run_name).with_samples()
    scored = store.scored(run)
    summaries = _chosen(suite_summaries(scored), suite, run.name)
    costs = _router_costs(scored, route_costs) if route_costs else {}
    listed = check_page(scored, CheckFilter(suite), page, limit) if failing else None
    if as_json:
        print_json(_answer(scored, summaries, listed) | ({"route_costs": costs} if route_costs else {}))
    elif not summaries:
        click.echo(wrapped(plain(no_checks_headline(run.name).text)))
    else:
        headline = wrapped(plain(checks_headline(run.name, summaries).text))
        parts = [part for summary in summaries for part in _suite(scored, summary)]
        below = parts if listed is None else [_failing(listed)]
        click.echo("\n\n".join([headline, row_table(suite_table(summaries).rows), *below]))
        for name, cost in costs.items():
            values = f"{number(cost['router'], 3)}; always “{cost['constant']}” {number(cost['always'], 3)}"
            click.echo(wrapped(plain(f"Cost of a decision of {name} under your weights: {values}.")))


def _router_costs(scored: ScoredRun, weights: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """Return the cost of a decision of each router and of its best constant one."""
    answer = {}
    for router in router_scores(scored):
        routes = router.decisions.routes
        costs = [router.constant_cost(code, **weights) for code in range(len(routes))]
        best = min(range(len(costs)), key=costs.__getitem__)
        answer[router.decisions.name] = {
            "router": router.cost(**weights),
            "constant": routes[best],
            "always": costs[best],
            "weights": dict(weights),
        }
    return answer


def _chosen(summaries: Sequence[SuiteSummary], suite: str, run: str) -> list[SuiteSummary]:
    chosen = [summary for summary in summaries if suite in ("", summary.key)]
    if suite and not chosen:
        keys = ", ".join(shorten(summary.key, 40) for summary in summaries) or "none, as it records no checks"
        raise DataError(f"--suite {suite[:60]!r}: {run} has no such suite; accepted: {keys}")
    return chosen


def _answer(scored: ScoredRun, summaries: Sequence[SuiteSummary], listed: CheckPage | None) -> dict[str, Any]:
    suites = []
    for summary in summaries:
        shown = shown_suite(scored, summary.key)
        suites.append({**summary.to_dict(), "detail": None if shown is None else shown.to_dict()})
    answer: dict[str, Any] = {"run": scored.run.run_id, "name": scored.run.name, "suites": suites}
    if listed is not None:
        answer["failing"] = {
            "total": listed.total,
            "page": listed.page,
            "pages": listed.pages,
            "checks": [row.to_dict() for row in listed.rows],
        }
    return answer


def _suite(scored: ScoredRun, summary: SuiteSummary) -> list[str]:
    """Return what a suite tells beyond its row in the table of suites."""
    parts = [wrapped(plain(f"{shorten(summary.title, 60)}: {counts_text(summary)}"))]
    shown = shown_suite(scored, summary.key)
    if shown is not None and shown.statement:
        parts += [wrapped(plain(shown.statement))]
    tables = [] if shown is None else list(shown.tables)
    if len(summary.names) > 1:
        tables.append(replace(check_name_table(summary), title="By check"))
    tables.append(replace(reason_table(summary), title="Why"))
    return [*parts, *(result_text(each) for each in tables if each.rows)]


def _failing(page: CheckPage) -> str:
    if not page.rows:
        return "No check failed."
    rows = [
        {
            "case": f"{row.question_id}, repeat {row.repeat}" if row.repeat else row.question_id,
            "suite": shorten(row.suite, 20),
            "check": shorten(row.name, 30),
            "expected": shorten(row.expected, 40),
            "actual": shorten(row.actual, 40),
            "reason": shorten(row.why, 120),
        }
        for row in page.rows
    ]
    place = f"Page {page.page:,} of {page.pages:,}; {count(page.total, 'check')} failed."
    return f"{row_table(rows)}\n{place}"


@click.command()
@RUN
@JSON
@click.pass_obj
def citations(workspace: str | None, run_name: str, as_json: bool) -> None:
    """Show how many citations of a run support their sentence, with counts and intervals."""
    store = open_store(workspace)
    run = store.find(run_name).with_samples()
    cited = citations_of_run(store.scored(run))
    if as_json:
        answer = None if cited is None else citations_answer(cited)
        print_json({"run": run.run_id, "name": run.name, "citations": answer})
    elif cited is None:
        click.echo(wrapped(plain(NOT_CITED)))
    else:
        facts = map(wrapped, citation_facts(cited))
        rows = row_table(citation_table(cited).rows)
        click.echo("\n".join([wrapped(citations_sentence(cited)), rows, *facts]))
