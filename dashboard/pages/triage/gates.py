"""The gates on the Triage page: the report of `ragtriage gate`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ragtriage.dashboard.shell.components import facts, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.tables.gates import gate_table, newly_failing_table
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.dashboard.wording.gates import newly_failing_text, rule_texts
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.errors import DataError
from ragtriage.data.gates.baseline import Baseline
from ragtriage.data.gates.config import GateConfig, load_gates
from ragtriage.data.gates.report import GateReport, gate_run
from ragtriage.data.scoring.run_store import RunStore

LISTED = 8  # newly failing questions that the page lists; the button opens all of them
CHANGE_WIDTH = 150  # pixels of a change with both means, as "+0.25 (0.58 → 0.83)"


def gate_report(view: View) -> GateReport | DataError:
    """Judge the run on display as `ragtriage gate` does; the error where the gates cannot be read."""
    compared = None if view.found.run is None else view.usual_diagnosis(view.found.run)
    try:
        config = load_gates(view.store.workspace)
        return _gate_report(view.store, view.usual_diagnosis(view.run), view.found, compared, config)
    except DataError as error:
        return error


@kept
def _gate_report(
    store: RunStore, diagnosis: Diagnosis, baseline: Baseline, compared: Diagnosis | None, config: GateConfig
) -> GateReport:
    diagnoses = {side.scored.run.run_id: side for side in (diagnosis, compared) if side is not None}
    return gate_run(store, diagnosis.scored.run, baseline, config, lambda run: diagnoses[run.run_id])


def gate_section(view: View, report: GateReport | DataError) -> None:
    """Show every gate, what makes the runs hard to compare, and the questions that newly fail."""
    if isinstance(report, DataError):
        st.error(markdown_text(str(report)), title="The gates cannot be read")
        return
    changes = any(result.gate.kind == "regression" for result in report.results)
    show_table(
        gate_table(report.results),
        {"Measured": st.column_config.Column(width=CHANGE_WIDTH)} if changes else None,
    )
    usual = type(view.selection)()
    moved = view.selection.settings() != usual.settings() or view.selection.convention != usual.convention
    name = markdown_text(report.baseline_name) if report.baseline.run else "none"
    facts(
        [
            *rule_texts(report),
            "*Detectable difference*: the smallest that a sample of this size shows 4 times in 5",
            f"baseline: {name} ({markdown_text(report.baseline.note)})",
            f"gates: {markdown_text(Path(report.source).name)}",
            "judged at the usual thresholds and convention, whatever is selected" if moved else "",
        ]
    )
    with st.expander("The gates in sentences"):
        lines = [f"- **{result.verdict}** {markdown_text(result.sentence)}" for result in report.results]
        st.markdown("\n".join(lines))
    for warning in report.warnings:
        st.caption(f"⚠ {markdown_text(warning)}")
    if report.baseline.run is not None:
        _newly_failing(report)


def _newly_failing(report: GateReport) -> None:
    st.markdown(markdown_text(newly_failing_text(report)))
    if not report.newly_failing:
        return
    show_table(newly_failing_table(report, LISTED))
