"""The section of a report on the experiment of a run, and of a run that is no arm of any."""

from __future__ import annotations

from dashboard.charts.chart import Chart
from dashboard.stories.context import StoryView
from dashboard.stories.experiment_section import experiment_section
from dashboard.stories.sections import SECTION_KINDS
from data.scoring.run_store import RunStore


def test_a_report_has_the_experiment_of_its_run(demo: RunStore) -> None:
    run = next(run for run in demo.runs("experiments") if run.name == "Gold at rank 6 of 10")
    section = experiment_section(StoryView(demo, run), {})
    assert section.heading.startswith("Lost in the middle")
    assert "answers get worse towards the end" in section.sentence
    assert isinstance(section.chart, Chart)
    assert section.chart.series[0].n == (48,) * 5
    assert [row["Arm"] for row in section.rows][:2] == ["Closed book", "Gold document alone"]
    assert "computed" in section.facts


def test_a_run_of_no_experiment_says_so(demo: RunStore) -> None:
    run = demo.runs("handbook")[0]
    section = SECTION_KINDS["experiment"].render(StoryView(demo, run), {})
    assert not section.measured
    assert section.sentence == "The run is no arm of an experiment."
