"""The production command: is live traffic still as good, since when, with which release?"""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.options import JSON
from ragtriage.dashboard.cli.terminal import plain, print_json, result_text, wrapped
from ragtriage.dashboard.headlines.production import FIRST_TRACE, band_facts, production_headline
from ragtriage.dashboard.tables.live_traffic import (
    alert_table,
    label_table,
    measure_table,
    sampling_table,
    topic_table,
)
from ragtriage.data.errors import DataError
from ragtriage.data.live.calls import Calls
from ragtriage.data.live.feedback.sending import live_project
from ragtriage.data.live.production.as_json import production_dict
from ragtriage.data.live.production.facts import production as production_facts
from ragtriage.data.live.production.times import (
    BEFORE,
    RELEASE,
    SPANS,
    USUAL_SPAN,
    chosen_span,
)
from ragtriage.data.scoring.run_store import open_store


@click.command()
@click.option("--project", help="Project with live traffic; the workspace's only one.")
@click.option(
    "--last", "span", type=click.Choice([*SPANS]), help=f"Time up to the last call; {USUAL_SPAN} by default."
)
@click.option("--from", "first", metavar="TIME", help="Begin, as 2026-03-01T18:00; UTC.")
@click.option("--to", "last", metavar="TIME", help="End; the last call by default.")
@click.option(
    "--against",
    type=click.Choice([RELEASE, BEFORE]),
    help="Compare with the time before the newest release, or with as long before; release by default.",
)
@JSON
@click.pass_obj
def production(
    workspace: str | None,
    project: str | None,
    span: str | None,
    first: str | None,
    last: str | None,
    against: str | None,
    as_json: bool,
) -> None:
    """Say whether live traffic is still as good, since when, for which topics and with which release.

    What `ragtriage collect` received is shown as on the page Production: refusals of all calls, scores of the
    kept ones weighted by their rate, alerts of the policy, topics, and what to label first.
    """
    if span is not None and first is not None:
        raise DataError("--last with --from; accepted: one of them, --to with either")
    store = open_store(workspace)
    project = live_project(store.workspace, project)
    calls = Calls.of(store.workspace, project)
    if calls.span_of_time() is None:
        print_json({"sentence": FIRST_TRACE.text}) if as_json else click.echo(plain(FIRST_TRACE.text))
        return
    facts = production_facts(store, project, *chosen_span(calls, span, first, last), against or "")
    headline = production_headline(facts)
    if as_json:
        print_json({**production_dict(facts), "state": headline.state, "sentence": headline.text})
        return
    tables = [measure_table(facts), alert_table(facts), topic_table(facts), label_table(facts)]
    shown = [table for table in (*tables, sampling_table(facts)) if table is not None and table.rows]
    notes = [
        wrapped(plain(text)) for text in (headline.text, " · ".join(band_facts(facts)), facts.origin) if text
    ]
    click.echo("\n\n".join(["\n".join(notes), *map(result_text, shown)]))
