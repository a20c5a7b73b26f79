"""Refusal metrics: answerability against refusal, with refusals after a retrieval miss kept apart."""

from collections.abc import Callable
from functools import partial

import numpy as np

from ragtriage.metrics.schema.batch import ANSWERABLE, Answers
from ragtriage.metrics.schema.metric import Compute, Metric, require
from ragtriage.metrics.schema.scores import BoolArray, Scores, Status

Rule = tuple[BoolArray, Status, str]
_YES, _NO = ANSWERABLE.index("yes"), ANSWERABLE.index("no")


def _unknown(answers: Answers) -> list[Rule]:
    unread: list[Rule] = [
        ((answers.unread == language) & (answers.refused < 0), Status.NOT_RUN, f"not measured in {language}")
        for language in sorted(set(answers.unread) - {""})
    ]
    return [*unread, (answers.refused < 0, Status.NOT_RUN, "no answer was recorded, so refusal is not known")]


def _not_labelled(answers: Answers) -> Rule:
    return answers.answerable < 0, Status.NOT_RUN, "whether the question can be answered was not recorded"


def _on(answers: Answers, gaps: list[Rule]) -> Scores:
    """1 for a refusal, 0 for an answer, on the samples without a gap."""
    values = (answers.refused == 1).astype(np.float64)
    return Scores.build(values, [*gaps, *_unknown(answers)], answers.refused_source)


def refused(answers: Answers) -> Scores:
    """1 where the answer is a refusal, else 0."""
    return _on(answers, [])


def negative_rejection_rate(answers: Answers) -> Scores:
    """1 where the question was refused and its context lacks the answer, 0 where it was answered.

    The context of an unanswerable question lacks the answer unless it is known to hold it.
    """
    unanswerable = (answers.answerable == _NO) & (answers.context_has_gold < 0)
    between = ~np.isin(answers.answerable, [-1, _YES, _NO])
    why = "the question is neither plainly answerable nor unanswerable"
    gaps: list[Rule] = [
        (between, Status.NOT_APPLICABLE, why),
        (answers.context_has_gold == 1, Status.NOT_APPLICABLE, "the context held the gold"),
        _held_part(answers),
        (
            (answers.context_has_gold < 0) & ~unanswerable,
            Status.NOT_RUN,
            "whether the context held the gold is not known",
        ),
    ]
    return _on(answers, gaps)


def corpus_rejection_rate(answers: Answers) -> Scores:
    """1 where an unanswerable question was refused, 0 where it was answered."""
    other = (answers.answerable != _NO, Status.NOT_APPLICABLE, "the question is not unanswerable")
    return _on(answers, [_not_labelled(answers), other])


def _held_part(answers: Answers) -> Rule:
    """A context with part of the gold makes neither a refusal nor an answer plainly wrong."""
    return (answers.context_has_gold == 2, Status.NOT_APPLICABLE, "the context held only part of the gold")


def over_refusal(answers: Answers) -> Scores:
    """1 where a question was refused although its context held the gold: the generator erred.

    A question whose gold is in the context counts as answerable unless it is labelled otherwise.
    """
    other = (
        ~np.isin(answers.answerable, [-1, _YES]),
        Status.NOT_APPLICABLE,
        "the question is not plainly answerable",
    )
    lacks = (answers.context_has_gold == 0, Status.NOT_APPLICABLE, "the context did not hold the gold")
    why = "whether the context held the gold is not known"
    unknown = (answers.context_has_gold < 0, Status.NOT_RUN, why)
    return _on(answers, [other, unknown, lacks, _held_part(answers)])


def refused_answerable(answers: Answers) -> Scores:
    """1 where a question that has an answer was refused, whatever its context held."""
    expected = answers.answerable == _YES if answers.expected is None else answers.expected
    labelled = (answers.answerable >= 0, Status.NOT_APPLICABLE, "the question is not plainly answerable")
    gaps = [(mask & ~expected, status, why) for mask, status, why in (labelled, _not_labelled(answers))]
    return _on(answers, gaps)


def correct_abstention(answers: Answers) -> Scores:
    """1 where an answerable question was refused whose context lacked the gold: right after a miss."""
    holds = (answers.context_has_gold == 1, Status.NOT_APPLICABLE, "the context held the gold")
    other = (answers.answerable != _YES, Status.NOT_APPLICABLE, "the question is not plainly answerable")
    why = "whether the context held the gold is not known"
    answerable_only = [_not_labelled(answers), other, (answers.context_has_gold < 0, Status.NOT_RUN, why)]
    return _on(answers, [*answerable_only, holds, _held_part(answers)])


def refusal_accuracy(answers: Answers) -> Scores:
    """1 where an answerable question was answered or an unanswerable one refused, else 0."""
    right = (answers.refused == 1) == (answers.answerable == _NO)
    between = ~np.isin(answers.answerable, [_YES, _NO])
    why = "the question is neither plainly answerable nor unanswerable"
    gaps = [_not_labelled(answers), (between, Status.NOT_APPLICABLE, why), *_unknown(answers)]
    return Scores.build(right.astype(np.float64), gaps, answers.refused_source)


def _of(formula: Callable[[Answers], Scores]) -> Compute:
    return lambda batch, _k, _convention: formula(require(batch.answers))


_refusal = partial(Metric, component="generation", needs=("answerable", "refused"))
_TWO_BY_TWO = "answerability by refusal; SQuAD 2.0 (Rajpurkar et al. 2018)"

METRICS: tuple[Metric, ...] = (
    _refusal(
        key="negative_rejection_rate",
        title="Negative rejection rate",
        plain="unanswerable, refused",
        meaning="How often the system refuses when its context lacks the answer, as it should.",
        formula="on samples whose context lacks the gold, unanswerable questions among them: 1 if refused, "
        "else 0",
        needs=("refused", "retrieved"),
        undefined="The context held the gold or part of it, or the question is partly answerable or "
        "conversational.",
        reference="negative rejection, RGB (Chen et al. 2024), whose documents are noise only",
        compute=_of(negative_rejection_rate),
    ),
    _refusal(
        key="corpus_rejection_rate",
        title="Rejection of unanswerable questions",
        plain="nothing there, refused",
        meaning="How often the system refuses questions that the whole corpus cannot answer, as it should.",
        formula="on unanswerable questions: 1 if refused, else 0",
        undefined="The question is answerable, partly answerable or conversational.",
        reference=_TWO_BY_TWO,
        compute=_of(corpus_rejection_rate),
    ),
    _refusal(
        key="over_refusal",
        title="Over-refusal",
        plain="had the answer, refused",
        meaning="How often the system refuses although the answer was in its context: a generator error.",
        formula="on questions whose context held the gold, unless labelled other than answerable: 1 if "
        "refused, else 0",
        needs=("refused", "retrieved"),
        undefined="The question is not plainly answerable, or the context did not hold all of the gold.",
        reference=_TWO_BY_TWO,
        higher_is_better=False,
        compute=_of(over_refusal),
    ),
    _refusal(
        key="refused_answerable",
        title="Refused although answerable",
        plain="answerable, yet refused",
        meaning="How often the system refuses questions that have an answer, whether retrieval or generation "
        "is at fault.",
        formula="on questions labelled answerable or, without a label, with gold or a reference that answers "
        "them: 1 if refused, else 0",
        undefined="The question is unanswerable, partly answerable or conversational.",
        reference=_TWO_BY_TWO,
        higher_is_better=False,
        compute=_of(refused_answerable),
    ),
    _refusal(
        key="correct_abstention",
        title="Correct abstention",
        plain="right refusals",
        meaning="How often the system refuses when retrieval missed the gold, as it should.",
        formula="on answerable questions whose context lacked the gold: 1 if refused, else 0",
        needs=("answerable", "refused", "retrieved"),
        undefined="The question is not plainly answerable, or the context held the gold or part of it.",
        reference=_TWO_BY_TWO,
        compute=_of(correct_abstention),
    ),
    _refusal(
        key="refusal_accuracy",
        title="Refusal accuracy",
        plain="refuses when it should",
        meaning="How often the system answers what it can and refuses what it cannot.",
        formula="1 if (answerable and answered) or (unanswerable and refused), else 0",
        undefined="The question is partly answerable or conversational.",
        reference=_TWO_BY_TWO,
        compute=_of(refusal_accuracy),
    ),
    _refusal(
        key="refused",
        title="Refused",
        plain="refusals",
        meaning="How often the system refuses at all; good or bad only together with answerability.",
        formula="1 if the answer is a refusal, else 0",
        needs=("refused",),
        undefined="Never; not run without an answer, or in a language that refusals were not measured in.",
        reference="ragtriage",
        higher_is_better=None,
        compute=_of(refused),
    ),
)
