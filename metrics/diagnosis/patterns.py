"""The metric pattern of each sample: context, faithfulness and answer relevancy together, and what it means.

Refusals are set apart first. High means at or above the threshold.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.scores import BoolArray, FloatArray

Level = Literal["high", "low", "any"]
CONTRADICTIONS = ("self_contradiction", "contradicts_context")  # reasons for which a case is bad
_ANSWERABLE, _UNANSWERABLE = 0, 2  # codes in ragtriage.metrics.schema.batch.ANSWERABLE


@dataclass(frozen=True)
class CaseThresholds:
    """Values below which a sample counts as low; gate thresholds, which are for means, are separate."""

    context: float = 0.5  # for the context metric
    faithfulness: float = 0.8  # for the share of claims that the context supports
    answer_relevancy: float = 0.5  # for how well the answer meets the question
    # for agreement with the reference; 0.5 keeps "partly right" out of the bad cases
    correctness: float = 0.5
    # share of wrong claims taken from retrieved documents from which on an answer counts as following
    # noise; a third, so that one slip in a long answer does not count
    noise: float = 1 / 3
    utilization: float = 0.5  # share of the relevant context that an answer must use


@dataclass(frozen=True)
class Pattern:
    """A row of the pattern table."""

    key: str  # name in files and links
    title: str  # name on screen
    meaning: str  # what the pattern says about the pipeline; what to try, a bad case's stage alone tells
    # of context, faithfulness and answer relevancy
    levels: tuple[Level, Level, Level] = ("any", "any", "any")


PATTERNS = (
    Pattern(
        "refusal", "Refusal", "The system refused to answer, so faithfulness and relevancy do not apply."
    ),
    Pattern(
        "wrong_section",
        "Wrong section used",
        "The answer is faithful to a relevant context but uses the wrong part of it.",
        ("high", "high", "low"),
    ),
    Pattern(
        "hallucination",
        "Hallucination or misreading",
        "The context was right, but the answer states what it does not support.",
        ("high", "low", "any"),
    ),
    Pattern(
        "retrieval",
        "Retrieval problem",
        "The context did not contain what the question needs.",
        ("low", "any", "any"),
    ),
    Pattern(
        "healthy",
        "Healthy",
        "Context, faithfulness and answer relevancy are at or above their thresholds; nothing else is bad.",
        ("high", "high", "high"),
    ),
    Pattern(
        "disputed",
        "High metrics, but disagrees with the reference",
        "Good context, a faithful and relevant answer, and yet it differs from the reference.",
        ("high", "high", "high"),
    ),
    Pattern(
        "bad_otherwise",
        "High metrics, bad for another reason",
        "All three are at or above their thresholds; a check, a contradiction, a label or an answer to an "
        "unanswerable question makes the case bad.",
        ("high", "high", "high"),
    ),
    Pattern(
        "not_measured",
        "Not measured",
        "A value needed to tell the patterns apart is missing: import it or run the judge.",
    ),
)
_CODES = {entry.key: code for code, entry in enumerate(PATTERNS)}


def pattern_code(key: str) -> int:
    """Return the code of a pattern key, as used in the arrays of `pattern`; KeyError for an unknown key."""
    return _CODES[key]


def pattern(
    context: FloatArray,
    faithfulness: FloatArray,
    relevance: FloatArray,
    refused: NDArray[np.int8] | BoolArray,
    thresholds: CaseThresholds | None = None,
    correct: FloatArray | None = None,
    contradicted: BoolArray | None = None,
    bad: BoolArray | None = None,
) -> NDArray[np.int8]:
    """Assign every sample to exactly one row of PATTERNS.

    A missing value (NaN) leads to "not measured" only where it would decide: a low context is enough for
    "retrieval", a high context with low faithfulness for "hallucination".

    Args:
        context: (n,) values of the context metric.
        faithfulness: (n,) faithfulness.
        relevance: (n,) answer relevancy.
        refused: (n,) True or 1 where the answer is a refusal; -1 is unknown and treated as answered.
        thresholds: the defaults where left out.
        correct: (n,) correctness against the reference; separates "disputed" from "healthy".
        contradicted: (n,) True where the answer contradicts its context, which is a misreading however many
            of its other claims are supported.
        bad: (n,) True where the case is bad for any reason; separates "bad_otherwise" from "healthy".

    Returns:
        (n,) codes into PATTERNS.
    """
    minimum = thresholds or CaseThresholds()
    high_context, high_faith = context >= minimum.context, faithfulness >= minimum.faithfulness
    grounded = high_context & high_faith
    misread = np.zeros(len(context), dtype=bool) if contradicted is None else contradicted
    relevant = relevance >= minimum.answer_relevancy
    wrong = np.zeros(len(context), dtype=bool) if correct is None else correct < minimum.correctness
    failing = np.zeros(len(context), dtype=bool) if bad is None else bad
    # the first rule that holds wins; a comparison with NaN holds for none, which leaves "not measured"
    rules = (
        ("refusal", refused == 1),
        ("retrieval", context < minimum.context),
        ("hallucination", high_context & ((faithfulness < minimum.faithfulness) | misread)),
        ("wrong_section", grounded & (relevance < minimum.answer_relevancy)),
        ("disputed", grounded & relevant & wrong),
        ("bad_otherwise", grounded & relevant & failing),
        ("healthy", grounded & relevant),
    )
    codes = np.select([mask for _, mask in rules], [_CODES[key] for key, _ in rules], _CODES["not_measured"])
    return codes.astype(np.int8)


@dataclass(frozen=True)
class Refusals:
    """Which answers and refusals are right or wrong as such, given what is known of the question."""

    right: BoolArray  # (n,) True where an unanswerable question was refused
    # (n,) True where a question was refused although it is labelled answerable, has gold or, without a
    # label, has a reference that answers it
    wrong: BoolArray
    answered: BoolArray  # (n,) True where an unanswerable question was answered
    open: BoolArray  # (n,) True where a question was refused and it is unknown whether that was right


def refusals(
    n: int,
    refused: NDArray[np.int8] | None = None,
    answerable: NDArray[np.int8] | None = None,
    gold_in_context: FloatArray | None = None,
    has_reference: BoolArray | None = None,
) -> Refusals:
    """Separate right refusals from wrong ones.

    Args:
        n: number of samples.
        refused: (n,) 1 refused, 0 answered, -1 unknown.
        answerable: (n,) codes into ragtriage.metrics.schema.batch.ANSWERABLE, -1 unknown.
        gold_in_context: (n,) share of the gold in the context; NaN where no gold is recorded.
        has_reference: (n,) True where a reference answers the question; decides where no label does.
    """
    unknown = np.full(n, -1, dtype=np.int8)
    refused = unknown if refused is None else refused
    answerable = unknown if answerable is None else answerable
    declined, unanswerable = refused == 1, answerable == _UNANSWERABLE
    has_gold = np.zeros(n, dtype=bool) if gold_in_context is None else ~np.isnan(gold_in_context)
    answers = np.zeros(n, dtype=bool) if has_reference is None else has_reference & (answerable < 0)
    wrong = declined & ~unanswerable & ((answerable == _ANSWERABLE) | has_gold | answers)
    right = declined & unanswerable
    return Refusals(right, wrong, unanswerable & (refused == 0), declined & ~wrong & ~right)


@dataclass(frozen=True)
class BadCases:
    """Which samples are bad, and why."""

    bad: BoolArray  # (n,) bool
    overruled: BoolArray  # (n,) True where a human label is good and a threshold or a check says bad
    # name of each reason -> (n,) bool, True also where a human label "good" overruled it
    reasons: Mapping[str, BoolArray] = field(default_factory=dict)


def bad_cases(
    values: Mapping[str, FloatArray],
    thresholds: CaseThresholds | None = None,
    checks_failed: BoolArray | None = None,
    human_bad: BoolArray | None = None,
    human_good: BoolArray | None = None,
    refused: NDArray[np.int8] | None = None,
    answerable: NDArray[np.int8] | None = None,
    gold_in_context: FloatArray | None = None,
    contradictions: Mapping[str, BoolArray] | None = None,
    has_reference: BoolArray | None = None,
) -> BadCases:
    """Find the cases that are bad: by a threshold, check, contradiction, wrong answer or refusal, or label.

    A right refusal is good and a wrong one bad, whatever the metrics say. Human labels overrule thresholds
    and checks; where they disagree, bad wins, so that somebody looks again.

    Args:
        values: "context", "faithfulness", "answer_relevancy", "correctness" -> (n,) values; absent ones are
            not judged and NaN misses no threshold. At least one entry.
        thresholds: the defaults where left out.
        checks_failed: (n,) True where any check failed.
        human_bad: (n,) True where a human label says bad.
        human_good: (n,) True where a human label says good.
        refused: (n,) 1 refused, 0 answered, -1 unknown.
        answerable: (n,) codes into ragtriage.metrics.schema.batch.ANSWERABLE, -1 unknown.
        gold_in_context: (n,) share of the gold in the context; NaN where no gold is recorded.
        contradictions: "self_contradiction", "contradicts_context" -> (n,) True where the answer contradicts
            itself, or its context.
        has_reference: (n,) True where a reference answers the question.
    """
    minimum = thresholds or CaseThresholds()
    n = len(next(iter(values.values())))
    none = np.zeros(n, dtype=bool)
    by_refusal = refusals(n, refused, answerable, gold_in_context, has_reference)
    reasons = {
        name: (values[name] < getattr(minimum, name)) & ~by_refusal.right
        for name in ("context", "faithfulness", "answer_relevancy", "correctness")
        if name in values
    }
    reasons["answered_unanswerable"] = by_refusal.answered
    reasons["wrongly_refused"] = by_refusal.wrong
    for name in CONTRADICTIONS:
        reasons[name] = (contradictions or {}).get(name, none) & ~by_refusal.right
    reasons["checks"] = none if checks_failed is None else checks_failed
    labelled_bad = none if human_bad is None else human_bad
    labelled_good = (none if human_good is None else human_good) & ~labelled_bad
    # before the labels join the reasons: a label "good" overrules every reason but a label "bad"
    failing = np.logical_or.reduce(list(reasons.values()))
    reasons["human"] = labelled_bad
    return BadCases((failing & ~labelled_good) | labelled_bad, failing & labelled_good, reasons)
