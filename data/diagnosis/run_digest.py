"""A run in short: pass rate, where its bad cases are lost, findings of the checks; kept in the index.

A digest follows from the scores, the labels and the usual settings. It may be deleted: it is made again.
"""

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import asdict, dataclass, field

import numpy as np

from ragtriage.data.declarations import declarations_of, use_declarations
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.diagnosis.doubts import stage_doubt
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.ledger import Label
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.diagnosis.fix_first import UNEXPLAINED
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.sanity.documents import read_first
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.schema.scores import MetricsError

AFTER_IMPORT = 2.0  # seconds that the digests of new runs may take at most before a command returns

VERSION = 8  # raised when the digest of the same run would be another one
MEASURES = ("context", "faithfulness", "answer_relevancy", "correctness", "people")


@dataclass(frozen=True)
class RunDigest:
    """A run in short."""

    run_id: str
    # pass_rate, low, high: share of good cases with its 95 % interval; None where not measured
    pass_rate: float | None
    low: float | None
    high: float | None
    n_scored: int  # questions behind it
    measured: tuple[str, ...]  # of MEASURES, those with a value
    errors: tuple[str, ...]  # errors, warnings: titles of what the checks found
    warnings: tuple[str, ...]
    n_notes: int  # further findings
    # failure stage -> its bad cases; empty where nothing was diagnosed
    stages: Mapping[str, int] = field(default_factory=dict)
    patterns: Mapping[str, int] = field(default_factory=dict)  # metric pattern -> its cases
    # key of the stage to fix first; None where none is clear, or the checks doubt it
    fix_first: str | None = None
    answers_checked: bool = True  # whether enough answers were checked for a pass rate
    set_by_people: int = 0  # cases that labels call good or bad
    has_answers: bool = True  # without any, the pass rate is one of the retrieval alone

    @property
    def readable(self) -> bool:
        """True for a run with a pass rate and nothing that the checks warn of."""
        return self.pass_rate is not None and not self.errors and not self.warnings


def stored_digests(store: RunStore, runs: Sequence[Run]) -> dict[str, RunDigest]:
    """Return run id -> digest, of the runs whose digest is stored and still holds."""
    stored, keys = store.index.read_all("digest"), _keys(store, runs)
    digests = {}
    for run in runs:
        body = stored.get(run.run_id)
        if isinstance(body, Mapping) and body.get("key") == keys[run.run_id]:
            values = {name: value for name, value in body.items() if name != "key"}
            lists = {name: tuple(values[name]) for name in ("measured", "errors", "warnings")}
            digests[run.run_id] = RunDigest(**{**values, **lists})
    return digests


def read_digests(store: RunStore, runs: Sequence[Run], seconds: float = math.inf) -> dict[str, RunDigest]:
    """Diagnose runs at the usual thresholds and store the digest of each; about 0.02 s for a small run.

    No further run is begun after so many seconds; at least one is read, if there is any.
    """
    end = time.monotonic() + seconds
    digests, bodies, keys = {}, {}, _keys(store, runs)
    try:
        for run in runs:
            digests[run.run_id] = digest = copy_context().run(_digest, store, run)
            bodies[run.run_id] = {"key": keys[run.run_id], **asdict(digest)}
            if time.monotonic() > end:
                break
    finally:  # a run that cannot be read takes nothing from the others
        store.index.write_all("digest", bodies)
    return digests


def digest_new_runs(store: RunStore, runs: Sequence[Run]) -> None:
    """Store the digests of runs that were just imported, the last one first.

    No further one is begun after AFTER_IMPORT seconds. The pages make the rest, and say why a run cannot be
    diagnosed.
    """
    with suppress(DataError, MetricsError):
        known = stored_digests(store, runs) if runs else {}
        missing = [run for run in reversed(runs) if run.run_id not in known]
        read_digests(store, missing, AFTER_IMPORT)


def _keys(store: RunStore, runs: Sequence[Run]) -> dict[str, str]:
    """Return what the digest of each run depends on: scores, labels, declared metrics, and this module."""
    declared = {project: _declared(store, project) for project in {run.project for run in runs}}
    keys = {}
    for run in runs:
        labels = [label.label_id for label in store.ledger.labels(run.run_id)]
        text = f"{VERSION} {store.options(run).folder} {labels} {declared[run.project]}"
        keys[run.run_id] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return keys


def _declared(store: RunStore, project: str) -> str:
    try:
        return str(sorted(declarations_of(store.workspace, project).items()))
    except DataError as error:  # told where the run is diagnosed
        return str(error)


def _digest(store: RunStore, run: Run) -> RunDigest:
    """Diagnose a run by what its project declares, whichever project is on display."""
    use_declarations(store.workspace, run.project)
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
        _counted(diagnosis.stage_counts()),
        _counted(diagnosis.pattern_counts()),
        _fix_first(diagnosis, findings),
        diagnosis.answers.enough,
        int(diagnosis.human_labels.decided.sum()),
        diagnosis.answers.n > 0,
    )


def _counted(counts: Mapping[str, int]) -> dict[str, int]:
    return {key: n for key, n in counts.items() if n}


def _fix_first(diagnosis: Diagnosis, findings: Sequence[Finding]) -> str | None:
    """Return the stage with the most bad cases; None where the checks doubt what it rests on."""
    top = next((entry.key for entry in diagnosis.fix_first[:1] if entry.key != UNEXPLAINED), None)
    if top is None or read_first(findings) or stage_doubt(diagnosis, findings, top) is not None:
        return None
    return top


def _measured(diagnosis: Diagnosis, labels: Sequence[Label]) -> tuple[str, ...]:
    scored = diagnosis.scored

    def has(*names: str) -> bool:
        return any(name in scored.metrics and bool(np.isfinite(scored.values(name)).any()) for name in names)

    measured = {
        "context": diagnosis.context_metric is not None,
        "faithfulness": has("faithfulness"),
        "answer_relevancy": has("answer_relevancy"),
        "correctness": has(*CORRECTNESS),
        "people": bool(labels),
    }
    return tuple(name for name in MEASURES if measured[name])
