"""The view of each kind of experiment; a kind without one shows its arms as dots."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ragtriage.dashboard.pages.experiments.arms import arms_section
from ragtriage.dashboard.pages.experiments.arms_table import arm_chart
from ragtriage.dashboard.pages.experiments.injection import injection_section
from ragtriage.dashboard.pages.experiments.languages import languages_section
from ragtriage.dashboard.pages.experiments.noise import noise_section
from ragtriage.dashboard.pages.experiments.parsing import parsing_section
from ragtriage.dashboard.pages.experiments.position import position_section
from ragtriage.dashboard.pages.experiments.stability import stability_section
from ragtriage.dashboard.shell.session import View
from ragtriage.data.experiments.summary import ExperimentSummary

SECTIONS: Mapping[str, Callable[[View, ExperimentSummary], None]] = {
    "arms": arms_section,
    "injection": injection_section,
    "languages": languages_section,
    "noise": noise_section,
    "parsing": parsing_section,
    "position": position_section,
    "stability": stability_section,
}


def kind_section(view: View, summary: ExperimentSummary) -> None:
    """Draw the view of an experiment's kind, or its arms while it has no findings."""
    section = SECTIONS.get(summary.experiment.kind)
    if section is None or summary.findings is None:
        arm_chart(summary)
    else:
        section(view, summary)
