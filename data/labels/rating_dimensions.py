"""What people can say of a case, on the judge's own scales, so that the two can be held together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from data.errors import DataError
from data.prompts.prompt import label_wording
from data.store.judge_replies import ADDRESSES, AGREES, COMPLETE
from data.store.ledger import Ledger

__all__ = [
    "EVALUATOR",
    "PASS",
    "QUANTITIES",
    "RatingDimension",
    "dimension_of",
    "offered_dimensions",
    "share_of",
]

PASS, EVALUATOR = "pass", "evaluator:"


@dataclass(frozen=True)
class RatingDimension:
    """Something a person can say of a case.

    Attributes:
        key: "pass", the key of a judged metric, or "evaluator:NAME".
        title: name for people.
        levels: word and value of each answer, best first; empty for a share of two whole numbers.
        asks: what a person is asked; of what a judge labels too, in the very words of the judge's prompt.
    """

    key: str
    title: str
    levels: tuple[tuple[str, float], ...]
    asks: str = ""

    @property
    def metric(self) -> str:
        """The metric that a judge gives of the same quantity; a verdict on the whole case has none."""
        return self.key.replace(EVALUATOR, "evaluator_", 1)

    @property
    def binary(self) -> bool:
        """Whether there are but two answers."""
        return len(self.levels) == 2


def _levels(words: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(words.items())


QUANTITIES: Mapping[str, RatingDimension] = {
    one.key: one
    for one in (
        RatingDimension(
            PASS, "Pass or fail", (("pass", 1.0), ("fail", 0.0)), "Would you let this answer stand?"
        ),
        RatingDimension("correctness", "Correctness", _levels(AGREES), label_wording("agrees")),
        RatingDimension(
            "answer_relevancy", "Answer relevancy", _levels(ADDRESSES), label_wording("addresses")
        ),
        RatingDimension("completeness", "Completeness", _levels(COMPLETE), label_wording("complete")),
        RatingDimension(
            "faithfulness",
            "Faithfulness",
            (),
            "How many claims does the answer make, and how many of them does a document support? "
            f"Claims: {label_wording('claims')} Support: {label_wording('by')} "
            "Of an answer without claims nothing can be said.",
        ),
    )
}


def dimension_of(key: str) -> RatingDimension:
    """Find a quantity.

    Raises:
        DataError: there is no such quantity; the message lists those there are.
    """
    name = key.removeprefix(EVALUATOR)
    if key.startswith(EVALUATOR) and name.strip():
        return RatingDimension(key, name, (("yes", 1.0), ("no", 0.0)))
    if key not in QUANTITIES:
        raise DataError(f"quantity {key[:60]!r}; accepted: {', '.join(QUANTITIES)}, {EVALUATOR}NAME")
    return QUANTITIES[key]


def offered_dimensions(ledger: Ledger, project: str) -> list[RatingDimension]:
    """List what people can rate in a project: the fixed quantities, and one for each of its evaluators."""
    if not ledger.path.exists():
        return [*QUANTITIES.values()]
    with ledger.open() as connection:
        rows = connection.execute(
            "SELECT name, question FROM evaluators WHERE project = ? AND removed_at IS NULL"
            " ORDER BY evaluator_id",
            (project,),
        ).fetchall()
    own = [replace(dimension_of(f"{EVALUATOR}{name}"), asks=question) for name, question in rows]
    return [*QUANTITIES.values(), *own]


def share_of(supported: int, claims: int) -> float:
    """Make a value of faithfulness: supported claims of all claims.

    Raises:
        DataError: there is no claim, or more are supported than there are.
    """
    if claims < 1 or not 0 <= supported <= claims:
        raise DataError(
            f"{supported} supported of {claims} claims; accepted: 1 claim or more, supported 0 to all of them"
        )
    return supported / claims
