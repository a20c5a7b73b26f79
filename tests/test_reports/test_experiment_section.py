"""The section of a report on the experiment of a run, and of a run that is not an arm of any."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest
from command_line import run

from ragtriage.dashboard.charts.chart import Chart
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.diagnostic_sections import experiment_section
from ragtriage.dashboard.present.stories.sections import SECTION_KINDS
from ragtriage.data.scoring.run_store import RunStore


def test_a_report_has_the_experiment_of_its_run(demo: RunStore) -> None:
    arm = next(each for each in demo.runs("experiments") if each.name == "Gold at rank 6 of 10")
    section = experiment_section(StoryView(demo, arm), {})
    assert section.heading.startswith("Lost in the middle")
    assert "answers get worse towards the end" in section.sentence
    assert isinstance(section.chart, Chart)
    assert section.chart.series[0].n == (48,) * 5
    assert [row["Arm"] for row in section.rows][:2] == ["Closed book", "Gold document alone"]
    assert "computed" in section.facts


def test_effects_have_interval_test_and_n(demo: RunStore) -> None:
    runs = demo.runs("experiments")
    arm = next(each for each in runs if each.name == "chunk_size 64, top_k 1")
    section = experiment_section(StoryView(demo, arm), {})
    assert [row["Change"] for row in section.rows] == ["chunk_size: 64 → 256", "top_k: 1 → 3"]
    assert section.rows[0]["Difference"] == "+0.156"
    assert (section.rows[0]["n"], section.rows[0]["Verdict"]) == (48, "better")
    assert any("step-down max-T" in fact for fact in section.facts)
    asked = next(each for each in runs if each.name == "Shuffled 1")
    stable = experiment_section(StoryView(demo, asked), {})
    flips = {row["Change"]: (row["Questions that flip"], row["n"]) for row in stable.rows}
    assert flips == {"repeated": (0, 48), "reworded": (12, 48), "shuffled": (7, 48)}
    assert isinstance(stable.chart, Chart)


@pytest.mark.parametrize("ending", ["html", "zip"])
def test_a_report_of_an_arm_carries_its_experiment(
    demo: RunStore, capsys: pytest.CaptureFixture[str], tmp_path: Path, ending: str
) -> None:
    arm = next(each for each in demo.runs("experiments") if each.name == "chunk_size 64, top_k 1")
    file = tmp_path / f"report.{ending}"
    answer = run(capsys, demo.workspace.root, "report", arm.run_id, "-o", str(file))
    assert answer.code == 0, answer.err
    if ending == "html":
        text = file.read_text(encoding="utf-8")
        assert "Arms: what did the experiment show?" in text
        assert "chunk_size: 64 → 256" in text
    else:
        with ZipFile(file) as parts:
            assert any("experiment" in name for name in parts.namelist())


def test_a_run_of_no_experiment_says_so(demo: RunStore) -> None:
    first = demo.runs("handbook")[0]
    section = SECTION_KINDS["experiment"].render(StoryView(demo, first), {})
    assert not section.measured
    assert section.sentence == "The run is not an arm of an experiment."
