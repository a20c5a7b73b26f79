"""The citations command: how many citations of a run support their sentence."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.options import JSON, RUN
from ragtriage.dashboard.cli.terminal import plain, print_json, table, wrapped
from ragtriage.dashboard.wording.citations import NOT_CITED, citation_facts, citation_rows, citations_sentence
from ragtriage.data.analysis.citations import citations_answer, citations_of_run
from ragtriage.data.api import open_store
from ragtriage.data.errors import DataError


@click.command()
@RUN
@JSON
@click.pass_obj
def citations(workspace: str | None, run_name: str, as_json: bool) -> None:
    """Show how many citations of a run support their sentence, with counts and intervals."""
    store = open_store(workspace)
    run = store.find(run_name)
    if run.means:
        raise DataError(f"{run.name} ({run.run_id}) has summary scores only; accepted: a run with samples")
    found = citations_of_run(store.scored(run))
    if as_json:
        answer = None if found is None else citations_answer(found)
        print_json({"run": run.run_id, "name": run.name, "citations": answer})
        return
    if found is None:
        click.echo(wrapped(plain(NOT_CITED)))
        return
    rows = citation_rows(found)
    click.echo(wrapped(citations_sentence(found)))
    click.echo(table(list(rows[0]), [[str(cell) for cell in row.values()] for row in rows]))
    for fact in citation_facts(found):
        click.echo(wrapped(fact))
