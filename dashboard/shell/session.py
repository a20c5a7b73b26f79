"""What a page is given: the workspace as it is now, the selection, and diagnoses kept between clicks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import streamlit as st

from dashboard.shell.caching import HASH_FUNCS
from dashboard.shell.selection import Selection
from dashboard.wording.runs import distinct_labels
from data.comparison.compare import (
    Changes,
    Comparison,
    Side,
    changes,
    compare,
    metric_sides,
    stage_transitions,
)
from data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from data.errors import DataError
from data.scoring.run_store import RunStore
from data.scoring.sanity import check_run
from data.scoring.score_run import DEFAULT_KS, ScoreOptions
from data.scoring.scored_run import ScoredRun
from data.scoring.summaries import MetricSummary
from data.store.ledger import Ledger
from data.store.workspace import Run, Workspace
from metrics.sanity.run import Finding
from metrics.schema.metric import Convention

__all__ = [
    "View",
    "cached_diagnosis",
    "current_selection",
    "current_view",
    "keep",
    "open_cases",
    "open_store",
    "restore_selection",
    "save_selection",
]

_SELECTION, _WRITTEN, _PAGE = "selection", "written_params", "shown_page"


@st.cache_resource(max_entries=4)
def _store(root: str) -> RunStore:
    return RunStore(Workspace(root).create())


def open_store() -> RunStore:
    """Open the workspace that the server was started on."""
    return _store(str(Workspace.find(os.environ.get("RAGTRIAGE_WORKSPACE")).root))


def current_selection() -> Selection:
    """Give the selection of this browser tab."""
    found = st.session_state.get(_SELECTION)
    return found if isinstance(found, Selection) else Selection()


def keep(**changes: Any) -> None:
    """Change the selection of this tab; for callbacks, which run before the page does."""
    st.session_state[_SELECTION] = current_selection().with_(**changes)


def restore_selection(page: str) -> None:
    """Follow the URL where the person changed it: a link opened, back, forward.

    Another page of the navigation comes with an empty URL; there the selection stays.
    """
    params = st.query_params.to_dict()
    moved = st.session_state.get(_PAGE) not in (None, page)
    st.session_state[_PAGE] = page
    if params != st.session_state.get(_WRITTEN, {}) and (params or not moved):
        st.session_state[_SELECTION] = Selection.from_params(params)


def save_selection() -> None:
    """Write the selection into the URL."""
    params = current_selection().to_params()
    if params != st.query_params.to_dict():
        st.query_params.from_dict(params)
    st.session_state[_WRITTEN] = params


@dataclass(frozen=True)
class View:
    """The workspace seen through a selection.

    Attributes:
        store: of the workspace.
        selection: what is chosen.
        runs: the runs of the project, oldest first.
        run: the run on display.
        baseline: the run it is compared with, if any.
    """

    store: RunStore
    selection: Selection
    runs: tuple[Run, ...]
    run: Run
    baseline: Run | None

    @classmethod
    def of(cls, store: RunStore, selection: Selection) -> View | None:
        """Resolve a selection; what it names and is not there gives way to the default. None without runs."""
        runs = store.runs()
        if not runs:
            return None
        by_id = {run.run_id: run for run in runs}
        chosen = by_id.get(selection.run)
        projects = sorted({run.project for run in runs})
        project = selection.project
        if project not in projects:
            project = chosen.project if chosen else projects[0]
        mine = tuple(run for run in runs if run.project == project)
        run = chosen if chosen is not None and chosen in mine else _newest_measured(store, mine)
        return cls(store, selection, mine, run, _baseline(store, selection, mine, run))

    @property
    def project(self) -> str:
        """The project on display."""
        return self.run.project

    @property
    def sampled(self) -> tuple[Run, ...]:
        """The runs of the project that have samples; the others are known by their means alone."""
        return tuple(run for run in self.runs if not run.means)

    @cached_property
    def labels(self) -> dict[str, str]:
        """A name for every run of the project, made different where names repeat."""
        return distinct_labels(self.runs, self.store.names())

    @property
    def options(self) -> ScoreOptions:
        """How runs are scored under this selection."""
        return self._options(self.run)

    def _options(self, run: Run) -> ScoreOptions:
        convention: Convention = "ragchecker" if self.selection.convention == "ragchecker" else "default"
        return self.store.options(run, DEFAULT_KS, convention)

    def scored(self, run: Run) -> ScoredRun:
        """Give a run's arrays."""
        return self.store.scored(run, self._options(run))

    def summary(self, run: Run) -> dict[str, MetricSummary]:
        """Give a run's aggregates over all its questions."""
        return self.store.summary(run, self._options(run))

    def diagnosis(self, run: Run, settings: DiagnosisSettings | None = None) -> Diagnosis:
        """Diagnose a run under this selection; the result is kept until its labels change."""
        return cached_diagnosis(self.scored(run), settings or self.selection.settings(), self.store.ledger)

    def usual_diagnosis(self, run: Run) -> Diagnosis:
        """Diagnose a run at the usual thresholds and convention, whatever is selected, as gates do."""
        return cached_diagnosis(self.store.scored(run), DiagnosisSettings(), self.store.ledger)

    def comparison(self, base: Run, other: Run, metrics: Sequence[str]) -> Comparison:
        """Compare two runs under this selection."""
        return _comparison(self.diagnosis(base), self.diagnosis(other), tuple(metrics))

    def changes(self, base: Run, other: Run, metric: str) -> Changes:
        """List the questions by their change in a metric under this selection."""
        return _changes(self.diagnosis(base), self.diagnosis(other), metric)

    def flow(self, base: Run, other: Run) -> dict[tuple[str, str], int]:
        """Count the questions by their failure stage in both runs under this selection."""
        return _flow(self.diagnosis(base), self.diagnosis(other))

    def findings(self, run: Run) -> list[Finding]:
        """Return what the sanity checks found in a run."""
        return _findings(self.scored(run), self._options(run).convention)


def _newest_measured(store: RunStore, runs: tuple[Run, ...]) -> Run:
    """Pick the newest run with an answer-level score of its own; the newest of all where none has one."""
    for run in reversed([one for one in runs if not one.means and not _made_from(one)]):
        if any(name in store.summary(run) for name in ("faithfulness", "answer_relevancy", "correctness")):
            return run
    return runs[-1]


def _baseline(store: RunStore, selection: Selection, runs: tuple[Run, ...], run: Run) -> Run | None:
    """Pick the baseline chosen, else the project's, else the run before this one."""
    others = {one.run_id: one for one in runs if one.run_id != run.run_id and not one.means}
    versions = {run_id for run_id, one in others.items() if not _made_from(one)}
    wanted = selection.baseline or store.ledger.baselines().get(run.project, "")
    if wanted in others:
        return others[wanted]
    earlier = [one for one in runs[: runs.index(run)] if one.run_id in versions]
    return earlier[-1] if earlier else next((one for one in runs if one.run_id in versions), None)


def _made_from(run: Run) -> bool:
    """Whether a run was generated from another one to part its losses: no version of its own."""
    return bool(run.config.get("generated_from"))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH_FUNCS)
def cached_diagnosis(scored: ScoredRun, settings: DiagnosisSettings, ledger: Ledger) -> Diagnosis:
    """Diagnose a run with the labels of the ledger; kept until the ledger changes."""
    return diagnose(scored, settings, ledger.labels(scored.run.run_id))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH_FUNCS)
def _comparison(base: Diagnosis, other: Diagnosis, metrics: tuple[str, ...]) -> Comparison:
    return compare(base, other, metrics, _sides(base.scored, other.scored, metrics))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH_FUNCS)
def _sides(base: ScoredRun, other: ScoredRun, metrics: tuple[str, ...]) -> list[Side]:
    return metric_sides(base, other, metrics)


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=HASH_FUNCS)
def _changes(base: Diagnosis, other: Diagnosis, metric: str) -> Changes:
    return changes(base, other, metric)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH_FUNCS)
def _flow(base: Diagnosis, other: Diagnosis) -> dict[tuple[str, str], int]:
    return stage_transitions(base, other)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH_FUNCS)
def _findings(scored: ScoredRun, convention: Convention) -> list[Finding]:
    return check_run(scored, convention)


def current_view() -> View:
    """Give the view of this rerun; raises DataError in a workspace without runs."""
    view = st.session_state.get("view")
    if not isinstance(view, View):
        raise DataError("the workspace holds no run yet; load one on the Runs page")
    return view


def open_cases(**chosen: Any) -> None:
    """Go to the Cases page with a filter; for the main script, not for callbacks."""
    st.session_state[_SELECTION] = current_selection().unfiltered().with_(**chosen)
    st.switch_page("views/cases.py")
