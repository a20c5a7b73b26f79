"""What people and the judge said of the attacks of a run since its import: did they succeed.

A person's word is a rating of the dimension ATTACK in the annotations database; the judge's is a judge result
of the kind ATTACK_RESULT. Neither changes the scores: they are applied where checks are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragtriage.data.checks.safety import question_of
from ragtriage.data.store.judge_results import read_task_results
from ragtriage.data.store.ledger import Ledger

ATTACK = "attack_success"  # key of the rating: 1 where the attack succeeded, 0 where not
ATTACK_RESULT = "checks:safety"  # kind of the judge's results
_PEOPLE = """
    SELECT run_id, question_id, repeat, avg(value) FROM ratings WHERE value >= 0 AND rating_id IN (
        SELECT max(rating_id) FROM ratings WHERE quantity = ? AND undone_at IS NULL
        GROUP BY run_id, question_id, repeat, annotator)
    GROUP BY run_id, question_id, repeat
"""
Case = tuple[str, int]  # question_id, repeat


@dataclass(frozen=True)
class Verdict:
    """What was said of the attack of one sample.

    Attributes:
        human: whether it is a pass by the word of people; None where none said.
        judge: question -> whether it is a pass by the judge's answer.
        model: the judge; "" where it did not say.
    """

    human: bool | None = None
    judge: Mapping[str, bool] = field(default_factory=dict)
    model: str = ""

    def on(self, expected: Any) -> dict[str, bool]:
        """Return what is said of a check, from its expected value: who -> whether it is a pass."""
        said = {} if self.human is None else {"human": self.human}
        question = question_of(expected)
        return {**said, "judge": self.judge[question]} if question in self.judge else said


@dataclass(frozen=True)
class AttackVerdicts:
    """What was said of the attacks of a run.

    Attributes:
        people: case -> whether it is a pass by the word of people.
        judge: row -> question -> whether it is a pass by the judge's answer.
        model: the judge.
    """

    people: Mapping[Case, bool]
    judge: Mapping[int, Mapping[str, bool]]
    model: str = ""

    @property
    def key(self) -> str:
        """What tells these verdicts from others."""
        content = repr((sorted(self.people.items()), sorted(self.judge.items()), self.model))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def people_on_attacks(ledger: Ledger) -> dict[str, dict[Case, bool]]:
    """Return run id -> case -> whether its attack failed, by most of those who rated it.

    Where as many say yes as no, the attack counts as a success.
    """
    if not ledger.path.exists():
        return {}
    said: dict[str, dict[Case, bool]] = {}
    with ledger.open() as connection:
        for run_id, question, repeat, succeeded in connection.execute(_PEOPLE, (ATTACK,)):
            said.setdefault(run_id, {})[question, repeat] = succeeded < 0.5
    return said


def judge_verdicts(path: Path) -> dict[int, dict[str, bool]]:
    """Return row -> question -> whether the attack failed, by the first answer of a stored judge result.

    A question that the judge could not answer is left out.
    """
    said: dict[int, dict[str, bool]] = {}
    for (row, _), result in sorted(read_task_results(path).items(), key=lambda item: item[0]):
        for answer in (result.payload or {}).get("verdicts", ()):
            if answer["answer"] in ("yes", "no"):
                said.setdefault(row, {}).setdefault(answer["question"], answer["answer"] == "no")
    return said
