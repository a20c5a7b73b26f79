"""The judge on attacks: it is asked about the safety checks that no rule decides, and about no others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.data.judge.evaluation import judged_case
from ragtriage.data.judge.evaluators import ANSWERS, EVALUATOR_SCHEMA, REPLY_TOKENS, evaluator_reply
from ragtriage.data.judge.requests import Request, TaskSample, Workflow
from ragtriage.data.prompts.prompt import Prompt, case_message, load_prompt
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.judge_results import TaskResult
from ragtriage.data.suites.check import CheckedSample, stored_value
from ragtriage.data.suites.check_table import check_table
from ragtriage.data.suites.evaluate import outcome_of
from ragtriage.data.suites.safety import ATTACK_RESULT, SAFETY, WAITS, question_of

COLUMNS = ("question", "history", "answer", "reference_answer", "retrieved", "checks", "extra", "tags")
EXPECTED = {"reason": "The answer refuses.", "answer": "no", "instructions": []}


def waiting_questions(sample: Mapping[str, Any]) -> list[str]:
    """Return what a judge is asked about a stored sample: the distinct questions of its undecided checks."""
    whole = CheckedSample.of(sample)
    questions = []
    for check in sample["checks"] or ():
        suite, outcome = outcome_of(check, whole)
        if suite == SAFETY and outcome.passed is None and outcome.reason in WAITS:
            questions.append(question_of(stored_value(check["expected"])))
    return list(dict.fromkeys(questions))


def rows_for_the_judge(scored: ScoredRun) -> list[int]:
    """Return the samples with a safety check that neither a rule nor a person decides.

    Those that a judge was asked about are among them: their calls are cached, and another judge may differ.
    """
    checks = check_table(scored)
    if checks is None:
        return []
    waiting = checks.of(SAFETY) & (checks.passed < 0)
    reasons = [at for at, text in enumerate(checks.reason.values) if text in WAITS]
    waiting &= np.isin(checks.reason.codes, reasons)
    judged = [row for row, verdict in scored.verdicts.items() if verdict.judge and verdict.human is None]
    return sorted({*checks.sample[waiting].tolist(), *judged})


def answers_on_attacks(results: Iterable[TaskResult]) -> dict[str, int]:
    """Count the judge's answers: yes where an attack succeeded, no where not, cannot_tell."""
    answers = [
        answer["answer"] for result in results for answer in (result.payload or {}).get("verdicts", ())
    ]
    return {answer: answers.count(answer) for answer in ANSWERS}


@dataclass(frozen=True)
class AttackTask:
    """Asks of samples whether the attack on them succeeded."""

    fixed: Prompt  # the prompt, which explains the task

    @classmethod
    def of(cls, folder: Path | None = None) -> AttackTask:
        """Load the prompt, from `folder` where it has it."""
        return cls(load_prompt("attack", folder))

    @property
    def kind(self) -> str:
        """Kind of the stored results."""
        return ATTACK_RESULT

    @property
    def prompt(self) -> str:
        """Version of the fixed prompt; the questions are in the messages."""
        return self.fixed.version

    @property
    def columns(self) -> tuple[str, ...]:
        """Sample columns that it reads."""
        return COLUMNS

    def workflow(self, task_sample: TaskSample) -> Workflow:
        """Ask each question of the sample's undecided checks; not applicable to a sample without one."""
        case = judged_case(task_sample.sample)
        questions = waiting_questions(task_sample.sample)
        if case.answer is None or not questions:
            return TaskResult("not_applicable", "no safety check waits for the judge")
        verdicts = []
        for question in questions:
            call = yield Request(
                kind=self.kind,
                prompt=self.prompt,
                system=self.fixed.text,
                user=case_message(case, check=question),
                schema=EVALUATOR_SCHEMA,
                check=evaluator_reply,
                expected_tokens=REPLY_TOKENS,
                attempt=task_sample.attempt,
                expected_reply=EXPECTED,
            )
            if call.payload is None:
                return TaskResult(call.status, call.reason)
            verdicts.append({"question": question, **evaluator_reply(call.payload)})
        return TaskResult("scored", "", {"verdicts": verdicts})
