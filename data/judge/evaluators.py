"""Binary evaluators: a yes / no question about one failure label, what the judge is asked, and its check."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import field_validator

from data.diagnosis.diagnosis import HumanLabels
from data.errors import DataError, WorkspaceError
from data.judge.evaluation import EvaluationTask, judged_case
from data.judge.prices import Model
from data.judge.reply import Instruction, ReplyObject, misfit, validate_reply, wire_schema
from data.judge.requests import JudgeTask, Request, TaskSample, Workflow
from data.labels.reviewed_cases import named
from data.prompts.message import evaluator_message
from data.prompts.prompt import Prompt, load_prompt
from data.scoring.scored_run import ScoredRun
from data.store.judge_results import TaskResult, read_task_results
from data.store.ledger import Ledger
from data.store.workspace import Workspace, utc_now
from metrics.schema.scores import FloatArray, Source, Status
from metrics.statistics.prevalence import EvaluatorAccuracy, evaluator_accuracy

__all__ = [
    "ANSWERS",
    "EVALUATOR_SCHEMA",
    "Evaluator",
    "EvaluatorTask",
    "accuracy_of",
    "add_evaluator",
    "evaluator_name",
    "evaluators",
    "find_evaluator",
    "injected_samples",
    "judge_task",
    "own_prompts",
    "remove_evaluator",
    "suggested_question",
    "truth_of",
]

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
    """A yes / no question that the judge answers about each case.

    Attributes:
        name: letters, digits and underscores; one of its kind in the project.
        label: failure label that it looks for.
        question: answered with yes where the failure is there.
        definition: of the label, as the taxonomy has it now; "" where it has none.
    """

    name: str
    label: str
    question: str
    definition: str = ""

    @property
    def kind(self) -> str:
        """Kind of its work and of its judgements."""
        return f"evaluator:{self.name}"

    @property
    def metric(self) -> str:
        """Metric that its answers become: 1 where the failure was found, 0 where not."""
        return f"evaluator_{self.name}"

    @property
    def explained(self) -> str:
        """The definition, unless the question says it already."""
        return "" if self.definition in self.question else self.definition


def evaluator_name(label: str) -> str:
    """Make a name out of a failure label."""
    return re.sub(r"\W+|_+", "_", label.lower()).strip("_")[:LONGEST_NAME].rstrip("_") or "evaluator"


def suggested_question(label: str, definition: str) -> str:
    """Make a yes / no question out of a failure label and its definition."""
    if not definition.strip():
        return f"Does the answer have this failure: {label}?"
    return f"Is this true of the answer? {definition.strip()}"


def add_evaluator(ledger: Ledger, project: str, evaluator: Evaluator, who: str) -> None:
    """Keep an evaluator; its definition is not kept with it but read from the taxonomy.

    Raises:
        WorkspaceError: the name is taken or not as accepted, the question is empty or too long, or nobody's
            name.
    """
    name, question = evaluator.name, evaluator.question.strip()
    if not _NAME.fullmatch(name):
        accepted = f"1 to {LONGEST_NAME} letters, digits and underscores"
        raise WorkspaceError(f"evaluator name {name[:60]!r}; accepted: {accepted}")
    if not question or len(question) > LONGEST_QUESTION:
        accepted = f"a yes / no question of at most {LONGEST_QUESTION:,} characters"
        raise WorkspaceError(
            f"question of evaluator {name!r}: {len(question):,} characters; accepted: {accepted}"
        )
    row = (project, name, evaluator.label, question, named(who), utc_now().isoformat(), project, name)
    with ledger.open() as connection:
        if not connection.execute(_ADD, row).rowcount:
            raise WorkspaceError(f"evaluator {name!r} is there already; accepted: another name")


def evaluators(ledger: Ledger, project: str) -> list[Evaluator]:
    """List the evaluators of a project, oldest first."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        return [Evaluator(*row) for row in connection.execute(_LIST, (project,))]


def find_evaluator(ledger: Ledger, project: str, name: str) -> Evaluator:
    """Find an evaluator by name.

    Raises:
        WorkspaceError: there is none; the message lists those that are.
    """
    found = {one.name: one for one in evaluators(ledger, project)}
    if name not in found:
        known = ", ".join(found) or "none yet; make one from a failure label on the Judge page"
        raise WorkspaceError(f"no evaluator {name!r} in project {project!r}; known: {known}")
    return found[name]


def remove_evaluator(ledger: Ledger, project: str, name: str) -> None:
    """Take an evaluator away; what it judged stays."""
    with ledger.open() as connection:
        connection.execute(
            "UPDATE evaluators SET removed_at = ? WHERE project = ? AND name = ? AND removed_at IS NULL",
            (utc_now().isoformat(), project, name),
        )


@dataclass(frozen=True)
class EvaluatorTask:
    """Asks an evaluator's question about samples.

    Attributes:
        evaluator: what is asked.
        fixed: the fixed prompt.
    """

    evaluator: Evaluator
    fixed: Prompt

    @classmethod
    def of(cls, evaluator: Evaluator, folder: Path | None = None) -> EvaluatorTask:
        """Load the prompt, from a folder of one's own where it has it."""
        return cls(evaluator, load_prompt("evaluator", folder))

    @property
    def kind(self) -> str:
        """What it is."""
        return self.evaluator.kind

    @property
    def prompt(self) -> str:
        """Version of the fixed prompt, the question and the definition together."""
        parts = (self.fixed.version, self.evaluator.question, self.evaluator.explained)
        return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def columns(self) -> tuple[str, ...]:
        """Sample columns that it reads."""
        return COLUMNS

    def workflow(self, given: TaskSample) -> Workflow:
        """Ask the question once; not applicable to a sample without an answer."""
        case = judged_case(given.sample)
        if case.answer is None:
            return TaskResult("not_applicable", "the sample has no answer")
        call = yield Request(
            kind=self.kind,
            prompt=self.prompt,
            system=self.fixed.text,
            user=evaluator_message(case, self.evaluator.question, self.evaluator.explained),
            schema=EVALUATOR_SCHEMA,
            check=_payload,
            expected_tokens=REPLY_TOKENS,
            attempt=given.attempt,
        )
        if call.payload is None:
            return TaskResult(call.status, call.reason)
        return TaskResult("scored", "", _payload(call.payload))


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


def _payload(reply: object) -> dict[str, object]:
    checked = validate_reply(reply, EvaluatorReply)
    instructions = [instruction.model_dump() for instruction in checked.instructions]
    return {"answer": checked.answer, "reason": checked.reason, "instructions": instructions}


def injected_samples(path: Path) -> int:
    """Count the samples of a judgement in which the judge met text that tried to instruct it."""
    first = [one for (_, attempt), one in read_task_results(path).items() if attempt == 0]
    return sum(bool(one.payload.get("instructions")) for one in first if one.payload is not None)


def truth_of(n: int, people: HumanLabels, failure: str) -> FloatArray:
    """Say of every sample whether people labelled it with a failure.

    Args:
        n: samples of the run.
        people: what people said of them.
        failure: the failure label.

    Returns:
        (n,) 1 where anybody gave that label, 0 where it was given another one or passed, NaN where nobody
        said either; a fail without a failure label says nothing of this one.
    """
    truth = np.full(n, np.nan)
    for row, labels in people.labels.items():
        telling = [one for one in labels if one.failure or one.verdict == "pass"]
        if telling:
            truth[row] = float(any(one.failure == failure for one in telling))
    return truth


def accuracy_of(scored: ScoredRun, people: HumanLabels, evaluator: Evaluator) -> EvaluatorAccuracy | None:
    """Check an evaluator's answers on a run against people's labels; None where it has none there."""
    column = scored.column(evaluator.metric, Source.JUDGED)
    if column is None:
        return None
    truth = truth_of(scored.n, people, evaluator.label)
    applicable = column.status != Status.NOT_APPLICABLE
    return evaluator_accuracy(column.values, truth, scored.question, scored.clusters, applicable)


def own_prompts(workspace: Workspace) -> Path:
    """Where a workspace's own prompts lie, if it has any."""
    return workspace.root / "prompts"


def judge_task(
    workspace: Workspace, project: str, model: Model, evaluator: str = "", prompts: str | None = None
) -> JudgeTask:
    """Give the work.

    Args:
        workspace: of the run.
        project: of the run.
        model: whom it is asked of.
        evaluator: name of one, "" for the reading.
        prompts: folder with prompts of one's own; the workspace's where left out.

    Raises:
        DataError: no such folder, or no such evaluator.
    """
    folder = Path(prompts) if prompts else own_prompts(workspace)
    if prompts and not folder.is_dir():
        raise DataError(f"prompts {prompts}: no such folder; accepted: one with reading.md and the like")
    if evaluator:
        found = find_evaluator(Ledger(workspace.ledger_path), project, evaluator)
        return EvaluatorTask.of(found, folder)
    return EvaluationTask.of(model.window, folder)
