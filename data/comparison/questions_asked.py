"""How many of the questions that were to be asked a run answered, and its pass rate read both ways."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.data.comparison.question_match import QuestionMatch
from ragtriage.data.diagnosis.diagnosis import Diagnosis, passing_of
from ragtriage.data.store.question_sets import QuestionSet, question_sets, set_named
from ragtriage.metrics.number_text import percent
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import hajek_mean, question_means


@dataclass(frozen=True)
class QuestionsAsked:
    """The questions of a run against those that it should have answered."""

    answered: int  # questions that it answered; one that ended in an error counts as missing
    of: int  # questions that it should have answered
    whose: str  # "the baseline", "the question set NAME", or "" for its own
    rate: float  # share of good cases, of those answered; NaN where none can be called good or bad
    with_missing: float  # the same with the missing questions as failed

    @property
    def of_baseline(self) -> bool:
        """Whether the questions are those of the baseline."""
        return self.whose == "the baseline"

    @property
    def both(self) -> str:
        """Both readings of the pass rate, as a clause."""
        if np.isnan(self.rate):
            return "none of them can be called good or bad"
        missing = percent(self.with_missing)
        return f"pass rate {percent(self.rate)} of those answered, {missing} with the missing ones as failed"

    def sentence(self, name: str) -> str:
        """Return how many questions a run answered, with both readings; "" where it lacks none."""
        if self.answered >= self.of:
            return ""
        whose, name = f" of {self.whose}" if self.whose else "", f"{name[:1].upper()}{name[1:]}"
        return f"{name} answered {self.answered:,} of the {self.of:,} questions{whose}: {self.both}."


def asked_by_pair(
    base: Diagnosis, other: Diagnosis, shared: QuestionMatch
) -> tuple[QuestionsAsked, QuestionsAsked]:
    """Count the questions of both sides of a comparison."""
    sets = question_sets(base.scored.workspace)
    return questions_asked(base, sets=sets), questions_asked(other, base, shared, sets)


def questions_asked(
    run: Diagnosis,
    base: Diagnosis | None = None,
    shared: QuestionMatch | None = None,
    sets: Sequence[QuestionSet] | None = None,
) -> QuestionsAsked:
    """Count the questions of a run against the question set that it names, else against its baseline.

    The baseline counts where the run brings no questions of its own and names no other data set; without
    one, the run's own questions do. `sets` are those of the workspace, where a caller has them.
    """
    lacking = question_means(run.unanswered.astype(np.float64), run.scored.question)[0]
    answered, of, whose = len(lacking) - float(lacking.sum()), len(lacking), ""
    declared = _declared_set(run, sets)
    if declared is not None:
        of, whose = declared[1], f"the question set {declared[0]}"
    elif base is not None and shared is not None and not shared.only_other and not other_set(run, base):
        of, whose = len(base.scored.question_ids), "the baseline"
        answered = len(shared.base) - float(lacking[shared.other].sum())
    rate = run.pass_rate
    if run.scored.sampling is not None:
        return _calls_asked(run, run.scored.sampling.calls, lacking)
    if not rate.n_scored:
        return QuestionsAsked(round(answered), of, whose, np.nan, np.nan)
    with_missing = rate.mean * rate.n_scored / max(of - answered + rate.n_scored, 1)
    return QuestionsAsked(round(answered), of, whose, rate.mean, with_missing)


def _calls_asked(run: Diagnosis, calls: int, lacking: FloatArray) -> QuestionsAsked:
    """Count the calls that a run is a sample of, as its samples stand for them."""
    weights = run.scored.question_weights
    good = question_means(passing_of(run), run.scored.question)[0]
    good = np.where(np.isnan(good) & (lacking > 0), 0.0, good)
    answered = round(calls * (1 - hajek_mean(lacking, weights)))
    return QuestionsAsked(answered, calls, "", run.pass_rate.mean, hajek_mean(good, weights))


def _declared_set(run: Diagnosis, sets: Sequence[QuestionSet] | None) -> tuple[str, int] | None:
    """Return name and size of the question set that a run names, in the version that it names."""
    named, version = run.scored.run.dataset, run.scored.run.dataset_version
    if not named:
        return None
    known = question_sets(run.scored.workspace) if sets is None else sets
    entry = set_named([each for each in known if each.n >= len(run.scored.question_ids)], named, version)
    return None if entry is None else (entry.name, entry.n)


def other_set(run: Diagnosis, base: Diagnosis) -> bool:
    """Return whether a run names a data set, or version of it, that is not the baseline's."""
    ours, theirs = run.scored.run, base.scored.run
    if not ours.dataset:
        return False
    return (ours.dataset, ours.dataset_version) != (theirs.dataset, theirs.dataset_version)
