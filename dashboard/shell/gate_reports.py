"""The gate report of a run, kept for all pages that say what it concludes."""

from __future__ import annotations

from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.errors import DataError
from ragtriage.data.gates.baseline import Baseline
from ragtriage.data.gates.config import GateConfig, load_gates
from ragtriage.data.gates.report import GateReport, gate_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run


def gate_report(view: View, run: Run, baseline: Baseline) -> GateReport | DataError:
    """Judge a run as `ragtriage gate` does; the error where the gates cannot be read."""
    compared = None if baseline.run is None else view.usual_diagnosis(baseline.run)
    try:
        config = load_gates(view.store.workspace)
        return _gate_report(view.store, view.usual_diagnosis(run), baseline, compared, config)
    except DataError as error:
        return error


@kept
def _gate_report(
    store: RunStore, diagnosis: Diagnosis, baseline: Baseline, compared: Diagnosis | None, config: GateConfig
) -> GateReport:
    diagnoses = {side.scored.run.run_id: side for side in (diagnosis, compared) if side is not None}
    return gate_run(store, diagnosis.scored.run, baseline, config, lambda run: diagnoses[run.run_id])
