"""The deck that is forwarded unchanged: five slides, caveats on the first, plain words, one decision."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from pptx import Presentation
from pypdf import PdfReader

from ragtriage.dashboard.charts.chart import Chart
from ragtriage.dashboard.charts.tokens import LIGHT
from ragtriage.dashboard.present.export.formats import export_report
from ragtriage.dashboard.present.export.slide_layout import Words, plan_slide
from ragtriage.dashboard.present.stories.causes_slides import LONGEST_TITLE, STEPS
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.sections import default_sections, render_section
from ragtriage.dashboard.present.stories.story import RenderedSection, SlideContent, Story, marked_pieces
from ragtriage.dashboard.wording.escaping import shorten, without_markdown
from ragtriage.dashboard.wording.next_steps import step_words
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.metric_registry import REGISTRY, plain_names, title_of

RUNS = [
    "handbook: V4 rerank",
    "handbook: V1 baseline",
    "mtrag: GPT-4.0",
    "clapnq: GPT-3.5 (Turbo)",
    "city_guide: Keyword guide",
]
FOOT = 57  # points that the page number stands in
MARKS = re.compile(r"\*\*|__|`|(^|\s)#{1,6} |\]\(http")


def _view(demo: RunStore, wanted: str) -> StoryView:
    project, _, name = wanted.partition(": ")
    run = next(run for run in demo.runs(project) if run.name == name)
    return StoryView(demo, run, baseline_of(demo, run).run, audience="stakeholder")


def _deck(view: StoryView) -> dict[str, tuple[RenderedSection, SlideContent]]:
    sections = [render_section(view, section) for section in default_sections("stakeholder", view.run)]
    return {each.kind: (each, each.slide) for each in sections if each.slide is not None}


@pytest.mark.parametrize("wanted", RUNS)
def test_five_slides_ask_for_one_decision_and_list_the_steps_of_every_door(
    demo: RunStore, wanted: str
) -> None:
    view = _view(demo, wanted)
    deck = _deck(view)
    assert list(deck) == ["verdict", "why", "users", "example", "next"]
    assert [kind for kind, (_, slide) in deck.items() if slide.decision] == ["next"]
    assert all(section.measured for section, _ in deck.values())
    whats = [step_words(step).what for step in view.next_steps]
    assert [row["What"] for row in deck["next"][0].rows] == whats
    titles = [shorten(what, LONGEST_TITLE) for what in whats[:STEPS]]
    assert [step.title for step in deck["next"][1].steps] == titles
    story = Story("T", view.run.run_id)
    content = export_report(view, story, [section for section, _ in deck.values()], "pptx")
    slides = list(Presentation(io.BytesIO(content)).slides)
    texts = [shape.text_frame.text for shape in slides[0].shapes if shape.has_text_frame]
    assert sum(text.startswith("Before you quote this:") for text in texts) == 1
    decisions = [
        shape.text_frame.text
        for slide in slides
        for shape in slide.shapes
        if shape.has_text_frame and shape.text_frame.text.startswith("Decision asked for:")
    ]
    assert len(decisions) == 1


@pytest.mark.parametrize("wanted", RUNS)
def test_titles_fit_at_their_size_and_no_text_shows_markdown(demo: RunStore, wanted: str) -> None:
    for section, slide in _deck(_view(demo, wanted)).values():
        words = [part for part in plan_slide(section, slide).parts if isinstance(part, Words)]
        (title,) = (part for part in words if part.name == "title")
        assert title.paragraphs[0].size == 28
        assert title.paragraphs[0].text.replace("\u00a0", " ") == section.heading
        for text in (slide.question, *(answer.text for answer in slide.answers)):
            assert not MARKS.search(text), text
        if slide.passage is not None:
            assert not MARKS.search(slide.passage.text), slide.passage.text
            assert all(part in slide.passage.text for part in slide.passage.marked)


def test_the_box_says_who_wrote_questions_and_labels_and_how_sure_the_rate_is(demo: RunStore) -> None:
    caveats = _deck(_view(demo, "handbook: V4 rerank"))["verdict"][1].caveats
    assert "all 48 questions were generated, none asked by users" in caveats
    assert "a model labelled the answers, no person did" in caveats
    assert any(re.search(r"with 48 questions, pass rate may lie .* 70 % to 91 %", each) for each in caveats)


def test_only_what_fails_is_red(demo: RunStore) -> None:
    section, slide = _deck(_view(demo, "mtrag: GPT-4.0"))["verdict"]
    assert isinstance(section.chart, Chart)
    colours = section.chart.series[-1].colours
    failing = [tile.state == "bad" for tile in slide.tiles]
    assert True in failing
    assert False in failing
    assert [colour == LIGHT.bad.text for colour in colours] == failing


def test_the_claim_that_no_document_backs_is_marked_and_the_passage_shown(demo: RunStore) -> None:
    _, slide = _deck(_view(demo, "mtrag: GPT-4.0"))["example"]
    (answer, _) = slide.answers
    assert answer.marked
    assert all(part in answer.text for part in answer.marked)
    assert slide.conclusion.endswith("Not backed by its documents: underlined, estimated from shared words.")
    assert slide.passage is not None
    assert slide.passage.heading.startswith("The passage that answers it, given to ")
    assert slide.passage.marked


def test_a_lead_reads_plain_names_and_an_engineer_technical_ones(demo: RunStore) -> None:
    view = _view(demo, "handbook: V1 baseline")
    assert "supported answers (Faithfulness) 0.75, needs 0.90" in _deck(view)["verdict"][1].subtitle
    engineer = StoryView(demo, view.run)
    assert "faithfulness 0.75, needs 0.90" in engineer.headline.detail
    with plain_names():
        assert title_of("recall@5") == "right passages found"
    assert title_of("recall@5") == "Recall@5"
    plain = [metric.plain for metric in REGISTRY.values() if metric.plain]
    assert len(set(plain)) == len(plain) > 30
    assert all(len(name) <= 24 for name in plain), "a tile has no room for more"


def test_people_who_get_no_good_answer_are_counted(demo: RunStore) -> None:
    section, slide = _deck(_view(demo, "handbook: V4 rerank"))["users"]
    assert section.heading == "8 of 48 people who ask get no good answer, 20 with V1 baseline"
    assert sum(int(row["Cases"]) for row in section.rows) == 48
    remarks = {remark.heading: remark.text for remark in slide.remarks}
    assert remarks["Who is let down"].startswith(
        "4 of 48 get an answer that fails a measurement, 3 of them partly right; 4 are refused"
    )
    assert remarks["Time and cost"] == "Neither is recorded in this run."


def test_marks_of_markdown_go_and_words_stay() -> None:
    text = (
        "# Head\n\n- **Bold** and _it_ with `code`, [a link](http://x.org/y)\n> ``said'' a_b 2*3 [2]\n---\n"
    )
    assert without_markdown(text) == "Head:\n• Bold and it with code, a link\n“said” a_b 2*3 [2]"


def test_a_text_is_split_at_what_is_marked() -> None:
    assert marked_pieces("a (b) c", ("(b)",)) == [("a ", False), ("(b)", True), (" c", False)]
    assert marked_pieces("abc", ()) == [("abc", False)]


@pytest.mark.usefixtures("chromium")
def test_no_page_of_the_pdf_is_two_thirds_empty(demo: RunStore) -> None:
    view = _view(demo, RUNS[1])
    sections = [section for section, _ in _deck(view).values()]
    reader = PdfReader(io.BytesIO(export_report(view, Story("T", view.run.run_id), sections, "pdf")))
    for page in reader.pages:
        places: list[float] = []

        def visit(text: str, cm: Any, tm: Any, _font: Any, _size: Any, places: list[float] = places) -> None:
            if text.strip():
                places.append(cm[1] * tm[4] + cm[3] * tm[5] + cm[5])

        page.extract_text(visitor_text=visit)
        body = [place for place in places if place > FOOT]
        assert min(body) < 2 / 3 * float(page.mediabox.height)
