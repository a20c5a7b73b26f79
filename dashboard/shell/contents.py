"""Which pages have something to show of the project on display; the others are grouped under More."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.shell.session import View, current_selection, open_store
from ragtriage.data.chunking.grids import grids_of
from ragtriage.data.comparison.published_results import read_published
from ragtriage.data.errors import DataError
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.schema.scores import MetricsError, Source

CHECKED = "check_pass_rate"  # metric of a run that decides a check
PAIRED = ("compare", "trend")  # pages that need two runs
TRUSTED = (Source.JUDGED.label, Source.HUMAN.label)


def empty_pages() -> frozenset[str]:
    """Return the names of the pages that the project of the address, else the chosen one, leaves empty."""
    params = st.query_params.to_dict()
    try:
        return pages_without_content(View.of(open_store(), _selected(params)))
    except (DataError, MetricsError):  # shown where the page is drawn
        return frozenset()


def _selected(params: dict[str, str]) -> Selection:
    return Selection.from_params(params) if params.get("project") else current_selection()


def pages_without_content(view: View | None) -> frozenset[str]:
    """Return the names of the pages that would be empty in the project on display."""
    if view is None:
        return frozenset()
    empty = set() if len(view.runs) > 1 else set(PAIRED)
    metrics = [view.summary(run) for run in view.sampled]
    there = {
        "checks": any(CHECKED in summaries for summaries in metrics),
        "chunking": _has_grid(view.runs),
        "experiments": any(run.config.get("experiment") for run in view.runs),
        "judge": any(
            source in summary.sources
            for summaries in metrics
            for summary in summaries.values()
            for source in TRUSTED
        )
        or any(view.store.ledger.labels(run.run_id) for run in view.runs),
        "benchmarks": _is_published(view),
    }
    return frozenset(empty | {name for name, has in there.items() if not has})


@kept
def _has_grid(runs: tuple[Run, ...]) -> bool:
    return bool(grids_of(runs))


def _is_published(view: View) -> bool:
    """Return whether results on the data set of a run are published, or the workspace has its own."""
    data_sets = {run.dataset.casefold() for run in view.runs if run.dataset}
    tables = read_published(view.store.workspace).tables
    return any(run.means for run in view.runs) or any(
        table.dataset.casefold().startswith(name) for table in tables for name in data_sets
    )
