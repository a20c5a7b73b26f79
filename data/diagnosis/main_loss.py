"""Where a run loses most of its cases: the facts of the first sentence on it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import stage_doubt
from ragtriage.data.diagnosis.good_case import right_by_context
from ragtriage.data.scoring.sampling import mean_of_questions
from ragtriage.metrics.diagnosis.fix_first import UNEXPLAINED, UPSTREAM
from ragtriage.metrics.diagnosis.slices import Concentration
from ragtriage.metrics.diagnosis.stages import stage_code
from ragtriage.metrics.sanity.documents import read_first
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.statistics.intervals import question_means

FEWEST = 10  # measured cases from which on a share of them is a conclusion
LARGE = 0.1  # share of the cases that must be bad beyond chance for the fault to lead
WORDY = 0.25  # share of the answers from which on it is said that they say more than asked
_ROUNDING = 1e-9
CONCLUSIVE = 0.4  # share of the measured cases from which on their stage is the conclusion on the run


@dataclass(frozen=True)
class MainLoss:
    """Where most cases are lost."""

    of: int  # measured cases
    lacking: int = 0  # of them, the bad ones whose context lacks the gold or part of it, where these are many
    partial: int = 0  # of those, the ones with part of the gold
    part: tuple[str, int] | None = None  # the part of the gold that most of these lack, with their number
    from_memory: int = 0  # answers that are right though nothing in their context supports them
    supported: int = 0  # answers that are right and supported by a context that has none of the gold
    stage: str = ""  # the stage that loses many cases, where the context does not
    n: int = 0  # its cases
    where: Concentration | None = None  # the slice that most bad cases come from
    say_more: int = 0  # right answers that say more than asked, where these are many
    answers: int = 0  # answers there are
    asked_for: float = 1.0  # mean share of the claims of those answers that was asked for
    # of all calls, those that the cases of the place stand for; None where cases weigh alike
    share_of_calls: float | None = None

    @property
    def mostly_from_memory(self) -> bool:
        """Whether most of the answers that lack the gold are right all the same."""
        return self.lacking > 0 and 2 * self.from_memory >= self.lacking

    @property
    def mostly_supported(self) -> bool:
        """Whether most of the cases that lack the gold are right and supported all the same."""
        return self.lacking > 0 and 2 * self.supported >= self.lacking


def many_bad(diagnosis: Diagnosis) -> bool:
    """Return whether so many cases are bad, beyond chance, that their fault comes before what is unknown."""
    return int(diagnosis.measured.sum()) >= FEWEST and diagnosis.pass_rate.high <= 1 - LARGE


def many_refused(diagnosis: Diagnosis) -> bool:
    """Return whether so many questions, beyond chance, are refused although they have an answer."""
    scored = diagnosis.scored
    means = question_means(diagnosis.refusals.wrong.astype(np.float64), scored.question)[0]
    measured = mean_of_questions(scored, means)
    return measured.n_scored >= FEWEST and measured.low >= LARGE


def main_loss(diagnosis: Diagnosis, findings: Sequence[Finding] = ()) -> MainLoss | None:
    """Return where most cases are lost; None where no place stands out, or the numbers are doubted."""
    of, answers = int(diagnosis.measured.sum()), diagnosis.answers
    if of < FEWEST or read_first(findings):
        return None
    loss = MainLoss(of, where=diagnosis.concentration if diagnosis.fix_first else None)
    if answers.say_more >= max(1, WORDY * answers.n):
        precision = diagnosis.scored.values("answer_precision")[diagnosis.right.says_more]
        loss = replace(loss, say_more=answers.say_more, answers=answers.n, asked_for=float(precision.mean()))
    sure = [
        entry
        for entry in diagnosis.fix_first
        if (doubt := stage_doubt(diagnosis, findings, entry.key)) is None or not doubt.whole
    ]
    upstream = [entry.key for entry in sure if entry.owner in UPSTREAM]
    lacking = sum(entry.n_bad for entry in sure if entry.owner in UPSTREAM)
    share, by_weight = _share(diagnosis, upstream, of)
    loss = replace(loss, share_of_calls=share if by_weight else None)
    if sure and share >= CONCLUSIVE - _ROUNDING:
        part = next(iter(diagnosis.gold_parts.items()), None)
        partial, counts = diagnosis.stage_counts()["partial_gold"], right_by_context(diagnosis)
        memory = counts.right_without - counts.supported_without
        lacks = replace(loss, lacking=lacking, partial=partial, part=part)
        return replace(lacks, from_memory=memory, supported=counts.supported_without)
    share, by_weight = _share(diagnosis, [entry.key for entry in sure[:1]], of)
    loss = replace(loss, share_of_calls=share if by_weight else None)
    if sure and sure[0].owner != UNEXPLAINED and share >= CONCLUSIVE - _ROUNDING:
        return replace(loss, stage=sure[0].key, n=sure[0].n_bad)
    return loss if loss.where or loss.say_more else None


def _share(diagnosis: Diagnosis, stages: Sequence[str], of: int) -> tuple[float, bool]:
    """Return the share of the measured cases that are lost at some stages, and whether they were weighed."""
    lost = np.isin(diagnosis.stages.stage, [stage_code(stage) for stage in stages])
    share = diagnosis.share_of_calls(lost)
    return (float(lost.sum() / of), False) if share is None else (share, True)
