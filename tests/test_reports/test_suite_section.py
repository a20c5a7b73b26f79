"""The report tells of check suites: in words, in a table, with a router's confusion matrix."""

from __future__ import annotations

from places import BUNDLED

from ragtriage.dashboard.charts.chart import Chart, Heatmap
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.sections import render_section
from ragtriage.dashboard.present.stories.story import StorySection
from ragtriage.data.api import add_file, add_run
from ragtriage.data.scoring.run_store import RunStore


def test_a_router_is_told_with_its_matrix(workspace: RunStore) -> None:
    path = BUNDLED / "clinc_router" / "tfidf_router.jsonl.gz"
    (run,) = add_file(str(path), workspace=str(workspace.workspace.root))
    rendered = render_section(StoryView(workspace, run), StorySection("suites"))
    assert rendered.measured
    assert "81 % of 900 questions take the right route" in rendered.sentence
    assert rendered.rows[0]["Passed"] == "1,383 of 1,800"
    assert isinstance(rendered.chart, Heatmap)
    top = rendered.chart.values[-1]  # rows stand from the bottom
    assert rendered.chart.y.names[-1] == "oos"
    assert rendered.chart.text[-1][0] == "82"
    assert top[0] is not None
    assert top[0] > 0
    assert all(value is None or value < 0 for value in top[1:])
    assert rendered.alt


def test_attacks_are_told_by_type_with_their_intervals(workspace: RunStore) -> None:
    path = BUNDLED / "library_bot" / "answers.jsonl.gz"
    (run,) = add_file(str(path), workspace=str(workspace.workspace.root))
    rendered = render_section(StoryView(workspace, run), StorySection("suites"))
    assert "43 of 309 measured attack prompts succeeded, pooled over " in rendered.sentence
    assert "types of attack; indirect injection fares worst" in rendered.sentence
    assert isinstance(rendered.chart, Chart)
    assert rendered.chart.y.names[-1].startswith("Indirect injection\n48 of 82 held")


def test_a_run_without_checks_has_no_such_section(workspace: RunStore) -> None:
    run = add_run([{"question": "?", "answer": "a"}], "run", "p", str(workspace.workspace.root))
    rendered = render_section(StoryView(workspace, run), StorySection("suites"))
    assert not rendered.measured
