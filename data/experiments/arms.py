"""Arms: every combination of some settings of a pipeline, or one setting at a time from a base."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from ragtriage.data.chunking.retrievers import retriever_name
from ragtriage.data.comparison.ablation import Ablation, ablation
from ragtriage.data.errors import DataError
from ragtriage.data.experiments.experiment import Arm, Design, ExperimentKind, Level, Measured, PlannedSample
from ragtriage.data.experiments.questions import AskedQuestion, Questions
from ragtriage.data.systems.system import SystemRequest
from ragtriage.metrics.statistics.intervals import mean_over_questions

MOST_ARMS = 200


@dataclass(frozen=True)
class ArmsFindings:
    """The effects of the settings."""

    effects: Ablation  # of each setting on the quality, from the pairs of arms that differ in it alone
    best: str  # key of the arm with the highest mean; "" while none is measured


def combinations(factors: Mapping[str, Sequence[Level]], one_at_a_time: bool) -> list[dict[str, Level]]:
    """List the settings of the arms, the base first: the first level of every factor.

    With `one_at_a_time` only one factor departs from the base; else every combination is an arm.

    Raises:
        DataError: there is no factor, one has a single level throughout, or the arms are too many.
    """
    levels = {name: list(dict.fromkeys(values)) for name, values in factors.items()}
    if not any(len(values) > 1 for values in levels.values()):
        raise DataError("arms: nothing changes; accepted: --factor NAME=A,B with two or more levels")
    base = {name: values[0] for name, values in levels.items()}
    if one_at_a_time:
        arms = [base]
        arms += [{**base, name: level} for name, values in levels.items() for level in values[1:]]
    else:
        arms = [dict(zip(levels, chosen, strict=True)) for chosen in product(*levels.values())]
    if len(arms) > MOST_ARMS:
        raise DataError(f"arms: {len(arms):,} combinations; accepted: up to {MOST_ARMS}, or --one-at-a-time")
    return arms


def _design(questions: Questions, parameters: Mapping[str, Any]) -> Design:
    settings = combinations(parameters.get("factors") or {}, bool(parameters.get("one_at_a_time")))
    # runs name the levels: of models' folders the names, unless two would be one
    shown = [{name: _shown(level) for name, level in entry.items()} for entry in settings]
    if len({tuple(entry.values()) for entry in shown}) < len(settings):
        shown = [dict(entry) for entry in settings]
    arms = (
        _arm(questions.questions, entry, levels, number)
        for number, (entry, levels) in enumerate(zip(settings, shown, strict=True), 1)
    )
    return Design(tuple(arms))


def _arm(
    questions: Sequence[AskedQuestion],
    settings: Mapping[str, Level],
    levels: Mapping[str, Level],
    number: int,
) -> Arm:
    samples = tuple(
        PlannedSample(
            entry,
            SystemRequest(entry.question_id, entry.question, history=entry.history, settings=settings),
            {"relevant": entry.relevant(), **({"relevant_spans": list(entry.spans)} if entry.spans else {})},
        )
        for entry in questions
    )
    title = ", ".join(f"{name} {level}" for name, level in levels.items())
    return Arm(f"arm-{number}", title, levels, samples)


def _shown(level: Level) -> Level:
    """Return a level as runs name it: of a model's folder its name, not where it lies."""
    kind, _, path = level.partition(":") if isinstance(level, str) else ("", "", "")
    return retriever_name(f"{kind}:{path}") if kind and path and Path(path).is_dir() else level


def _findings(measured: Measured, quality: str) -> ArmsFindings | None:
    """Return the effects; None with fewer than two arms that have a run."""
    if len(measured.arms) < 2:
        return None
    runs = [scored.run for scored in measured.scored]
    means = {arm: mean_over_questions(measured.column(arm, quality)).mean for arm in measured.arms}
    best = max((arm for arm in means if means[arm] == means[arm]), key=lambda arm: means[arm], default="")
    return ArmsFindings(ablation(runs, measured.scored, quality), best)


ARMS = ExperimentKind(
    key="arms",
    title="Arms",
    changes="one or more settings of the pipeline",
    design=_design,
    findings=_findings,
    parameters={
        "factors": "settings with their levels, the base's first",
        "one_at_a_time": "one setting at a time instead of every combination [no]",
    },
)
