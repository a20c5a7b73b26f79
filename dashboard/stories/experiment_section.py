"""The section of a report on the experiment that a run is an arm of."""

from __future__ import annotations

from collections.abc import Mapping

from ragtriage.dashboard.charts.chart import Chart
from ragtriage.dashboard.charts.experiments.curves import arm_dots, noise_curve, position_curve
from ragtriage.dashboard.charts.experiments.robustness import flip_dots
from ragtriage.dashboard.headlines.experiment_effects import effect_method, effect_rows
from ragtriage.dashboard.headlines.experiments import arm_rows, experiment_headline
from ragtriage.dashboard.stories.context import StoryView
from ragtriage.dashboard.stories.story import RenderedSection
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.data.errors import WorkspaceError
from ragtriage.data.experiments.noise import NoiseFindings
from ragtriage.data.experiments.position import PositionFindings, published_positions
from ragtriage.data.experiments.record import Experiment, find_experiment
from ragtriage.data.experiments.registry import KINDS
from ragtriage.data.experiments.run_experiment import EXPERIMENT
from ragtriage.data.experiments.stability import StabilityFindings
from ragtriage.data.experiments.summary import ExperimentSummary, experiment_summary
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count


def experiment_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return what the experiment of the run shows."""
    experiment = _experiment_of(view)
    if experiment is None:
        said = "The run is no arm of an experiment."
        return RenderedSection("experiment", "What did the experiment show?", said, measured=False)
    summary = experiment_summary(view.store, experiment)
    shown = experiment_headline(summary)
    title = capital(title_of(summary.quality))
    effects = effect_rows(summary)
    return RenderedSection(
        "experiment",
        f"{KINDS[experiment.kind].title}: what did the experiment show?",
        shown.text,
        chart=_chart(summary, title),
        rows=effects
        or [
            dict(zip(("Arm", "Run", title, "95 % interval", "n"), row, strict=True))
            for row in arm_rows(summary)
        ],
        facts=[
            count(experiment.n_questions, "question"),
            summary.source,
            "95 % intervals",
            *effect_method(summary),
            *experiment.notes,
        ],
        alt="Questions whose verdict flips by kind of change"
        if isinstance(summary.findings, StabilityFindings)
        else f"{title} of each arm of the experiment",
    )


def _experiment_of(view: StoryView) -> Experiment | None:
    """Return the experiment of the run, where it is still kept and its kind is known."""
    wanted = view.run.config.get(EXPERIMENT)
    if not isinstance(wanted, str) or not wanted:
        return None
    try:
        experiment = find_experiment(view.store.workspace, wanted)
    except WorkspaceError:
        return None
    return experiment if experiment.kind in KINDS else None


def _chart(summary: ExperimentSummary, title: str) -> Chart:
    found = summary.findings
    if isinstance(found, PositionFindings):
        curves = published_positions()
        return position_curve(found.effect, found.documents, title, found.floor, found.ceiling, curves)
    if isinstance(found, NoiseFindings) and found.effect is not None:
        return noise_curve(found.effect, title)
    if isinstance(found, StabilityFindings):
        return flip_dots(found.changes)
    return arm_dots(summary.arms, title)
