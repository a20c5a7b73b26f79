"""Answers that correctness calls right and that say something else than their reference by their words."""

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.diagnosis.patterns import CaseThresholds
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.sanity.rule import Finding, rows_of
from ragtriage.metrics.schema.batch import OTHER, SAME
from ragtriage.metrics.schema.scores import BoolArray
from ragtriage.metrics.statistics.distributions import regularised_beta
from ragtriage.metrics.statistics.intervals import question_means

CONTRADICTED = "contradicted_scores"
FEWEST_DECIDED = 10  # questions whose answers the words decide
# Of answers that people call right, the words call 6 % (EVOUNA), 8 % (the handbook) and 16 % (NQ-301) others.
BY_CHANCE = 0.25
ALPHA = 0.05


def contradicted_scores(scored: ScoredRun) -> list[Finding]:
    """Return the finding on scores of correctness that the words of the answers contradict.

    It is a warning, which doubts the scores and all that rests on them, where more of the answers that scores
    call right and words decide are others than words err by. The test is exact and one-sided, over questions.
    """
    called_right = np.zeros(scored.n, dtype=np.bool_)
    open_rows: BoolArray = np.ones(scored.n, dtype=np.bool_)
    metrics = []
    for metric in CORRECTNESS:
        values = scored.values(metric)
        mine = open_rows & (values >= CaseThresholds().correctness)
        open_rows &= np.isnan(values)
        called_right |= mine
        metrics += [metric] if mine.any() else []
    outcome = scored.stage_features["text_outcome"]
    decided = called_right & np.isin(outcome, (SAME, OTHER))
    other = decided & (outcome == OTHER)
    shares = question_means(np.where(decided, other, np.nan), scored.question)[0]
    of, n = int(np.isfinite(shares).sum()), int((shares >= 0.5).sum())
    if of < FEWEST_DECIDED or not n or regularised_beta(n, of - n + 1, BY_CHANCE) >= ALPHA:
        return []
    name = " and ".join(title_of(metric).lower() for metric in metrics)
    call = "calls" if len(metrics) == 1 else "call"
    message = (
        f"{name[:1].upper()}{name[1:]} {call} {of:,} answers right whose words can be compared with the "
        f"reference; {n:,} of them give another name, number, amount or date, refuse, or share nothing. "
        "Read the cases named here: either the references are out of date or belong to other "
        f"questions, or {name} is not to be relied on."
    )
    return [
        Finding(
            CONTRADICTED,
            "warning",
            f"{n:,} of {of:,} answers that {name} {call} right differ from the reference by their words",
            message,
            (("answers called right", float(of)), ("others by their words", float(n))),
            int(other.sum()),
            rows_of(other),
            tuple(metrics),
        )
    ]
