"""What the sanity checks doubt: the metrics, and the stages and pass rates that rest on them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.diagnosis.right import CORRECTNESS, RIGHT_SOURCES
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.schema.scores import BoolArray, Source

_TWO_VALUES = ("recomputed", "recomputed_means")  # the one in use is computed, and not the doubtful one
_OF_IMPORTED = ("zero_column", "constant_column")
_FROM_GOLD = ("all_hops_recall", "span_recall", "recall")


@dataclass(frozen=True)
class StageDoubt:
    """The cases of a failure stage that rest on what the checks doubt."""

    n: int  # number of these cases
    n_cases: int
    metrics: tuple[str, ...]  # the doubted metrics
    because: tuple[str, ...]  # the findings that doubt them, as clauses

    @property
    def whole(self) -> bool:
        """True where every case of the stage rests on what is doubted: it cannot be acted on."""
        return self.n == self.n_cases


def metric_doubts(scored: ScoredRun, findings: Sequence[Finding], metric: str) -> list[Finding]:
    """Return the errors and warnings that doubt the values in use of a metric."""
    imported = set(scored.sources.get(metric, ())) == {Source.IMPORTED}
    return [
        finding
        for finding in findings
        if finding.severity in ("error", "warning")
        and metric in finding.metrics
        and finding.rule not in _TWO_VALUES
        and (imported or finding.rule not in _OF_IMPORTED)
    ]


def pass_rate_doubts(diagnosis: Diagnosis, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that doubt any metric by which cases count as good or bad."""
    doubting = [
        finding
        for name in diagnosis.coverage.names
        for finding in metric_doubts(diagnosis.scored, findings, name)
    ]
    return [finding for finding in findings if finding in doubting]


def right_doubts(diagnosis: Diagnosis, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that doubt any metric by which answers count as right or wrong."""
    everything = np.ones(diagnosis.scored.n, dtype=np.bool_)
    doubting = [
        finding
        for name in _right_by(diagnosis, everything)
        for finding in metric_doubts(diagnosis.scored, findings, name)
    ]
    return [finding for finding in findings if finding in doubting]


def stage_doubt(diagnosis: Diagnosis, findings: Sequence[Finding], key: str) -> StageDoubt | None:
    """Return the doubts about the cases of a failure stage; None where no check doubts any."""
    cases: BoolArray = diagnosis.stages.stage == stage_code(key)
    doubted = np.zeros(diagnosis.scored.n, dtype=np.bool_)
    metrics: dict[str, None] = {}
    because: dict[str, None] = {}
    for name, finding, touched in _doubts_behind(diagnosis, findings, key, cases):
        doubted |= touched
        metrics[name] = because[finding.clause] = None
    if not doubted.any():
        return None
    return StageDoubt(int(doubted.sum()), int(cases.sum()), tuple(metrics), tuple(because))


def doubted_losses(diagnosis: Diagnosis, findings: Sequence[Finding]) -> dict[str, int]:
    """Return the failure stages of a run that rest on what the checks doubt -> how many of their cases do."""
    doubts = {entry.key: stage_doubt(diagnosis, findings, entry.key) for entry in diagnosis.fix_first}
    return {key: doubt.n for key, doubt in doubts.items() if doubt is not None}


def case_doubts(diagnosis: Diagnosis, findings: Sequence[Finding], row: int) -> list[Finding]:
    """Return the findings that doubt what one bad case was attributed by."""
    code = int(diagnosis.stages.stage[row])
    if code < 0:
        return []
    cases = np.arange(diagnosis.scored.n) == row
    doubting = [finding for _, finding, _ in _doubts_behind(diagnosis, findings, STAGES[code].key, cases)]
    return [finding for finding in findings if finding in doubting]


def _doubts_behind(
    diagnosis: Diagnosis, findings: Sequence[Finding], key: str, cases: BoolArray
) -> Iterator[tuple[str, Finding, BoolArray]]:
    """Yield each metric behind a stage with each finding that doubts it, and the cases it touches."""
    for name in _metrics_behind(diagnosis, key, cases):
        for finding in metric_doubts(diagnosis.scored, findings, name):
            touched = np.zeros(diagnosis.scored.n, dtype=np.bool_)
            touched[list(finding.rows) if finding.rows else slice(None)] = True
            if (touched & cases).any():
                yield name, finding, touched & cases


def _metrics_behind(diagnosis: Diagnosis, key: str, cases: BoolArray) -> list[str]:
    """List the metrics of the run that the rule of a stage looks at, for its cases."""
    context, metrics = diagnosis.context, diagnosis.scored.metrics
    behind = {
        "context": [name for at, name in enumerate(context.metrics) if (context.code[cases] == at).any()],
        "correctness": _right_by(diagnosis, cases) or [*CORRECTNESS],
        "noise_sensitivity": ["noise_sensitivity_relevant", "noise_sensitivity_irrelevant"],
        "contradicts_itself": ["self_contradiction"],
        "contradicts_context": ["contradicted"],
        "gold_in_context": [name for name in metrics if name.partition("@")[0] in _FROM_GOLD],
    }
    behind["gold_in_candidates"] = behind["gold_in_context"]
    names = [name for feature in STAGES[stage_code(key)].rests_on for name in behind.get(feature, [feature])]
    return [name for name in dict.fromkeys(names) if name in metrics]


def _right_by(diagnosis: Diagnosis, cases: BoolArray) -> list[str]:
    """List the metrics that decide of any of the cases whether its answer is right."""
    return [name for name in RIGHT_SOURCES if diagnosis.right.decided_by(name)[cases].any()]
