"""The deck of a run: slides from the numbers, whole on the page, editable, the same as the preview."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from pptx import Presentation

from ragtriage.dashboard.charts.chart import Chart
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.present.export.formats import export_report
from ragtriage.dashboard.present.export.pptx.chart_model import editable_chart
from ragtriage.dashboard.present.export.pptx.style import height_of
from ragtriage.dashboard.present.export.slide_html import slide_html
from ragtriage.dashboard.present.export.slide_layout import SLIDE_HEIGHT, SLIDE_WIDTH, Words, plan_slide
from ragtriage.dashboard.present.page_html.blocks import Tile
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.sections import default_sections, render_section
from ragtriage.dashboard.present.stories.story import RenderedSection, Story, StorySection, story_from_json
from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace

RUNS = [("iris", "colbert", "basic"), ("musique", "BM25 + expansion", "BM25"), ("mtrag", "GPT-4.0", "")]


def _view(demo: RunStore, project: str, name: str, base: str) -> StoryView:
    def newest(wanted: str) -> Any:
        return max((run for run in demo.runs(project) if run.name == wanted), key=lambda run: run.n)

    return StoryView(demo, newest(name), newest(base) if base else None)


def _sections(view: StoryView) -> list[RenderedSection]:
    return [render_section(view, section) for section in default_sections("stakeholder")]


def _slides(view: StoryView, sections: list[RenderedSection]) -> list[Any]:
    content = export_report(view, Story("T", view.run.run_id), sections, "pptx")
    return list(Presentation(io.BytesIO(content)).slides)


@pytest.mark.parametrize(("project", "name", "base"), RUNS)
def test_a_deck_has_a_slide_for_all_that_was_measured_and_no_other(
    demo: RunStore, project: str, name: str, base: str
) -> None:
    view = _view(demo, project, name, base)
    sections = _sections(view)
    slides = _slides(view, sections)
    assert [slide.shapes.title.text_frame.text for slide in slides] == [
        section.heading for section in sections if section.measured
    ]
    assert len(slides) == 5
    assert not any(shape.has_table for slide in slides for shape in slide.shapes)
    for slide in slides:
        notes = slide.notes_slide.notes_text_frame.text
        assert "How these numbers were obtained" in notes
        assert "ragtriage gate" in notes


@pytest.mark.parametrize(("project", "name", "base"), RUNS)
def test_the_charts_stay_editable_and_hold_the_numbers_of_the_page(
    demo: RunStore, project: str, name: str, base: str
) -> None:
    view = _view(demo, project, name, base)
    sections = _sections(view)
    drawn = [shape.chart for slide in _slides(view, sections) for shape in slide.shapes if shape.has_chart]
    charts = [section.chart for section in sections if section.measured and isinstance(section.chart, Chart)]
    assert len(drawn) == len(charts) > 0
    for chart, specification in zip(drawn, charts, strict=True):
        model = editable_chart(specification)
        assert model is not None
        for written, series in zip(chart.plots[0].series, model.series, strict=True):
            assert list(written.values) == pytest.approx(list(series.y), nan_ok=True)
    why = next(section.chart for section in sections if section.kind == "why")
    assert isinstance(why, Chart)
    bad = sum(sum(value or 0 for value in series.y) for series in why.series[1:])
    assert bad == view.diagnosis.bad.bad.sum()


def _apart(one: Words, other: Words) -> bool:
    left, top, width, height = one.box
    x, y, wide, high = other.box
    slack = 0.001
    return (
        left + width <= x + slack
        or x + wide <= left + slack
        or top + height <= y + slack
        or y + high <= top + slack
    )


@pytest.mark.parametrize("name", ["", "这是一个非常长的运行名称" * 8, "a very long name of a run " * 6])
def test_texts_stand_on_the_slide_apart_and_in_their_boxes(demo: RunStore, name: str) -> None:
    view = _view(demo, "iris", "colbert", "basic")
    if name:
        view.__dict__["short_names"] = (name, name)
    for section in (each for each in _sections(view) if each.measured):
        assert section.slide is not None
        texts = [part for part in plan_slide(section, section.slide).parts if isinstance(part, Words)]
        for at, words in enumerate(texts):
            left, top, width, height = words.box
            assert left >= 0, section.kind
            assert left + width <= SLIDE_WIDTH, section.kind
            assert top + height <= SLIDE_HEIGHT, section.kind
            whole = [(f"{line.lead} {line.text}".strip(), line.size) for line in words.paragraphs]
            needed = sum(height_of(text, size, width) for text, size in whole)
            assert needed <= height + 0.05, (section.kind, whole)
            covered = [other for other in texts[at + 1 :] if not _apart(words, other)]
            assert not covered, (section.kind, words, covered)


def test_the_preview_shows_what_the_slide_says_and_escapes_it(demo: RunStore) -> None:
    view = _view(demo, "iris", "colbert", "basic")
    view.__dict__["short_names"] = ("<img src=x>", "basic")
    for section in (each for each in _sections(view) if each.measured):
        assert section.slide is not None
        drawn = str(slide_html(plan_slide(section, section.slide), 1, 5, section.heading))
        assert "<img src=x" not in drawn
    assert "&lt;img src=x&gt;" in drawn


def test_a_list_that_is_the_same_for_all_is_the_first_thing_to_repair(demo: RunStore) -> None:
    view = _view(demo, "iris", "colbert", "basic")
    by_kind = {section.kind: section for section in _sections(view)}
    assert by_kind["example"].heading == "colbert gives every question the same 10 documents"
    assert by_kind["next"].heading == "Next: check the retriever, then judge again"
    assert by_kind["next"].slide is not None
    assert by_kind["next"].slide.steps[0].title == "Check the retriever"
    assert by_kind["why"].slide is not None
    assert "every question got the same 10 documents" in by_kind["why"].slide.doubt


def test_a_story_of_an_earlier_version_opens_with_the_kinds_of_today(demo: RunStore) -> None:
    view = _view(demo, "iris", "colbert", "basic")
    kinds = ("verdict", "headline", "change", "fix_first", "horizons", "next")
    stored = Story("Old", view.run.run_id, sections=tuple(StorySection(kind) for kind in kinds)).to_json()
    story = story_from_json(stored)
    assert [section.kind for section in story.sections] == ["verdict", "headline", "change", "why", "next"]
    assert all(render_section(view, section).heading != "Unknown section" for section in story.sections)


def test_a_release_is_the_decision_and_no_step(demo: RunStore) -> None:
    view = _view(demo, "iris", "colbert", "basic")
    view.__dict__["headline"] = Headline("good", "colbert: ship", "")
    slide = render_section(view, StorySection("next")).slide
    assert slide is not None
    assert slide.decision.endswith("release colbert.")
    assert not [step for step in slide.steps if step.title.startswith("Release")]


def _record(at: int, faithfulness: float) -> dict[str, Any]:
    scores = {"faithfulness": faithfulness, "answer_relevancy": 0.9}
    return {"question_id": f"q{at}", "question": f"Question {at}?", "answer": "Yes.", "scores": scores}


def _compared(folder: Path, run: dict[int, float], base: dict[int, float]) -> dict[str, RenderedSection]:
    before = add_run([_record(at, value) for at, value in base.items()], "before", "p", str(folder))
    after = add_run([_record(at, value) for at, value in run.items()], "after", "p", str(folder))
    view = StoryView(RunStore(Workspace(folder)), after, before)
    sections = [*_sections(view), render_section(view, StorySection("change"))]
    return {section.kind: section for section in sections}


def _tile(section: RenderedSection, title: str) -> Tile:
    assert section.slide is not None
    return next(tile for tile in section.slide.tiles if tile.title == title)


def test_the_first_slide_has_the_baseline_on_the_questions_that_the_third_compares(tmp_path: Path) -> None:
    """The mean of the baseline over all its questions is 0.75."""
    base = {at: 0.85 if at < 12 else 0.65 for at in range(24)}
    slides = _compared(tmp_path, dict.fromkeys(range(12), 1.0), base)
    change = next(row for row in slides["change"].rows if row["Metric"] == "Faithfulness")
    assert (change["Baseline"], change["Version"]) == ("0.85", "1.00")
    tile = _tile(slides["verdict"], "Faithfulness")
    assert (tile.value, tile.change) == ("1.00", "before 0.85")
    assert tile.strip.base == pytest.approx(0.85)
    assert tile.foot.startswith("95 % CI ")
    assert "gate: ≥ 0." in tile.foot
    row = next(row for row in slides["verdict"].rows if row["Metric"] == "Faithfulness")
    assert row["Baseline"] == "0.850"


def test_a_mean_over_more_questions_than_are_shared_has_the_paired_change_beside_it(tmp_path: Path) -> None:
    run = {at: 1.0 if at < 12 else 0.8 for at in range(24)}
    slides = _compared(tmp_path, run, dict.fromkeys(range(12), 0.85))
    tile = _tile(slides["verdict"], "Faithfulness")
    assert (tile.value, tile.change) == ("0.90", "+0.15 vs before")
    assert _tile(slides["verdict"], "No fault found").change.endswith("points vs before")


def test_runs_without_a_shared_question_are_beside_nothing(tmp_path: Path) -> None:
    slides = _compared(
        tmp_path, dict.fromkeys(range(12), 1.0), {at: 0.85 + at / 1000 for at in range(20, 32)}
    )
    assert not slides["change"].measured
    assert _tile(slides["verdict"], "Faithfulness").change == ""
    assert slides["verdict"].slide is not None
    assert "measures none of this on the same questions" in slides["verdict"].slide.remarks[0].text
