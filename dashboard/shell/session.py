"""What pages work with: the workspace, the selection of the tab, cached diagnoses, warnings of old links."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import streamlit as st

from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.comparison.compare import (
    Changes,
    Comparison,
    changes,
    compare,
    metric_sides,
    stage_transitions,
)
from ragtriage.data.comparison.compared_metrics import pair_metrics, primary_metric
from ragtriage.data.comparison.guardrails import judged_guardrails
from ragtriage.data.comparison.question_match import match_questions
from ragtriage.data.declarations import use_declarations
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.errors import DataError
from ragtriage.data.gates.baseline import Baseline, baseline_of
from ragtriage.data.live.calls import live_projects
from ragtriage.data.scoring.batch_scores import DEFAULT_KS, ScoreOptions
from ragtriage.data.scoring.run_store import RunStore, distinct_labels
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.gates.gates import GateResult
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.schema.metric import CONVENTIONS, Convention

_SELECTION, _WRITTEN, _PAGE, _CHANGED = "selection", "written_params", "shown_page", "selection_changed"


@st.cache_resource(max_entries=4)
def _store(root: str) -> RunStore:
    return RunStore(Workspace(root).create())


def open_store() -> RunStore:
    """Open the workspace that the server was started on."""
    return _store(str(Workspace.find(os.environ.get("RAGTRIAGE_WORKSPACE")).root))


def current_selection() -> Selection:
    """Return the selection of this browser tab."""
    selection = st.session_state.get(_SELECTION)
    return selection if isinstance(selection, Selection) else Selection()


def keep(**changes: Any) -> None:
    """Change the selection of this tab; for callbacks, which run before the page."""
    st.session_state[_SELECTION] = current_selection().with_(**changes)
    st.session_state[_CHANGED] = True


def end_presentation() -> None:
    """Run the page again with its navigation instead of a slide; for the main script, not for callbacks."""
    keep(slide=0)
    st.rerun()


def restore_selection(page: str) -> None:
    """Read the selection from the URL where the user changed it: a link, back, forward.

    Navigation to another page comes with an empty URL; the selection is kept then. So it is where a callback
    has just changed it: of two quick key presses, the second comes with the URL from before the first.
    """
    params = st.query_params.to_dict()
    changed = st.session_state.pop(_CHANGED, False)
    moved = st.session_state.get(_PAGE) not in (None, page)
    st.session_state[_PAGE] = page
    if not changed and params != st.session_state.get(_WRITTEN, {}) and (params or not moved):
        st.session_state[_SELECTION] = Selection.from_params(params)
    elif moved and not changed:
        st.session_state[_SELECTION] = current_selection().with_(tab="", unfolded=())


def save_selection(shown: View | None = None, since: str = "") -> None:
    """Write the selection into the URL, with what the run is compared with where nothing was chosen.

    Args:
        shown: what the page shows.
        since: word for what Compare compares with; "" on other pages.
    """
    params = current_selection().to_params()
    if since:
        params["since"] = since
    if shown is not None and shown.found.run is not None:
        params["baseline"] = shown.found.run.run_id
    elif shown is not None and shown.previous is not None:  # no baseline to gates, which compare with none
        params["before"] = f"{shown.run.run_id}~{shown.previous.run_id}"
    st.session_state.pop(_CHANGED, None)
    if params != st.query_params.to_dict():
        st.query_params.from_dict(params)
    st.session_state[_WRITTEN] = params


def pin_run(run: Run) -> None:
    """Make the run that is shown the chosen one, so that neither a new run nor a link shows another."""
    if current_selection().run != run.run_id:
        st.session_state[_SELECTION] = current_selection().with_(run=run.run_id)


@dataclass(frozen=True)
class View:
    """The workspace seen through a selection."""

    store: RunStore
    selection: Selection  # the choices of the user
    runs: tuple[Run, ...]  # the runs of the project, oldest first
    run: Run  # the run on display
    found: Baseline  # its baseline, the same for pages, gates and reports, and how it was found
    # what it is compared with where it has no baseline and is none: the run before, if any
    previous: Run | None = None

    @property
    def baseline(self) -> Run | None:
        """The run that it is compared with: its baseline, else the run before; None for a baseline itself."""
        return self.found.run or self.previous

    @property
    def comparison_base(self) -> Run | None:
        """Return what versions are compared with: the same, and a baseline on display itself."""
        return self.run if self.found.itself and not self.run.means else self.baseline

    @classmethod
    def of(cls, store: RunStore, selection: Selection) -> View | None:
        """Resolve a selection; names that do not exist give way to defaults. None without a run."""
        runs = store.runs()
        if not runs:
            return None
        by_id = {run.run_id: run for run in runs}
        chosen = by_id.get(selection.run)
        projects = sorted({run.project for run in runs})
        project = selection.project
        if project not in projects:
            if project in live_projects(store.workspace):
                return None
            newest = next((run for run in reversed(runs) if not run.means), runs[-1])
            project = (chosen or newest).project
        use_declarations(store.workspace, project)
        in_project = tuple(run for run in runs if run.project == project)
        run = chosen if chosen is not None and chosen in in_project else _newest_measured(store, in_project)
        sampled = {other.run_id for other in in_project if not other.means}
        baseline = baseline_of(store, run, selection.baseline if selection.baseline in sampled else "")
        before = by_id.get(selection.before.removeprefix(f"{run.run_id}~"))
        pinned = before if before is not None and before.run_id in sampled and before != run else None
        earlier = reversed(in_project[: in_project.index(run)])  # with samples, the newest first
        before_it = next((each for each in earlier if not each.means and not _is_generated(each)), None)
        previous = None if baseline.run or baseline.itself else pinned or before_it
        return cls(store, selection, in_project, run, baseline, previous)

    @property
    def project(self) -> str:
        """The project on display."""
        return self.run.project

    @property
    def sampled(self) -> tuple[Run, ...]:
        """The runs of the project that have samples; of the others only the means were reported."""
        return tuple(run for run in self.runs if not run.means)

    @cached_property
    def labels(self) -> dict[str, str]:
        """A distinct label for every run of the project."""
        return distinct_labels(self.runs, self.store.names())

    @property
    def options(self) -> ScoreOptions:
        """How runs are scored under this selection."""
        return self._options(self.run)

    def _options(self, run: Run) -> ScoreOptions:
        if run.run_id not in self._found_options:
            convention: Convention = next(
                (name for name in CONVENTIONS if name == self.selection.convention), "default"
            )
            self._found_options[run.run_id] = self.store.options(run, DEFAULT_KS, convention)
        return self._found_options[run.run_id]

    @cached_property
    def _found_options(self) -> dict[str, ScoreOptions]:
        """How runs are scored by id, as far as this rerun asked; a page asks many times for each."""
        return {}

    def scored(self, run: Run) -> ScoredRun:
        """Return a run with its scores."""
        return self.store.scored(run, self._options(run))

    def summary(self, run: Run) -> dict[str, MetricSummary]:
        """Return the summary of every metric of a run."""
        return self.store.summary(run, self._options(run))

    def diagnosis(self, run: Run, settings: DiagnosisSettings | None = None) -> Diagnosis:
        """Diagnose a run under this selection; the result is kept until its labels change."""
        return cached_diagnosis(self.scored(run), settings or self.selection.settings(), self.store.ledger)

    def usual_diagnosis(self, run: Run) -> Diagnosis:
        """Diagnose a run at the usual thresholds and convention, whatever is selected, as gates do."""
        return cached_diagnosis(self.store.scored(run), DiagnosisSettings(), self.store.ledger)

    def comparison(self, base: Run, other: Run, metrics: Sequence[str] | None = None) -> Comparison:
        """Compare two runs under this selection; a run that is compared with and no baseline is named."""
        usual = base == self.found.run or self.found.itself
        base_name = "the baseline" if usual else self.labels[base.run_id]
        sides = self.diagnosis(base), self.diagnosis(other)
        family = pair_metrics(self.scored(base), self.scored(other)) if metrics is None else metrics
        return _comparison(*sides, tuple(family), self.primary, base_name)

    def guardrails(self, base: Run, other: Run) -> tuple[GateResult, ...]:
        """Judge what got slower, dearer or more often an error or a wrong refusal than in a baseline."""
        return _guardrails(self.diagnosis(base), self.diagnosis(other))

    @cached_property
    def primary(self) -> str:
        """The primary metric of the project."""
        return primary_metric(self.store.workspace, self.project)

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
    """Return the newest run with an answer-level score of its own, else the newest run."""
    for run in reversed([run for run in runs if not run.means and not _is_generated(run)]):
        if any(name in store.summary(run) for name in ("faithfulness", "answer_relevancy", *CORRECTNESS)):
            return run
    return runs[-1]


def _is_generated(run: Run) -> bool:
    """Return whether a run was generated from another for its oracle gap: it is not a version of its own."""
    return bool(run.config.get("generated_from"))


def cached_diagnosis(scored: ScoredRun, settings: DiagnosisSettings, ledger: Ledger) -> Diagnosis:
    """Diagnose a run with the labels of the ledger; kept until the labels of this run change."""
    return _diagnosis(scored, settings, tuple(ledger.labels(scored.run.run_id)))


_diagnosis = kept(diagnose)


@kept
def _guardrails(base: Diagnosis, other: Diagnosis) -> tuple[GateResult, ...]:
    return tuple(judged_guardrails(base, other, match_questions(base.scored, other.scored)))


@kept
def _comparison(
    base: Diagnosis, other: Diagnosis, metrics: tuple[str, ...], primary: str, base_name: str
) -> Comparison:
    return compare(base, other, metrics, _sides(base.scored, other.scored, metrics), primary, base_name)


_sides = kept(metric_sides)
_changes = kept(changes)
_flow = kept(stage_transitions)
_findings = kept(check_run)


def current_view() -> View:
    """Return the view of this rerun; raises DataError in a workspace without runs."""
    view = st.session_state.get("view")
    if not isinstance(view, View):
        raise DataError("the workspace has no runs yet; load one on the Runs page")
    return view


def open_cases(**chosen: Any) -> None:
    """Open the Cases page with a filter; for the main script, not for callbacks."""
    open_anew("cases", **chosen)


def open_anew(page: str, **chosen: Any) -> None:
    """Open a page with no filter but what is chosen; for the main script, not for callbacks."""
    st.session_state[_SELECTION] = current_selection().unfiltered().with_(**chosen)
    go_to_page(page)


def go_to_page(page: str, **chosen: Any) -> None:
    """Open another page with the selection, changed as told; for the main script, not for callbacks.

    Args:
        page: its path in the URL, as "compare".
        chosen: fields of the selection to change.
    """
    selection = current_selection().with_(**{"tab": "", **chosen})
    st.session_state[_SELECTION] = selection
    st.session_state[_CHANGED] = True
    st.switch_page(f"{page}/{page}.py", query_params=selection.to_params())


LONGEST = 60  # characters of a name from the URL that the warning repeats


def missing_choices(store: RunStore, selection: Selection, needs_run: bool = True) -> dict[str, str]:
    """Return a message for each field of a selection that names something missing.

    Args:
        store: of the workspace.
        selection: of this tab.
        needs_run: whether a project of which there is only live traffic is missing.
    """
    runs = {run.run_id: run for run in store.runs()}
    if not runs:
        return {}
    messages = {}
    project, chosen = selection.project, runs.get(selection.run)
    projects = {run.project for run in runs.values()}
    if project and project not in projects:
        if project not in live_projects(store.workspace):
            messages["project"] = f"There is no project {_named(project)} in this workspace"
        elif needs_run:
            messages["project"] = f"There is no run of the live traffic of {_named(project)} yet"
    elif project and chosen and chosen.project != project:
        messages["run"] = (
            f"Run {_named(selection.run)} belongs to {_named(chosen.project)}, not to {_named(project)}"
        )
    if selection.run and chosen is None:
        messages["run"] = f"There is no run {_named(selection.run)} in this workspace"
    if selection.baseline and selection.baseline not in runs:
        messages["baseline"] = f"There is no run {_named(selection.baseline)} to be the baseline"
    return messages


def tell_missing(store: RunStore, reading: bool = False, needs_run: bool = True) -> bool:
    """Warn of names in the URL that do not exist, then drop them from the selection.

    Args:
        store: of the workspace.
        reading: whether the page shows a case and has keys that label it. A run that is gone then gives way
            to no other by itself, since the next key press would label a case that nobody has read.
        needs_run: whether a project of which there is only live traffic is missing.

    Returns:
        Whether the page must not be drawn.
    """
    messages = missing_choices(store, current_selection(), needs_run)
    if not messages:
        return False
    text = " ".join(f"{markdown_text(message)}." for message in messages.values())
    if reading and "run" in messages:
        st.warning(f"{text} It may have been deleted while it was open.", title="This run is not there")
        st.button(
            "Show the newest run", key="leave_missing_run", on_click=keep, kwargs={"run": "", "case": ""}
        )
        return True
    keep(**dict.fromkeys(messages, ""))
    st.warning(f"{text} What opens without a link is shown instead.", title="The link is out of date")
    return False


def tell_unreadable(store: RunStore) -> None:
    """Warn of what is wrong with each run of the workspace that cannot be read."""
    for problem in store.unreadable().values():
        st.warning(markdown_text(problem), title="A run cannot be read")


def _named(text: str) -> str:
    return repr(shorten(text, LONGEST))
