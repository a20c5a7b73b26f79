"""What became of a check suite since another run: which questions pass now, which fail now."""

from dataclasses import dataclass, replace

import numpy as np

from ragtriage.data.comparison.question_match import match_questions
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.check_table import check_table, passed_shares
from ragtriage.metrics.statistics.paired import holm, mcnemar


@dataclass(frozen=True)
class SuiteChange:
    """The questions of a suite in two runs; one passes where all its decided checks do."""

    n: int  # questions decided in both
    before: float  # share of them that passed in the baseline
    now: float  # and in this run
    fixed: tuple[str, ...]  # ids of those that fail in the baseline alone
    broken: tuple[str, ...]  # ids of those that fail in this run alone
    p: float  # exact McNemar test, corrected by Holm over the suites of both runs

    @property
    def outcome(self) -> str:
        """Return "better" or "worse" where the test shows it, "the same" without a change, else ""."""
        if not self.fixed and not self.broken:
            return "the same"
        return "" if self.p >= 0.05 else "better" if self.now > self.before else "worse"


def suite_changes(base: ScoredRun, run: ScoredRun) -> dict[str, SuiteChange]:
    """Return what became of each suite that decides a question in both runs, by its key."""
    before, now = check_table(base), check_table(run)
    if before is None or now is None:
        return {}
    matched = match_questions(base, run)
    changes = {}
    for key in now.suite.values:
        first = passed_shares(base, before, before.of(key))[matched.base]
        second = passed_shares(run, now, now.of(key))[matched.other]
        both = np.isfinite(first) & np.isfinite(second)
        if not both.any():
            continue
        passes = [(share[both] == 1).astype(np.float64) for share in (first, second)]
        ids = run.question_ids[matched.other][both]
        fixed, broken = (
            tuple(map(str, ids[gain > 0])) for gain in (passes[1] - passes[0], passes[0] - passes[1])
        )
        means = [float(side.mean()) for side in passes]
        changes[key] = SuiteChange(len(ids), means[0], means[1], fixed, broken, mcnemar(*passes))
    adjusted = holm([change.p for change in changes.values()])
    return {
        key: replace(change, p=float(p)) for (key, change), p in zip(changes.items(), adjusted, strict=True)
    }
