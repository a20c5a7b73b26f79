"""What an experiment takes before it is begun: requests, tokens, cost and time, as far as they are known."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import count, takewhile
from typing import Any, Self

import orjson

from ragtriage.data.chunking.chunkers import count_tokens
from ragtriage.data.errors import DataError
from ragtriage.data.experiments.experiment import (
    ArmRecord,
    Design,
    Experiment,
    ExperimentKind,
    experiment_id,
    is_kept,
)
from ragtriage.data.experiments.questions import Questions
from ragtriage.data.store.workspace import Workspace, utc_now
from ragtriage.data.systems.system import ModelUse, System, SystemLimits, SystemReply, SystemRequest

SAMPLED = 50  # requests whose tokens are counted


@dataclass(frozen=True)
class PlannedExperiment:
    """An experiment ready to be begun or continued."""

    kind: ExperimentKind[Any]  # of experiment
    design: Design  # its arms
    experiment: Experiment  # its record, without runs
    dataset_version: str = ""  # of the questions

    def attempted(self, attempt: int, note: str = "") -> Self:
        """Return the same experiment, asked for the so many-th time, and why."""
        begun = self.experiment
        identifier = experiment_id(
            begun.kind, begun.project, begun.system_identity, self.design, begun.name, attempt
        )
        notes = (*self.design.notes, note) if note else self.design.notes
        return replace(
            self, experiment=replace(begun, experiment_id=identifier, attempt=attempt, notes=notes)
        )

    def newest(self, workspace: Workspace) -> Self:
        """Return the newest attempt that was begun; the first where none was."""
        attempts = map(self.attempted, count(1))
        begun = takewhile(lambda each: is_kept(workspace, each.experiment.experiment_id), attempts)
        return max(begun, key=lambda each: each.experiment.attempt, default=self)


@dataclass(frozen=True)
class ExperimentPlan:
    """The requests that are still to be sent."""

    arms: int  # of the experiment
    questions: int  # of each
    requests: int  # different ones, over all arms; an arm may share one with another
    kept: int  # of them, those with a reply from earlier
    # that the remaining requests send, estimated from a sample of them; to its own model, where the system
    # says how many
    tokens: int
    # of the remaining requests, from the costs that earlier replies report, else what the system expects of
    # its own model; None where neither is known
    cost_usd: float | None
    # they take, from the times of earlier replies and the concurrency; None where there is none
    seconds: float | None
    model_calls: int | None = None  # of the system's own model, as far as it says; None where it does not
    rewriting_calls: int | None = None  # of them, those that rewrite a question before it is searched for

    @property
    def remaining(self) -> int:
        """Requests without a reply."""
        return self.requests - self.kept

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**asdict(self), "remaining": self.remaining}


def plan_experiment(
    kind: ExperimentKind[Any],
    questions: Questions,
    parameters: Mapping[str, Any],
    system: System,
    project: str = "",
    created_at: datetime | None = None,
    name: str = "",
) -> PlannedExperiment:
    """Plan an experiment; the same questions, parameters and system give the same one.

    Parameters that are left out take their defaults, and the project is named after the questions and the
    kind, unless named. `name` tells its runs from those of the same arms, as of another version of the
    system.

    Raises:
        DataError: the arms cannot be made; the message says why.
    """
    if not questions.questions:
        raise DataError(f"{questions.name}: holds no question")
    _refuse_unsendable(project, {"name": name, **parameters})
    design = _available(kind.design(questions, parameters), system)
    project = project or f"{questions.name}: {kind.title.lower()}"
    asked = {sample.question.question_id for arm in design.arms for sample in arm.samples}
    experiment = Experiment(
        experiment_id=experiment_id(kind.key, project, system.identity, design, name),
        kind=kind.key,
        project=project,
        system=system.name,
        system_identity=system.identity,
        questions=questions.name,
        n_questions=len(asked),
        parameters={
            name: list(value) if isinstance(value, tuple) else value for name, value in parameters.items()
        },
        arms=tuple(ArmRecord(arm.key, arm.title, dict(arm.levels), len(arm.samples)) for arm in design.arms),
        created_at=created_at or utc_now(),
        notes=design.notes,
        name=name,
    )
    return PlannedExperiment(kind, design, experiment, questions.dataset_version)


def _refuse_unsendable(project: str, parameters: Mapping[str, Any]) -> None:
    """Raise where a name or a setting can be neither sent to a system nor stored.

    Raises:
        DataError: it is not valid Unicode, or a number that JSON's readers do not hold.
    """
    for name, value in {"project": project, **parameters}.items():
        try:
            json.dumps(value, ensure_ascii=False, allow_nan=False, default=str).encode()
            orjson.dumps(value, default=str)
        except ValueError:
            what = "holds text that is not valid Unicode, or a number that is not finite"
            raise DataError(f"{name}: {what}; accepted: text in UTF-8, finite numbers") from None
        except TypeError:
            what = "holds a whole number of more than 64 bits"
            raise DataError(f"{name}: {what}; accepted: smaller numbers, or text") from None


def _available(design: Design, system: System) -> Design:
    """Leave out the arms that the system says it cannot try; another system is asked as it is.

    Raises:
        DataError: no arm is left, or something that the user can mend is wrong or missing.
    """
    refuses = getattr(system, "unavailable", None)
    if refuses is None:
        return design
    reasons = {arm.key: refuses(arm.samples[0].request) for arm in design.arms if arm.samples}
    arms = tuple(arm for arm in design.arms if not reasons.get(arm.key))
    refused = [arm for arm in design.arms if reasons.get(arm.key)]
    left_out = tuple(f"{arm.title} is left out: {reasons[arm.key]}" for arm in refused)
    if not arms:
        raise DataError(next(iter(left_out), "no arm is left"))
    return Design(arms, (*design.notes, *left_out))


def distinct_requests(design: Design) -> list[SystemRequest]:
    """Return what is asked, each once, question by question: what a stop leaves is paired over the arms."""
    order: dict[str, int] = {}
    for arm in design.arms:
        for sample in arm.samples:
            order.setdefault(sample.question.question_id, len(order))
    samples = (sample for arm in design.arms for sample in arm.samples)
    ordered = sorted(samples, key=lambda sample: order[sample.question.question_id])
    return list({sample.request.key: sample.request for sample in ordered}.values())


def estimate(
    planned: PlannedExperiment,
    replies: Mapping[str, SystemReply],
    limits: SystemLimits,
    system: System | None = None,
) -> ExperimentPlan:
    """Estimate what an experiment still takes.

    `replies` are those of the journal, by request key; the system may say what it expects of its own model.
    """
    requests = distinct_requests(planned.design)
    kept = [replies[request.key] for request in requests if request.key in replies]
    waiting = [request for request in requests if request.key not in replies]
    costs = [
        float(reply.sample["cost_usd"])
        for reply in kept
        if isinstance(reply.sample.get("cost_usd"), int | float)
    ]
    seconds = [reply.seconds for reply in kept if reply.status == "answered"]
    per_request = _mean(seconds)
    expects = getattr(system, "expected_use", None)
    use: ModelUse | None = None if expects is None else expects(waiting)
    return ExperimentPlan(
        arms=len(planned.design.arms),
        questions=planned.experiment.n_questions,
        requests=len(requests),
        kept=len(kept),
        tokens=use.input_tokens if use is not None and use.calls else _tokens(waiting),
        # what the kept replies cost says more than what the system expects
        cost_usd=_mean(costs) * len(waiting) if costs else None if use is None else use.cost_usd,
        seconds=None if not seconds else per_request * len(waiting) / max(limits.concurrency, 1),
        model_calls=None if use is None else use.calls,
        rewriting_calls=None if use is None else use.rewriting,
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _tokens(requests: list[SystemRequest]) -> int:
    """Estimate the tokens of questions and contexts from requests spread over all of them."""
    step = max(1, len(requests) // SAMPLED)
    sampled = requests[::step]
    if not sampled:
        return 0
    texts = (
        [request.question, *(str(entry.get("text", "")) for entry in request.contexts or ())]
        for request in sampled
    )
    total = sum(count_tokens("\n".join(parts)) for parts in texts)
    return round(total / len(sampled) * len(requests))
