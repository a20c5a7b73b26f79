"""An experiment: arms of planned samples that differ in one thing; what is measured, what is kept of it.

The workspace keeps a folder for each, named after its content: the record, and the journal of the system's
replies. Its state is not stored but read off: done is what has a run for each arm.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Generic, Literal, Self, TypeVar

import numpy as np
import orjson
from pydantic import TypeAdapter, ValidationError

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.experiments.questions import AskedQuestion, Passage, Questions
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.access import must_write
from ragtriage.data.store.stored_file import replace_file
from ragtriage.data.store.workspace import Workspace, writing
from ragtriage.data.systems.system import SystemRequest
from ragtriage.data.text.refusal_detection import detect_refusal
from ragtriage.metrics.schema.scores import FloatArray

F = TypeVar("F")  # what a kind of experiment finds
REFUSED = "answer_declined"
QUALITY = "answer_match"  # of an arm, unless the user names another metric
Level = str | int | float | bool


@dataclass(frozen=True)
class PlannedSample:
    """One question under one arm."""

    question: AskedQuestion  # what is asked
    request: SystemRequest  # to the system
    # fields of the sample that the experiment sets; they win over the system's
    case: Mapping[str, Any] = field(default_factory=dict)


def asked_from(
    question: AskedQuestion, context: Sequence[Passage], settings: Mapping[str, Any] | None = None
) -> SystemRequest:
    """Return the request that asks a question from this context, in place of what the system retrieves."""
    return SystemRequest(
        question.question_id,
        question.question,
        history=question.history,
        contexts=[passage.sent() for passage in context],
        settings=dict(settings or {}),
    )


@dataclass(frozen=True)
class Arm:
    """One condition of an experiment; it becomes one run."""

    key: str  # names it in the record, e.g. "rank-5".
    title: str  # name of its run
    # factor -> level; they are settings of the run, so that effects are estimated from them
    levels: Mapping[str, Level]
    samples: tuple[PlannedSample, ...]  # what is asked


@dataclass(frozen=True)
class Design:
    """The arms of an experiment."""

    arms: tuple[Arm, ...]  # in the order in which they are shown
    notes: tuple[str, ...] = ()  # what the reader must know: questions left out and why


@dataclass(frozen=True)
class Measured:
    """The values of an experiment's runs, from which the findings of its kind are computed."""

    parameters: Mapping[str, Any]  # of the experiment
    arms: tuple[str, ...]  # their keys
    levels: Mapping[str, Mapping[str, Level]]  # arm -> factor -> level
    # metric -> (q, arms) mean over repeats of each question, NaN where not measured or where an arm does not
    # ask it
    values: Mapping[str, FloatArray]
    question_ids: tuple[str, ...]  # (q,) of the rows
    scored: tuple[ScoredRun, ...] = ()  # (arms,) their scored runs

    def column(self, arm: str, metric: str) -> FloatArray:
        """Return (q,) values of an arm; not measured where it has no run, as of one that was deleted."""
        if arm not in self.arms:
            return np.full(len(self.question_ids), np.nan)
        return self.values[metric][:, self.arms.index(arm)]

    def matrix(self, arms: Sequence[str], metric: str) -> FloatArray:
        """Return (q, arms) values of some arms."""
        return np.array([self.column(arm, metric) for arm in arms]).reshape(len(arms), -1).T


def answer_scores(planned: PlannedSample, answer: str) -> dict[str, float | None]:
    """Return whether an answer holds an accepted one, or all its parts; nothing where none is known."""
    question = planned.question
    return {QUALITY: float(question.is_answered_by(answer))} if question.answers else {}


def scores_and_refusal(planned: PlannedSample, answer: str) -> dict[str, float | None]:
    """Return whether an answer is right, as far as that is known, and whether it declines."""
    return {**answer_scores(planned, answer), REFUSED: float(detect_refusal(answer).refused)}


@dataclass(frozen=True)
class ExperimentKind(Generic[F]):
    """A kind of experiment."""

    key: str  # names it on the command line and in the address
    title: str  # shown to the reader
    changes: str  # what differs between its arms, as the end of "... changes".
    # (questions, parameters) -> the arms; raises DataError where they cannot be made
    design: Callable[[Questions, Mapping[str, Any]], Design]
    # (measured, quality) -> a frozen dataclass with what the arms show. It is computed anew whenever runs are
    # scored anew, and shown by the headline and the chart of its kind.
    findings: Callable[[Measured, str], F | None]
    # (planned sample, answer) -> metric -> value, kept with the sample
    scores: Callable[[PlannedSample, str], Mapping[str, float | None]] = answer_scores
    metrics: tuple[str, ...] = ()  # names of what `scores` returns that `findings` reads beside the quality
    quality: str = QUALITY  # metric of its arms unless the user names another
    # name -> what it means, with its default in brackets
    parameters: Mapping[str, str] = field(default_factory=dict)


FORMAT_VERSION = 1
RECORD = "experiment.json"
State = Literal["done", "unfinished"]


@dataclass(frozen=True)
class ArmRecord:
    """One arm as it is kept."""

    key: str  # of the arm
    title: str  # of its run
    levels: dict[str, str | int | float | bool]  # factor -> level
    n: int  # samples
    run_id: str = ""  # of its run; "" until everything of it is asked


@dataclass(frozen=True)
class Experiment:
    """The facts of an experiment as stored in experiment.json."""

    experiment_id: str  # beginning of the hash over all that is asked, and of whom
    kind: str  # key of its kind
    project: str  # of its runs
    system: str  # name of the system under test
    system_identity: str  # digest of what it is
    questions: str  # name of the questions
    n_questions: int  # asked
    parameters: dict[str, Any]  # of its kind
    arms: tuple[ArmRecord, ...]  # in order
    created_at: datetime  # time at which it was begun; naive UTC
    notes: tuple[str, ...] = ()  # what the reader must know
    name: str = ""  # that the user gave it, such as the version of the system; "" for none
    attempt: int = 1  # 1, or which time all of it is asked
    format_version: int = field(default=FORMAT_VERSION)  # version of the stored format

    @property
    def cache_key(self) -> str:
        """Return what tells this experiment as it stands from others."""
        return str(self.to_dict())

    @property
    def label(self) -> str:
        """Return what tells its runs from those of the same arms asked before; "" for nothing."""
        return ", ".join(filter(None, (self.name, f"attempt {self.attempt}" if self.attempt > 1 else "")))

    @property
    def state(self) -> State:
        """Return whether every arm has its run."""
        return "done" if all(arm.run_id for arm in self.arms) else "unfinished"

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The runs that there are."""
        return tuple(arm.run_id for arm in self.arms if arm.run_id)

    def with_run(self, key: str, run_id: str) -> Self:
        """Return the experiment with the run of an arm."""
        arms = tuple(replace(arm, run_id=run_id) if arm.key == key else arm for arm in self.arms)
        return replace(self, arms=arms)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON values."""
        facts = {**asdict(self), "created_at": self.created_at.isoformat(), "notes": list(self.notes)}
        return {**facts, "arms": [asdict(arm) for arm in self.arms]}


@cache
def _adapter() -> TypeAdapter[Experiment]:
    return TypeAdapter(Experiment)


def experiment_id(
    kind: str, project: str, identity: str, design: Design, name: str = "", attempt: int = 1
) -> str:
    """Return 12 hexadecimal digits over all that is asked, and of whom: the same command gives the same."""
    content: list[object] = [
        kind,
        project,
        identity,
        [[arm.key, dict(arm.levels), [sample.request.key for sample in arm.samples]] for arm in design.arms],
    ]
    if name or attempt > 1:
        content += [name, attempt]
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]


def _folder(workspace: Workspace) -> Path:
    return workspace.root / "experiments"


def is_kept(workspace: Workspace, identifier: str) -> bool:
    """Return whether an experiment was begun."""
    return (_folder(workspace) / identifier / RECORD).is_file()


def journal_path(workspace: Workspace, identifier: str) -> Path:
    """Return the path of the system's replies."""
    return _folder(workspace) / identifier / "journal.jsonl"


def keep_experiment(workspace: Workspace, experiment: Experiment) -> None:
    """Write an experiment's record, whole or not at all.

    Raises:
        WorkspaceError: the workspace is read-only or cannot be written.
    """
    must_write(f"workspace {workspace.name}")
    folder = _folder(workspace) / experiment.experiment_id
    text = json.dumps(experiment.to_dict(), ensure_ascii=False, indent=1)
    with writing(workspace.name):
        workspace.create()
        folder.parent.mkdir(workspace.mode(), exist_ok=True)
        folder.mkdir(workspace.mode(), exist_ok=True)
        replace_file(folder / RECORD, text.encode("utf-8", "replace"))


def experiments(workspace: Workspace) -> list[Experiment]:
    """List the experiments that can be read, the newest first; arms whose run was deleted have none."""
    folder = _folder(workspace)
    names = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    there = workspace.run_ids() if names else set()
    readable = []
    for name in names:
        try:
            experiment = _read(workspace, name)
            arms = (arm if arm.run_id in there else replace(arm, run_id="") for arm in experiment.arms)
            with_runs_there = replace(experiment, arms=tuple(arms))
            readable.append(with_runs_there)
        except WorkspaceError:
            continue  # `find_experiment` names it
    return sorted(readable, key=lambda entry: (entry.created_at, entry.experiment_id), reverse=True)


def _read(workspace: Workspace, name: str) -> Experiment:
    path = _folder(workspace) / name / RECORD
    accepted = f"the {RECORD} that the experiment wrote, or `ragtriage experiment delete {name}`"
    try:
        experiment = _adapter().validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.errors()[0]["msg"]
        raise WorkspaceError(f"{path}: cannot be read ({reason}); accepted: {accepted}") from error
    if experiment.experiment_id != name:  # paths are made of it
        raise WorkspaceError(f"{path}: is not of the folder's name; accepted: {accepted}")
    if not experiment.arms:
        raise WorkspaceError(f"{path}: has no arms; accepted: {accepted}")
    if experiment.format_version > FORMAT_VERSION:
        newer = f"format_version {experiment.format_version}, and this ragtriage reads up to {FORMAT_VERSION}"
        raise WorkspaceError(f"{path}: {newer}; accepted: {accepted}")
    try:
        return _plain(experiment)
    except (OverflowError, ValueError) as error:
        raise WorkspaceError(f"{path}: cannot be read ({error}); accepted: {accepted}") from error


def _plain(experiment: Experiment) -> Experiment:
    """Return an experiment with its time in naive UTC.

    Raises:
        OverflowError: that time is none.
        ValueError: a setting is not a finite number.
    """
    json.dumps([experiment.parameters, [arm.levels for arm in experiment.arms]], allow_nan=False)
    begun = experiment.created_at
    if not begun.tzinfo:
        return experiment
    return replace(experiment, created_at=begun.astimezone(UTC).replace(tzinfo=None))


def find_experiment(workspace: Workspace, wanted: str) -> Experiment:
    """Find an experiment by its id or the start of it.

    Raises:
        WorkspaceError: there is none, or more than one, or it cannot be read.
    """
    listed = experiments(workspace)
    hits = [entry for entry in listed if entry.experiment_id == wanted] or [
        entry for entry in listed if len(wanted) >= 4 and entry.experiment_id.startswith(wanted)
    ]
    if len(hits) == 1:
        return hits[0]
    if wanted in _folder_names(workspace):
        return _read(workspace, wanted)
    shown = ", ".join(f"{entry.experiment_id} ({entry.kind}: {entry.questions})" for entry in listed[:8])
    known = (
        f"one of {shown}" if listed else "an experiment; `ragtriage experiment position --help` begins one"
    )
    raise WorkspaceError(f"no experiment {wanted[:40]!r} in {workspace.root}; accepted: {known}")


def _folder_names(workspace: Workspace) -> set[str]:
    folder = _folder(workspace)
    return {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()


def delete_experiment(workspace: Workspace, identifier: str) -> None:
    """Delete an experiment's record and replies; its runs stay.

    Raises:
        WorkspaceError: there is no such experiment, or the folder cannot be changed.
    """
    must_write(f"workspace {workspace.name}")
    if identifier not in _folder_names(workspace):
        raise WorkspaceError(f"no experiment {identifier[:40]!r} in {workspace.root}")
    with writing(workspace.name):
        shutil.rmtree(_folder(workspace) / identifier)
