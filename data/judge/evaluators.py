"""Binary evaluators: a yes / no question about one failure label, asked of the judge and checked.

The judge on attacks is one of the kind: it is asked about safety checks that no rule decides, and no others.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import field_validator

from ragtriage.data.diagnosis.diagnosis import HumanLabels
from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.judge.evaluation import EvaluationTask, ReferenceWay, judged_case
from ragtriage.data.judge.reply_model import Instruction, ReplyObject, misfit, validate_reply, wire_schema
from ragtriage.data.judge.requests import JudgeTask, Model, Request, TaskSample, Workflow
from ragtriage.data.labels.failure_taxonomy import annotator_name
from ragtriage.data.prompts.prompt import Prompt, case_message, evaluator_message, load_prompt
from ragtriage.data.scoring.judged_scores import evaluator_metric
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.judge_results import TaskResult, read_task_results
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import Workspace, utc_now
from ragtriage.data.suites.check import CheckedSample, stored_value
from ragtriage.data.suites.check_table import check_table
from ragtriage.data.suites.registry import outcome_of
from ragtriage.data.suites.safety import ATTACK_RESULT, SAFETY, WAITS, question_of
from ragtriage.metrics.schema.scores import FloatArray, Source, Status
from ragtriage.metrics.statistics.prevalence import EvaluatorAccuracy, evaluator_accuracy

ANSWERS = ("yes", "no", "cannot_tell")  # yes: the failure is there
COLUMNS = ("question", "history", "answer", "reference_answer", "retrieved")
REPLY_TOKENS = 120
LONGEST_NAME, LONGEST_QUESTION = 40, 1000
_NAME = re.compile(rf"\w{{1,{LONGEST_NAME}}}")
_LIST = """
    SELECT name, evaluators.label, question, coalesce((
        SELECT definition FROM taxonomy WHERE taxonomy.project = evaluators.project
        AND taxonomy.label = evaluators.label AND removed_at IS NULL ORDER BY rowid DESC LIMIT 1), '')
    FROM evaluators WHERE project = ? AND removed_at IS NULL ORDER BY evaluator_id
"""
_ADD = """
    INSERT INTO evaluators (project, name, label, question, who, at) SELECT ?, ?, ?, ?, ?, ?
    WHERE NOT EXISTS (SELECT 1 FROM evaluators WHERE project = ? AND name = ? AND removed_at IS NULL)
"""


@dataclass(frozen=True)
class Evaluator:
    """A yes / no question that the judge answers about each case."""

    name: str  # letters, digits and underscores, unique in the project
    label: str  # failure label that it looks for
    question: str  # answered with yes where the failure is present
    definition: str = ""  # of the label in the taxonomy; "" where it has none

    @property
    def kind(self) -> str:
        """Kind of its calls and results."""
        return f"evaluator:{self.name}"

    @property
    def metric(self) -> str:
        """Key of its metric: 1 where the failure was found, 0 where not; of fluency the other way round."""
        return evaluator_metric(self.name)

    @property
    def explained(self) -> str:
        """The definition, unless the question contains it."""
        return "" if self.definition in self.question else self.definition


# Asked of every project's answers where it is called by its name, and not otherwise.
FLUENCY = Evaluator(
    "fluency",
    "not fluent",
    "Is the answer not fluent? Yes where a fluent reader of its language stumbles: wrong grammar or word "
    "forms, words that do not go together, a sentence that breaks off, a repeated passage, a switch of "
    "language that nobody asked for, or text that is garbled. Truth, support, length, tone, lists and "
    "headings do not matter, nor does one typing error. “Refunds takes 5 days and then are the money back” "
    "is not fluent; “Refunds take 5 days”, right or wrong, is.",
)


def evaluator_name(label: str) -> str:
    """Return a name for an evaluator of a failure label."""
    return re.sub(r"\W+|_+", "_", label.lower()).strip("_")[:LONGEST_NAME].rstrip("_") or "evaluator"


def suggested_question(label: str, definition: str) -> str:
    """Return a yes / no question for a failure label."""
    if not definition.strip():
        return f"Does the answer have this failure: {label}?"
    return f"Is this true of the answer? {definition.strip()}"


def add_evaluator(ledger: Ledger, project: str, evaluator: Evaluator, who: str) -> None:
    """Store an evaluator; its definition stays in the taxonomy.

    Raises:
        WorkspaceError: the name is taken or not as accepted, the question is empty or too long, or `who`
            is empty.
    """
    name, question = evaluator.name, evaluator.question.strip()
    if name == FLUENCY.name:
        raise WorkspaceError(f"evaluator name {name!r} is taken by the built-in one; accepted: another name")
    if not _NAME.fullmatch(name):
        accepted = f"1 to {LONGEST_NAME} letters, digits and underscores"
        raise WorkspaceError(f"evaluator name {name[:60]!r}; accepted: {accepted}")
    if not question or len(question) > LONGEST_QUESTION:
        accepted = f"a yes / no question of at most {LONGEST_QUESTION:,} characters"
        raise WorkspaceError(
            f"question of evaluator {name!r}: {len(question):,} characters; accepted: {accepted}"
        )
    row = (
        project,
        name,
        evaluator.label,
        question,
        annotator_name(who),
        utc_now().isoformat(),
        project,
        name,
    )
    with ledger.open() as connection:
        if not connection.execute(_ADD, row).rowcount:
            raise WorkspaceError(f"evaluator {name!r} exists already; accepted: another name")


def evaluators(ledger: Ledger, project: str) -> list[Evaluator]:
    """List the evaluators of a project, oldest first."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        return [Evaluator(*row) for row in connection.execute(_LIST, (project,))]


def find_evaluator(ledger: Ledger, project: str, name: str) -> Evaluator:
    """Find an evaluator by name: one of the project, or the built-in one.

    Raises:
        WorkspaceError: there is none; the message lists the others.
    """
    own = evaluators(ledger, project)
    by_name = {evaluator.name: evaluator for evaluator in [*own, FLUENCY]}
    if name not in by_name:
        known = ", ".join(each.name for each in own)
        known = known or "none yet; make one from a failure label on the Judge page"
        raise WorkspaceError(
            f"no evaluator {name!r} in project {project!r}; known: {known}; built in: {FLUENCY.name}"
        )
    return by_name[name]


def remove_evaluator(ledger: Ledger, project: str, name: str) -> None:
    """Remove an evaluator; its results stay."""
    with ledger.open() as connection:
        connection.execute(
            "UPDATE evaluators SET removed_at = ? WHERE project = ? AND name = ? AND removed_at IS NULL",
            (utc_now().isoformat(), project, name),
        )


@dataclass(frozen=True)
class EvaluatorTask:
    """Asks an evaluator's question about samples."""

    evaluator: Evaluator
    fixed: Prompt  # the fixed prompt, which explains the task
    columns: ClassVar = COLUMNS

    @classmethod
    def of(cls, evaluator: Evaluator, folder: Path | None = None) -> EvaluatorTask:
        """Load the prompt, from `folder` where it has it."""
        return cls(evaluator, load_prompt("evaluator", folder))

    @property
    def kind(self) -> str:
        """Kind of the stored results."""
        return self.evaluator.kind

    @property
    def prompt(self) -> str:
        """Version of the fixed prompt, the question and the definition together."""
        parts = (self.fixed.version, self.evaluator.question, self.evaluator.explained)
        return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]

    def workflow(self, task_sample: TaskSample) -> Workflow:
        """Ask the question once; not applicable to a sample without an answer."""
        case = judged_case(task_sample.sample)
        if case.answer is None:
            return TaskResult("not_applicable", "the sample has no answer")
        call = yield Request(
            kind=self.kind,
            prompt=self.prompt,
            system=self.fixed.text,
            user=evaluator_message(case, self.evaluator.question, self.evaluator.explained),
            schema=EVALUATOR_SCHEMA,
            check=evaluator_reply,
            expected_tokens=REPLY_TOKENS,
            attempt=task_sample.attempt,
        )
        if call.payload is None:
            return TaskResult(call.status, call.reason)
        return TaskResult("scored", "", evaluator_reply(call.payload))


class EvaluatorReply(ReplyObject):
    """The judge's answer to an evaluator's question."""

    reason: str
    answer: Literal["yes", "no", "cannot_tell"]
    instructions: list[Instruction]

    @field_validator("reason")
    @classmethod
    def _is_not_blank(cls, reason: str) -> str:
        if not reason.strip():
            raise misfit(repr(reason[:40]), "one or two sentences")
        return reason


EVALUATOR_SCHEMA = wire_schema(EvaluatorReply)


def evaluator_reply(reply: object) -> dict[str, object]:
    """Return a checked reply of the form.

    Raises:
        ReplyError: it does not fit.
    """
    checked = validate_reply(reply, EvaluatorReply)
    instructions = [instruction.model_dump() for instruction in checked.instructions]
    return {"answer": checked.answer, "reason": checked.reason, "instructions": instructions}


def injected_samples(path: Path) -> int:
    """Count the samples of a stored result in which text tried to instruct the judge."""
    first = [result for (_, attempt), result in read_task_results(path).items() if attempt == 0]
    return sum(bool(result.payload.get("instructions")) for result in first if result.payload is not None)


def truth_of(n: int, human_labels: HumanLabels, failure: str) -> FloatArray:
    """Return whether each sample was labelled with a failure.

    Returns:
        (n,) 1 where any annotator gave that label, 0 where it has another one or passed, NaN without either;
        a fail without a failure label tells nothing about this one.
    """
    truth = np.full(n, np.nan)
    for row, labels in human_labels.labels.items():
        decisive = [label for label in labels if label.failure or label.verdict == "pass"]
        if decisive:
            truth[row] = float(any(label.failure == failure for label in decisive))
    return truth


def accuracy_of(
    scored: ScoredRun, human_labels: HumanLabels, evaluator: Evaluator
) -> EvaluatorAccuracy | None:
    """Compare an evaluator's answers on a run with human labels; None where it did not judge the run."""
    column = scored.column(evaluator.metric, Source.JUDGED)
    if column is None:
        return None
    truth = truth_of(scored.n, human_labels, evaluator.label)
    applicable = column.status != Status.NOT_APPLICABLE
    groups = scored.clusters, applicable, scored.question_weights
    return evaluator_accuracy(column.values, truth, scored.question, *groups)


def own_prompts(workspace: Workspace) -> Path:
    """Return the folder of a workspace's own prompts, which need not exist."""
    return workspace.root / "prompts"


def prompt_folder(workspace: Workspace, prompts: str | None = None) -> Path:
    """Return the folder of the user's own prompts; the workspace's where none is given.

    Raises:
        DataError: no such folder.
    """
    folder = Path(prompts) if prompts else own_prompts(workspace)
    if prompts and not folder.is_dir():
        raise DataError(f"prompts {prompts}: no such folder; accepted: one with reading.md and the like")
    return folder


def judge_task(
    workspace: Workspace,
    project: str,
    model: Model,
    evaluator: str = "",
    prompts: str | None = None,
    reference: ReferenceWay = "apart",
) -> JudgeTask:
    """Return the task of a judge job.

    Without an evaluator's name it is the evaluation of the answers; an evaluator is always shown the
    reference.

    Raises:
        DataError: no such folder, or no such evaluator.
    """
    folder = prompt_folder(workspace, prompts)
    if evaluator:
        return EvaluatorTask.of(find_evaluator(Ledger(workspace.ledger_path), project, evaluator), folder)
    return EvaluationTask.of(model.window, folder, reference)


ATTACK_COLUMNS = ("question", "history", "answer", "reference_answer", "retrieved", "checks", "extra", "tags")
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
    kind: ClassVar = ATTACK_RESULT
    columns: ClassVar = ATTACK_COLUMNS

    @classmethod
    def of(cls, folder: Path | None = None) -> AttackTask:
        """Load the prompt, from `folder` where it has it."""
        return cls(load_prompt("attack", folder))

    @property
    def prompt(self) -> str:
        """Version of the fixed prompt; the questions are in the messages."""
        return self.fixed.version

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
