"""What a list of runs shows of each: pass rate, measurements, findings of the checks; kept in the index."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from data.diagnosis.diagnosis import CORRECTNESS, Diagnosis, DiagnosisSettings, diagnose
from data.diagnosis.run_checks import check_run
from data.scoring.run_store import RunStore
from data.store.ledger import Label
from data.store.workspace import Run

__all__ = ["MEASURES", "RunDigest", "read_digests", "stored_digests"]

VERSION = 2  # raised when the digest of the same run would be another one
MEASURES = ("context", "faithfulness", "answer_relevancy", "correctness", "people")


@dataclass(frozen=True)
class RunDigest:
    """A run in short.

    Attributes:
        run_id: of the run.
        pass_rate, low, high: share of good cases with its 95 % interval; None where not measured.
        n_scored: questions behind it.
        measured: of MEASURES, those with a value.
        errors, warnings: titles of what the checks found.
        n_notes: further findings.
    """

    run_id: str
    pass_rate: float | None
    low: float | None
    high: float | None
    n_scored: int
    measured: tuple[str, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    n_notes: int

    @property
    def readable(self) -> bool:
        """Whether it has a pass rate and nothing that the checks warn of."""
        return self.pass_rate is not None and not self.errors and not self.warnings


def stored_digests(store: RunStore, runs: Sequence[Run]) -> dict[str, RunDigest]:
    """Return run id -> digest, of the runs whose digest is stored and still holds."""
    stored = store.index.read_all("digest")
    digests = {}
    for run in runs:
        body = stored.get(run.run_id)
        if isinstance(body, Mapping) and body.get("key") == _key(store, run):
            digests[run.run_id] = _from_json(body)
    return digests


def read_digests(store: RunStore, runs: Sequence[Run], seconds: float = math.inf) -> dict[str, RunDigest]:
    """Diagnose runs at the usual thresholds and store what a list shows of each; about 0.05 s a run.

    Args:
        store: of the runs.
        runs: in the order in which they are wanted.
        seconds: after which no further run is begun; at least one is read.
    """
    end = time.monotonic() + seconds
    digests, bodies = {}, {}
    try:
        for run in runs:
            digests[run.run_id] = digest = _digest(store, run)
            bodies[run.run_id] = {"key": _key(store, run), **asdict(digest)}
            if time.monotonic() > end:
                break
    finally:  # a run that cannot be read takes nothing from the others
        store.index.write_all("digest", bodies)
    return digests


def _key(store: RunStore, run: Run) -> str:
    """Return what a digest depends on: scores, labels and the version of this module."""
    labels = [label.label_id for label in store.ledger.labels(run.run_id)]
    text = f"{VERSION} {store.options(run).folder} {labels}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _from_json(body: Mapping[str, Any]) -> RunDigest:
    values = {name: value for name, value in body.items() if name != "key"}
    lists = {name: tuple(values[name]) for name in ("measured", "errors", "warnings")}
    return RunDigest(**{**values, **lists})


def _digest(store: RunStore, run: Run) -> RunDigest:
    scored = store.scored(run)
    findings = check_run(scored)
    titles = {
        severity: tuple(finding.title for finding in findings if finding.severity == severity)
        for severity in ("error", "warning")
    }
    n_notes = len(findings) - sum(map(len, titles.values()))
    if run.means or not run.n:
        return RunDigest(run.run_id, None, None, None, 0, (), titles["error"], titles["warning"], n_notes)
    labels = store.ledger.labels(run.run_id)
    diagnosis = diagnose(scored, DiagnosisSettings(), labels)
    rate = diagnosis.pass_rate
    return RunDigest(
        run.run_id,
        rate.mean if rate.n_scored else None,
        rate.low if rate.n_scored else None,
        rate.high if rate.n_scored else None,
        rate.n_scored,
        _measured(diagnosis, labels),
        titles["error"],
        titles["warning"],
        n_notes,
    )


def _measured(diagnosis: Diagnosis, labels: Sequence[Label]) -> tuple[str, ...]:
    scored = diagnosis.scored

    def has(*names: str) -> bool:
        return any(name in scored.metrics and bool(np.isfinite(scored.values(name)).any()) for name in names)

    found = {
        "context": diagnosis.context_metric is not None,
        "faithfulness": has("faithfulness"),
        "answer_relevancy": has("answer_relevancy"),
        "correctness": has(*CORRECTNESS),
        "people": bool(labels),
    }
    return tuple(name for name in MEASURES if found[name])
