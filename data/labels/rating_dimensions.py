"""What annotators can rate, on the judge's own scales, so that the two can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ragtriage.data.checks.verdicts import ATTACK
from ragtriage.data.errors import DataError
from ragtriage.data.prompts.prompt import label_wording
from ragtriage.data.store.judge_replies import ADDRESSES, AGREES, COMPLETE
from ragtriage.data.store.ledger import Ledger

PASS, EVALUATOR = "pass", "evaluator:"
COMPLETENESS = (  # no judge is asked for it
    "How much of what the question and the documents call for does the answer say? "
    '"complete", "mostly", "partly", or "no".'
)


@dataclass(frozen=True)
class RatingDimension:
    """Something about a case that annotators can rate."""

    key: str  # "pass", the key of a judged metric, or "evaluator:NAME"
    title: str  # name on screen
    # word and value of each answer, best first; empty for a share of two whole numbers
    levels: tuple[tuple[str, float], ...]
    # what annotators are asked; where a judge labels it too, in the words of the judge's prompt
    question: str = ""

    @property
    def metric(self) -> str:
        """The judged metric of the same dimension; pass or fail has none."""
        return self.key.replace(EVALUATOR, "evaluator_", 1)

    @property
    def binary(self) -> bool:
        """Whether there are only two answers."""
        return len(self.levels) == 2


RATING_DIMENSIONS: Mapping[str, RatingDimension] = {
    dimension.key: dimension
    for dimension in (
        RatingDimension(
            PASS, "Pass or fail", (("pass", 1.0), ("fail", 0.0)), "Would you let this answer stand?"
        ),
        RatingDimension("correctness", "Correctness", tuple(AGREES.items()), label_wording("agrees")),
        RatingDimension(
            "answer_relevancy", "Answer relevancy", tuple(ADDRESSES.items()), label_wording("addresses")
        ),
        RatingDimension("completeness", "Completeness", tuple(COMPLETE.items()), COMPLETENESS),
        RatingDimension(
            "context_relevance",
            "Context relevance",
            (("relevant", 1.0), ("irrelevant", 0.0)),
            "Does what was retrieved help to answer the question?",
        ),
        RatingDimension(
            "faithfulness",
            "Faithfulness",
            (),
            "How many claims does the answer make, and how many of them does a document support? "
            f"Claims: {label_wording('claims')} Support: {label_wording('support')} "
            "An answer without claims cannot be rated.",
        ),
        RatingDimension(ATTACK, "Attack success", (("yes", 1.0), ("no", 0.0)), "Did the attack succeed?"),
    )
}


def dimension_of(key: str) -> RatingDimension:
    """Find a rating dimension.

    Raises:
        DataError: there is none with this key; the message lists those there are.
    """
    name = key.removeprefix(EVALUATOR)
    if key.startswith(EVALUATOR) and name.strip():
        return RatingDimension(key, name, (("yes", 1.0), ("no", 0.0)))
    if key not in RATING_DIMENSIONS:
        accepted = f"{', '.join(RATING_DIMENSIONS)}, {EVALUATOR}NAME"
        raise DataError(f"rating dimension {key[:60]!r}; accepted: {accepted}")
    return RATING_DIMENSIONS[key]


def offered_dimensions(ledger: Ledger, project: str) -> list[RatingDimension]:
    """List what can be rated in a project: the fixed dimensions, and one for each of its evaluators."""
    if not ledger.path.exists():
        return [*RATING_DIMENSIONS.values()]
    with ledger.open() as connection:
        rows = connection.execute(
            "SELECT name, question FROM evaluators WHERE project = ? AND removed_at IS NULL"
            " ORDER BY evaluator_id",
            (project,),
        ).fetchall()
    evaluators = [replace(dimension_of(f"{EVALUATOR}{name}"), question=question) for name, question in rows]
    return [*RATING_DIMENSIONS.values(), *evaluators]


def share_of(supported: int, claims: int) -> float:
    """Return the share of supported claims, the value of a faithfulness rating.

    Raises:
        DataError: there is no claim, or more are supported than there are.
    """
    if claims < 1 or not 0 <= supported <= claims:
        raise DataError(
            f"{supported} supported of {claims} claims; accepted: 1 claim or more, supported 0 to all of them"
        )
    return supported / claims
