"""The views of the kinds of experiment: a new kind is its module and its line here."""

from collections.abc import Sequence
from typing import Any

from ragtriage.dashboard.experiments import (
    arms,
    injection,
    languages,
    noise,
    parsing,
    position,
    sources,
    stability,
)
from ragtriage.dashboard.experiments.view import ExperimentView, Part, ShownEffect, arm_chart, name_of
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.data.experiments.registry import ExperimentSummary, kind_of
from ragtriage.metrics.number_text import count

VIEWS: dict[str, ExperimentView[Any]] = {
    module.VIEW.kind.key: module.VIEW
    for module in (arms, injection, languages, noise, parsing, position, sources, stability)
}


def no_experiment() -> Headline:
    """Return that the project has none yet, and how one is begun."""
    return Headline(
        "empty",
        "No experiment in this project yet",
        "An experiment asks a system the same questions under changed conditions and tests what the change "
        "did",
    )


def experiment_headline(summary: ExperimentSummary) -> Headline:
    """Return what an experiment shows, or why nothing can be said yet."""
    experiment = summary.experiment
    if experiment.state != "done":
        done = len(experiment.run_ids)
        return Headline(
            "not measured",
            f"{kind_of(experiment.kind).title}: {done} of {count(len(experiment.arms), 'arm')} done",
            "Begun again, it goes on from here; nothing is asked twice",
        )
    if summary.findings is None:
        is_measured = any(arm.quality.n_scored for arm in summary.arms)
        why = "too few arms to compare" if is_measured else "no answer is measured in any arm"
        return Headline("not measured", f"{name_of(summary)}: {why}")
    return VIEWS[experiment.kind].headline(summary, summary.findings)


def experiment_parts(summary: ExperimentSummary) -> Sequence[Part]:
    """Return what stands below the headline, its arms alone while it has no findings."""
    if summary.findings is None:
        return [arm_chart(summary)]
    return VIEWS[summary.experiment.kind].parts(summary, summary.findings) or [arm_chart(summary)]


def effect_of(summary: ExperimentSummary) -> ShownEffect | None:
    """Return the main effect of an experiment; None while it has none."""
    view = VIEWS.get(summary.experiment.kind)
    return None if view is None or summary.findings is None else view.effect(summary, summary.findings)
