"""The f1 command: why F1 is low, the most that each part could give back, and what the team expects."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.options import JSON, RUN
from ragtriage.dashboard.cli.terminal import plain, print_json, screen_width, table, wrapped
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.dashboard.wording.f1_tree import (
    BOUND_NOTE,
    INTERVAL,
    expected_rows,
    expected_text,
    f1_rows,
    f1_sentence,
    largest_leaf,
    left_out_text,
)
from ragtriage.data.api import open_store
from ragtriage.data.comparison.published_results import SCALE_TITLES, band_scale
from ragtriage.data.declarations import use_declarations
from ragtriage.data.diagnosis.f1_tree import F1Diagnosis, f1_answer, f1_diagnosis
from ragtriage.data.strategy.expected_gains import Outlook, outlook_answer, outlook_of
from ragtriage.metrics.analysis.bands import BandScale

_ON_SCREEN = ("Part", "Mean", INTERVAL, "Band", "F1 if perfect, at most", "Gain, at most", "Cases")


@click.command()
@RUN
@click.option(
    "--bands",
    type=click.Choice([*SCALE_TITLES]),
    default="ragchecker",
    show_default=True,
    help="Target bands.",
)
@JSON
@click.pass_obj
def f1(workspace: str | None, run_name: str, bands: str, as_json: bool) -> None:
    """Show why F1 is low, and the most that each part could give back."""
    store = open_store(workspace)
    run = store.find(run_name)
    use_declarations(store.workspace, run.project)
    diagnosis = f1_diagnosis(store.scored(run))
    outlook = outlook_of(store, run, diagnosis.tree)
    if as_json:
        print_json(
            {"run": run.run_id, "name": run.name, **f1_answer(diagnosis), "expected": outlook_answer(outlook)}
        )
    else:
        click.echo(_text(diagnosis, outlook, band_scale(store.workspace, bands)))


def _text(diagnosis: F1Diagnosis, outlook: Outlook, scale: BandScale) -> str:
    tree = diagnosis.tree
    sections = [wrapped(f1_sentence(diagnosis))]
    if tree is not None:
        rows = f1_rows(tree, scale, "  ")
        sections.append(
            table(_ON_SCREEN, [[row[name] for name in _ON_SCREEN] for row in rows], screen_width())
        )
        leaf = largest_leaf(tree)
        if leaf is not None:
            sections.append(
                wrapped(f"What to try for {leaf.part.title.lower()}: {' '.join(leaf.part.measures)}")
            )
        notes = [
            BOUND_NOTE,
            left_out_text(diagnosis),
            f"bands: {scale.title}",
            f"source: {diagnosis.sources}",
        ]
        sections.append("\n".join(wrapped(f"{capital(note)}.", "  ") for note in notes if note))
    if outlook.gains:
        rows = expected_rows(outlook.gains)
        sections += [
            table(list(rows[0]), [[plain(cell) for cell in row.values()] for row in rows], screen_width()),
            wrapped(plain(expected_text(outlook))),
            *(wrapped(plain(f"Caution: {caution}.")) for caution in outlook.cautions),
        ]
    return "\n\n".join(sections)
