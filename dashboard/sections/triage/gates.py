"""The gates on the Triage page: the report that `ragtriage gate` gives."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboard.charts.style import VERDICT_BADGES
from dashboard.shell.caching import HASH_FUNCS
from dashboard.shell.components import facts, show_table
from dashboard.shell.session import View, open_cases
from dashboard.wording.escaping import markdown_text, shorten
from dashboard.wording.formatting import count
from dashboard.wording.gates import EXPLAINED, broken_words, gate_row
from data.cases.comparison_cohorts import newly_failing_cohort_key
from data.diagnosis.diagnosis import Diagnosis
from data.errors import DataError
from data.gates.baseline import Baseline, baseline_of
from data.gates.config import GateConfig, load_gates
from data.gates.report import GateReport, NewlyFailingCase, gate_run
from data.scoring.run_store import RunStore
from metrics.gates.wording import gate_title

__all__ = ["gate_report", "gate_section", "verdict_card"]

LISTED = 8  # newly failing questions that the page lists; the button leads to all


def gate_report(view: View) -> GateReport | DataError:
    """Judge the run on display as the command does; the error where the gates cannot be read."""
    others = {run.run_id for run in view.sampled} - {view.run.run_id}
    wanted = view.selection.baseline if view.selection.baseline in others else ""
    baseline = baseline_of(view.store, view.run, wanted)
    compared = None if baseline.run is None else view.usual_diagnosis(baseline.run)
    try:
        config = load_gates(view.store.workspace)
        return _gate_report(view.store, view.usual_diagnosis(view.run), baseline, compared, config)
    except DataError as error:
        return error


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH_FUNCS)
def _gate_report(
    store: RunStore, diagnosis: Diagnosis, baseline: Baseline, compared: Diagnosis | None, config: GateConfig
) -> GateReport:
    diagnoses = {side.scored.run.run_id: side for side in (diagnosis, compared) if side is not None}
    return gate_run(store, diagnosis.scored.run, baseline, config, lambda run: diagnoses[run.run_id])


def verdict_card(report: GateReport | DataError) -> None:
    """Show the verdict."""
    with st.container(border=True, height="stretch"):
        st.caption("Gates")
        if isinstance(report, DataError):
            st.badge("not read", color="gray")
            return
        st.badge(report.verdict, color=VERDICT_BADGES[report.verdict])
        passed = sum(one.verdict == "PASS" for one in report.results)
        held = [
            gate_title(one.gate)
            for one in report.results
            if one.blocks and one.verdict == report.verdict != "PASS" and not one.excused
        ]
        more = f" and {len(held) - 2} more" if len(held) > 2 else ""
        led = markdown_text("; ".join(held[:2]))
        st.caption(f"{passed} of {len(report.results)} pass; {EXPLAINED[report.verdict]}. {led}{more}")


def gate_section(view: View, report: GateReport | DataError) -> None:
    """Show every gate, what makes the sides unequal, and the questions that newly fail."""
    if isinstance(report, DataError):
        st.error(markdown_text(str(report)), title="The gates cannot be read")
        return
    show_table(
        [gate_row(one) for one in report.results],
        "Gates with verdict, measured value, interval and number of questions",
    )
    held = f"held against {markdown_text(report.baseline_name)}" if report.baseline.run else "no baseline"
    facts(
        [
            "PASS and FAIL need the whole 95 % interval on one side",
            "*Could show*: the smallest distance that a sample of this size shows 4 times in 5",
            f"{held} ({markdown_text(report.baseline.note)})",
            f"gates: {markdown_text(Path(report.source).name)}",
            _usual(view),
        ]
    )
    with st.expander("The gates in sentences"):
        st.markdown("\n".join(f"- **{one.verdict}** {markdown_text(one.sentence)}" for one in report.results))
    for warning in report.warnings:
        st.caption(f"⚠ {markdown_text(warning)}")
    if report.baseline.run is not None:
        _broken(report, report.baseline.run.run_id)


def _usual(view: View) -> str:
    """Say that gates do not follow the sliders, where those were moved."""
    plain = type(view.selection)()
    moved = view.selection.settings() != plain.settings() or view.selection.convention != plain.convention
    return "judged at the usual cut-offs and convention, whatever is selected" if moved else ""


def _broken(report: GateReport, baseline: str) -> None:
    st.markdown(markdown_text(broken_words(report)))
    if not report.newly_failing:
        return
    show_table(
        [_broken_row(one) for one in report.newly_failing[:LISTED]],
        "Questions that newly fail, critical first",
    )
    cases = count(report.n_newly_failing, "case")
    if st.button(f"Open the {cases} that newly fail", key="open_broken"):
        open_cases(cohort=newly_failing_cohort_key(baseline))


def _broken_row(one: NewlyFailingCase) -> dict[str, str]:
    return {
        "Newly failing": one.question_id,
        "Question": shorten(one.question, 160),
        "Critical": "critical" if one.critical else "",
    }
