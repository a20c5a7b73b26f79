"""What a project holds that an evaluation can rest on: gold, references, labels, judge, traffic, checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.gates.config import FILE_NAME
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Run
from ragtriage.data.suites.check_table import check_table
from ragtriage.metrics.schema.scores import BoolArray
from ragtriage.metrics.schema.source import Source

TRACERS = ("langfuse", "langsmith", "opentelemetry", "phoenix", "opik", "mlflow", "weave", "trulens")
HELD: Mapping[str, str] = {  # field of Holdings -> what it is
    "gold": "gold documents",
    "references": "reference answers",
    "labels": "human labels",
    "judge": "values by a judge",
    "traffic": "traces of real use",
    "repeats": "repeats of questions",
    "checks": "checks",
    "citations": "citations",
}


@dataclass(frozen=True)
class Holdings:
    """What a project holds, by its newest measured run; counts of that run unless told otherwise.

    Attributes:
        project: the project.
        run: its newest measured run; None without one.
        n_runs: its runs with samples.
        n_questions: questions.
        gold: questions with documents that are labelled relevant.
        references: questions with a reference answer.
        labels: cases that a person labelled.
        judge: whether any value is a judge's.
        traffic: whether any run of the project comes from a tracing tool.
        repeats: whether questions are asked more than once.
        checks: samples checked, by suite, each in the run that has the most of them.
        citations: whether answers cite, as recorded or parsed.
        baseline: whether the project has a baseline.
        own_gates: whether the workspace has a gates.toml.
    """

    project: str
    run: Run | None
    n_runs: int = 0
    n_questions: int = 0
    gold: int = 0
    references: int = 0
    labels: int = 0
    judge: bool = False
    traffic: bool = False
    repeats: bool = False
    checks: Mapping[str, int] | None = None
    citations: bool = False
    baseline: bool = False
    own_gates: bool = False

    def held(self) -> dict[str, bool]:
        """Return what there is and what there is not, by field."""
        return {field: bool(getattr(self, field)) for field in HELD}


def holdings_of(
    store: RunStore,
    project: str,
    diagnosis: Diagnosis | None,
    runs: Sequence[Run],
    recent: Sequence[Diagnosis] = (),
) -> Holdings:
    """Return what a project holds.

    Args:
        store: of the workspace.
        project: the project.
        diagnosis: of its newest measured run; None without one.
        runs: its runs with samples, oldest first.
        recent: further runs whose checks count: attacks are a run of their own.
    """
    own_gates = Path(store.workspace.root / FILE_NAME).is_file()
    if diagnosis is None:
        return Holdings(project, None, own_gates=own_gates)
    run, scored = diagnosis.scored.run, diagnosis.scored
    fields = set(run.fields)
    return Holdings(
        project,
        run,
        len(runs),
        run.n_questions,
        gold=_questions(scored, np.isfinite(scored.stage_features["gold_in_context"])),
        references=_questions(scored, scored.stage_features["has_reference"] == 1),
        labels=len({(label.question_id, label.repeat) for label in store.ledger.labels(run.run_id)}),
        judge=any(Source.JUDGED in sources for sources in scored.sources.values()),
        traffic=any(other.origin.get("format", "").startswith(TRACERS) for other in runs),
        repeats=run.n > run.n_questions,
        checks=_checks([diagnosis, *recent]),
        citations="citations" in fields or bool(np.isfinite(scored.values("citation_precision")).any()),
        baseline=project in store.ledger.baselines(),
        own_gates=own_gates,
    )


def _questions(scored: ScoredRun, rows: BoolArray) -> int:
    """Return how many questions have a sample among some rows."""
    return len(np.unique(scored.question[rows]))


def _checks(diagnoses: Sequence[Diagnosis]) -> dict[str, int]:
    """Return how many samples have a check of each suite, in the run that has the most of them."""
    most: dict[str, int] = {}
    for diagnosis in diagnoses:
        table = check_table(diagnosis.scored)
        if table is None:
            continue
        for suite in sorted(table.suite.values):
            most[suite] = max(most.get(suite, 0), len(np.unique(table.sample[table.of(suite)])))
    return most
