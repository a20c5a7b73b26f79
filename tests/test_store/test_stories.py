"""Stories: stored, changed and read back; every section rendered from the runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ragtriage.dashboard.present.export.formats import export_report
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.report import report_of
from ragtriage.dashboard.present.stories.sections import SECTION_KINDS, default_sections, render_section
from ragtriage.dashboard.present.stories.story import (
    AUDIENCES,
    RenderedSection,
    Story,
    StorySection,
    story_from_json,
)
from ragtriage.dashboard.wording.escaping import in_sentence
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.stories import add_story, change_story, remove_story, stories, story_of
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.metric_registry import title_of


def run_of(demo: RunStore, project: str, name: str) -> Run:
    return max((run for run in demo.runs(project) if run.name == name), key=lambda run: run.n)


def view_of(demo: RunStore) -> StoryView:
    return StoryView(demo, run_of(demo, "iris", "basic"), run_of(demo, "iris", "crag"))


def test_a_story_is_kept_changed_and_taken_out(workspace: RunStore) -> None:
    ledger = workspace.ledger
    story = Story("T", "abc", "def", "lead", (StorySection("text", "H", "N", {"k": "v"}),), "Ann")
    number = add_story(ledger, "p", story.title, story.to_json(), story.author)
    stored = story_of(ledger, number)
    assert stored is not None
    assert story_from_json(stored.body) == story
    change_story(ledger, number, "T2", Story("T2", "abc").to_json())
    assert [(stored.story_id, stored.title, stored.who) for stored in stories(ledger, "p")] == [
        (number, "T2", "Ann")
    ]
    remove_story(ledger, number)
    assert stories(ledger, "p") == []
    assert story_of(ledger, number) is None
    with pytest.raises(DataError, match="removed meanwhile"):
        change_story(ledger, number, "T3", "{}")


@pytest.mark.parametrize(
    "body", ["", "[]", "{}", '{"title": 1}', '{"pieces": 3, "audience": "lead"}', "null"]
)
def test_what_is_no_story_is_refused(body: str) -> None:
    with pytest.raises(DataError, match="story: cannot be read"):
        story_from_json(body)


def test_pieces_move_within_their_list() -> None:
    story = Story("T", "r", sections=tuple(StorySection(kind) for kind in "abc"))
    assert [section.kind for section in story.moved(0, 1).sections] == ["b", "a", "c"]
    assert [section.kind for section in story.moved(2, -1).sections] == ["a", "c", "b"]
    assert story.moved(0, -1) == story
    assert story.moved(2, 1) == story


@pytest.mark.parametrize(
    ("project", "name"),
    [("iris", "basic"), ("mtrag", "GPT-4.0"), ("musique", "BM25"), ("ragchecker", "RAGChecker example")],
)
def test_every_point_says_something_about_every_kind_of_run(demo: RunStore, project: str, name: str) -> None:
    view = StoryView(demo, run_of(demo, project, name))
    for kind in SECTION_KINDS:
        _assert_says_something(kind, render_section(view, StorySection(kind, note="a note")))


def _assert_says_something(kind: str, rendered: RenderedSection) -> None:
    assert rendered.note == "a note"
    texts = [
        rendered.sentence,
        *(str(value) for row in rendered.rows for value in row.values()),
        *rendered.facts,
    ]
    assert not any("nan" in text.lower().split() for text in texts), texts
    if kind != "text":
        assert rendered.heading
        assert rendered.sentence or rendered.rows or rendered.chart is not None or rendered.cases
    if rendered.chart is not None:
        assert rendered.alt


def test_an_unknown_point_says_so(demo: RunStore) -> None:
    rendered = render_section(view_of(demo), StorySection("magic"))
    assert "known: verdict, why" in rendered.sentence


@pytest.mark.parametrize("audience", AUDIENCES)
def test_a_fresh_story_has_what_its_audience_needs(audience: str) -> None:
    kinds = [section.kind for section in default_sections(audience)]  # type: ignore[arg-type] # parametrised
    more = audience != "stakeholder"
    assert kinds[: 7 if more else 5] == [
        *("verdict", "why", "users"),
        *(("change", "suites") if more else ()),
        *("example", "next"),
    ]
    assert ("gates" in kinds) == (audience != "stakeholder")
    assert ("checks" in kinds) == (audience == "engineer")
    assert ("cases" in kinds) == (audience != "stakeholder")


def test_chosen_cases_are_given_whole_and_missing_ones_are_counted(demo: RunStore) -> None:
    view = view_of(demo)
    first = view.scored.question_ids[0]
    rendered = render_section(view, StorySection("cases", chosen={"cases": f"{first}~1\nnobody~0\nodd"}))
    assert [(case["question_id"], case["repeat"]) for case in rendered.cases] == [(first, 1)]
    assert rendered.cases[0]["retrieved"]
    assert "2 cases chosen before are not in this run" in rendered.facts


def test_a_report_says_where_its_numbers_come_from(demo: RunStore) -> None:
    view = view_of(demo)
    story = Story("T", view.run.run_id, audience="lead", author="Ann")
    report = report_of(view, story, [])
    assert view.run.run_id in report.facts["Run"]
    assert report.commands[0] == f"ragtriage metrics {view.run.run_id}"
    assert view.baseline is not None
    run = f"{view.run.run_id} --baseline {view.baseline.run_id}"
    assert report.commands[-2:] == (
        f"ragtriage gate {run}",
        f"ragtriage report {run} --audience lead -o report.html",
    )
    assert any("Only 10 questions" in caveat for caveat in report.caveats)
    (words,) = [caveat for caveat in report.caveats if caveat.startswith("Estimated from words")]
    estimated = {
        in_sentence(title_of(name)).partition("@")[0]
        for name, one in view.summary.items()
        if set(one.sources) == {"estimated"}
    }
    named = words.partition(": ")[2].removesuffix(f" and {len(estimated) - 8} more.").rstrip(".").split(", ")
    assert "@" not in words
    assert named == sorted(estimated)[:8]
    assert words.endswith(" more.") == (len(estimated) > 8)
    assert "by Ann" in report.subtitle


def test_a_story_exports_its_tables_and_charts(demo: RunStore, tmp_path: Path) -> None:
    import io
    import zipfile

    view = view_of(demo)
    rendered = [render_section(view, StorySection("why"))]
    name = "01-" + re.sub(r"[^\w-]+", "-", rendered[0].heading).strip("-")
    content = export_report(view, Story("T", view.run.run_id), rendered, "zip")
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert f"{name}.csv" in names
    assert f"{name}-chart.parquet" in names
    assert f"{name}.svg" in names or "MISSING.txt" in names
