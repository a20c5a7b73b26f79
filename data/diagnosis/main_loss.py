"""Where a run loses most of its cases: the facts of the first sentence on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import stage_doubt
from ragtriage.data.diagnosis.good_case import right_by_context
from ragtriage.metrics.diagnosis.fix_first import UNEXPLAINED
from ragtriage.metrics.diagnosis.repairs import UPSTREAM
from ragtriage.metrics.diagnosis.slices import Concentration
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.sanity.documents import read_first
from ragtriage.metrics.sanity.rule import Finding

CONCLUSIVE = 0.4  # share of the measured cases from which on their stage is the conclusion on the run


@dataclass(frozen=True)
class MainLoss:
    """Where most cases are lost.

    Attributes:
        of: measured cases.
        lacking: of them, the bad ones whose context lacks the gold or part of it, where these are many.
        partial: of those, the ones with part of the gold.
        part: the part of the gold that most of these lack, with their number.
        from_memory: answers that are right though their context has none of the gold.
        stage: the stage that loses many cases, where the context does not.
        n: its cases.
        where: the slice that most bad cases come from.
    """

    of: int
    lacking: int = 0
    partial: int = 0
    part: tuple[str, int] | None = None
    from_memory: int = 0
    stage: str = ""
    n: int = 0
    where: Concentration | None = None

    @property
    def mostly_from_memory(self) -> bool:
        """Whether most of the answers that lack the gold are right all the same."""
        return self.lacking > 0 and 2 * self.from_memory >= self.lacking


def main_loss(diagnosis: Diagnosis, findings: Sequence[Finding] = ()) -> MainLoss | None:
    """Return where most cases are lost; None where no place stands out, or the numbers are doubted."""
    entries, where = diagnosis.fix_first, diagnosis.concentration
    if not entries or read_first(findings):
        return None
    of = int(diagnosis.measured.sum())
    sure = [
        entry
        for entry in entries
        if (doubt := stage_doubt(diagnosis, findings, entry.key)) is None or not doubt.whole
    ]
    lacking = sum(entry.n_bad for entry in sure if entry.owner in UPSTREAM)
    if lacking >= CONCLUSIVE * of:
        return MainLoss(
            of,
            lacking,
            diagnosis.stage_counts()["partial_gold"],
            next(iter(diagnosis.gold_parts.items()), None),
            right_by_context(diagnosis).right_without,
            where=where,
        )
    for entry in sure[:1]:
        explained = entry.key != UNEXPLAINED and STAGES[stage_code(entry.key)].owner != UNEXPLAINED
        if explained and entry.n_bad >= CONCLUSIVE * of:
            return MainLoss(of, stage=entry.key, n=entry.n_bad, where=where)
    return None if where is None else MainLoss(of, where=where)
