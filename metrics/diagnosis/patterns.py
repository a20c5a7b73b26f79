"""The metric pattern of each sample: context, faithfulness and answer relevance, and what they mean.

Refusals are routed out first. High means at or above the cut-off.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metrics.schema.scores import BoolArray, FloatArray

__all__ = [
    "CONTEXT_METRICS",
    "PATTERNS",
    "BadCases",
    "CaseThresholds",
    "Level",
    "Pattern",
    "Refusals",
    "bad_cases",
    "choose_context_metric",
    "pattern",
    "pattern_code",
    "refusals",
]

Level = Literal["high", "low", "any"]
CONTEXT_METRICS = (
    "context_relevance",
    "recall",
    "span_recall",
    "all_hops_recall",
    "context_recall",
    "context_precision",
)  # the first that a run has is its context signal; recall stands for recall@k at any k
_ANSWERABLE, _UNANSWERABLE = 0, 2  # codes in metrics.schema.batch.ANSWERABLE


@dataclass(frozen=True)
class CaseThresholds:
    """Below which value a single sample counts as low. These are not gate thresholds, which are for means.

    Attributes:
        context: for the context signal.
        faithfulness: for the share of claims that the context supports.
        answer_relevancy: for how well the answer meets the question.
        correctness: for agreement with the reference; 0.5 keeps "partly right" out of the bad cases.
        noise: from which share of an answer's claims that are wrong and stem from a retrieved document the
            answer counts as following the noise; a third, so that one slip in a long answer does not.
        utilization: below which share of what the context held the answer counts as leaving it out.
    """

    context: float = 0.5
    faithfulness: float = 0.8
    answer_relevancy: float = 0.5
    correctness: float = 0.5
    noise: float = 1 / 3
    utilization: float = 0.5


@dataclass(frozen=True)
class Pattern:
    """A row of the pattern table.

    Attributes:
        key: name in files and links.
        title: name for people.
        meaning: what the pattern says about the pipeline.
        advice: where to look.
        levels: of context, faithfulness and answer relevance.
    """

    key: str
    title: str
    meaning: str
    advice: str
    levels: tuple[Level, Level, Level] = ("any", "any", "any")


PATTERNS = (
    Pattern(
        "refusal",
        "Refusal",
        "The system declined to answer, so faithfulness and relevance do not describe it.",
        "See whether the question was answerable and whether the context held the answer.",
    ),
    Pattern(
        "wrong_section",
        "Attended to the wrong section",
        "The generator attended to the wrong section of a correct document.",
        "Look at the prompt, the order of the context and the length of the chunks.",
        ("high", "high", "low"),
    ),
    Pattern(
        "hallucination",
        "Hallucination or misreading",
        "The right context was there; the answer says what it does not.",
        "Look at the prompt, the model and its temperature, and at how much context it must read.",
        ("high", "low", "any"),
    ),
    Pattern(
        "retrieval",
        "Retrieval problem",
        "The context did not hold what the question needs.",
        "Look at chunking, embeddings and query processing.",
        ("low", "any", "any"),
    ),
    Pattern(
        "healthy",
        "Healthy",
        "Context, faithfulness and answer relevance are all at or above their cut-offs.",
        "Nothing to fix here.",
        ("high", "high", "high"),
    ),
    Pattern(
        "disputed",
        "Healthy, yet wrong against the reference",
        "Well retrieved, faithful and to the point, and still not what the reference says.",
        "Check the reference, the judge and the source document.",
        ("high", "high", "high"),
    ),
    Pattern(
        "not_measured",
        "Not measured",
        "A value that would decide between the diagnoses is missing.",
        "Import or judge the missing metric.",
    ),
)
_CODES = {entry.key: code for code, entry in enumerate(PATTERNS)}


def pattern_code(key: str) -> int:
    """The code of a pattern key, as used in the arrays that pattern returns; KeyError for an unknown key."""
    return _CODES[key]


def choose_context_metric(available: Collection[str]) -> str | None:
    """The metric that speaks for the context: the first of CONTEXT_SIGNALS among the available names.

    Names may carry a rank cut-off; of several, the largest wins (recall@10 before recall@5), since that is
    nearest to all that the generator saw. None where no signal is available.
    """
    for signal in CONTEXT_METRICS:
        found = [name for name in available if name == signal or name.startswith(f"{signal}@")]
        if found:
            return max(found, key=_rank_cut)
    return None


def _rank_cut(name: str) -> float:
    cut = name.partition("@")[2]
    return float(cut) if cut.isdigit() else np.inf


def pattern(
    context: FloatArray,
    faithfulness: FloatArray,
    relevance: FloatArray,
    refused: NDArray[np.int8] | BoolArray,
    cutoffs: CaseThresholds | None = None,
    correct: FloatArray | None = None,
) -> NDArray[np.int8]:
    """Place every sample in exactly one row of PATTERNS.

    A missing value (NaN) leads to "not measured" only where it would decide: a low context alone means
    retrieval, a high context with low faithfulness alone means hallucination.

    Args:
        context: (n,) context signal.
        faithfulness: (n,) faithfulness.
        relevance: (n,) answer relevancy.
        refused: (n,) True or 1 where the answer is a refusal; -1 is unknown and taken as answered.
        cutoffs: defaults where left out.
        correct: (n,) correctness against the reference; tells "disputed" from "healthy".

    Returns:
        (n,) codes into PATTERNS.
    """
    cut = cutoffs or CaseThresholds()
    high_context, high_faith = context >= cut.context, faithfulness >= cut.faithfulness
    grounded = high_context & high_faith
    relevant = relevance >= cut.answer_relevancy
    wrong = np.zeros(len(context), dtype=bool) if correct is None else correct < cut.correctness
    rules = (
        ("refusal", refused == 1),
        ("retrieval", context < cut.context),
        ("hallucination", high_context & (faithfulness < cut.faithfulness)),
        ("wrong_section", grounded & (relevance < cut.answer_relevancy)),
        ("disputed", grounded & relevant & wrong),
        ("healthy", grounded & relevant),
    )
    codes = np.select([mask for _, mask in rules], [_CODES[key] for key, _ in rules], _CODES["not_measured"])
    return codes.astype(np.int8)


@dataclass(frozen=True)
class Refusals:
    """Which answers and refusals are right or wrong as such, by what is known of the question.

    Attributes:
        right: (n,) True where an unanswerable question was refused.
        wrong: (n,) True where a question was refused that is labelled answerable or has gold recorded.
        answered: (n,) True where an unanswerable question was answered.
        open: (n,) True where a question was refused and nothing says whether that was right.
    """

    right: BoolArray
    wrong: BoolArray
    answered: BoolArray
    open: BoolArray


def refusals(
    n: int,
    refused: NDArray[np.int8] | None = None,
    answerable: NDArray[np.int8] | None = None,
    gold_in_context: FloatArray | None = None,
) -> Refusals:
    """Tell right refusals from wrong ones.

    Args:
        n: number of samples.
        refused: (n,) 1 refused, 0 answered, -1 unknown.
        answerable: (n,) codes into metrics.schema.batch.ANSWERABLE, -1 unknown.
        gold_in_context: (n,) share of the gold in the context; NaN where no gold is recorded.
    """
    unknown = np.full(n, -1, dtype=np.int8)
    said = unknown if refused is None else refused
    known = unknown if answerable is None else answerable
    declined, unanswerable = said == 1, known == _UNANSWERABLE
    has_gold = np.zeros(n, dtype=bool) if gold_in_context is None else ~np.isnan(gold_in_context)
    wrong = declined & ~unanswerable & ((known == _ANSWERABLE) | has_gold)
    right = declined & unanswerable
    return Refusals(right, wrong, unanswerable & (said == 0), declined & ~wrong & ~right)


@dataclass(frozen=True)
class BadCases:
    """Which samples are bad, and why.

    Attributes:
        bad: (n,) bool.
        reasons: name of each reason -> (n,) bool, True also where a person's "good" overruled it.
        overruled: (n,) True where a person marked good what a cut-off or a check calls bad.
    """

    bad: BoolArray
    overruled: BoolArray
    reasons: Mapping[str, BoolArray] = field(default_factory=dict)


def bad_cases(
    values: Mapping[str, FloatArray],
    cutoffs: CaseThresholds | None = None,
    checks_failed: BoolArray | None = None,
    human_bad: BoolArray | None = None,
    human_good: BoolArray | None = None,
    refused: NDArray[np.int8] | None = None,
    answerable: NDArray[np.int8] | None = None,
    gold_in_context: FloatArray | None = None,
) -> BadCases:
    """A bad case misses a cut-off, fails a check, answers or refuses wrongly, or was marked bad by a person.

    A right refusal is good and a wrong one bad, whatever the metrics say of them. A person's word overrules
    cut-offs and checks; where people disagree, bad wins, so that somebody looks again.

    Args:
        values: "context", "faithfulness", "answer_relevancy", "correctness" -> (n,) values; absent ones are
            not judged and NaN misses nothing. At least one entry.
        cutoffs: defaults where left out.
        checks_failed: (n,) True where any check failed.
        human_bad: (n,) True where a person marked the sample bad.
        human_good: (n,) True where a person marked it good.
        refused: (n,) 1 refused, 0 answered, -1 unknown.
        answerable: (n,) codes into metrics.schema.batch.ANSWERABLE, -1 unknown.
        gold_in_context: (n,) share of the gold in the context; NaN where no gold is recorded.
    """
    cut = cutoffs or CaseThresholds()
    n = len(next(iter(values.values())))
    nobody = np.zeros(n, dtype=bool)
    found = refusals(n, refused, answerable, gold_in_context)
    limits = {
        name: getattr(cut, name) for name in ("context", "faithfulness", "answer_relevancy", "correctness")
    }
    reasons = {
        name: (values[name] < limit) & ~found.right for name, limit in limits.items() if name in values
    }
    reasons["answered_unanswerable"] = found.answered
    reasons["wrongly_refused"] = found.wrong
    reasons["checks"] = nobody if checks_failed is None else checks_failed
    marked_bad = nobody if human_bad is None else human_bad
    marked_good = (nobody if human_good is None else human_good) & ~marked_bad
    missed = np.logical_or.reduce(list(reasons.values()))
    reasons["human"] = marked_bad
    return BadCases((missed & ~marked_good) | marked_bad, missed & marked_good, reasons)
