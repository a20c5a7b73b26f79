"""Texts of a megabyte: a page and a report show their beginnings and say so, an export of cases has all."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest
from made_reports import bars
from page_text import html_text
from places import APP
from pptx import Presentation
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.present.case_html.case import context_cards_html, highlights_of
from ragtriage.dashboard.present.export.html_report import html_report, paper_report
from ragtriage.dashboard.present.export.pptx.report_slides import pptx_report
from ragtriage.dashboard.present.stories.report import Report, with_shown_cases
from ragtriage.dashboard.present.stories.story import RenderedSection
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run, diagnosis_of
from ragtriage.data.cases.export import EXPORTS, export_rows
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.text.shown_case import LONGEST_TEXT, beginning, cuts_told, shown_case

MEGABYTE = 1_000_000
WHOLE_CHARACTERS = (
    "e\u0301\u0323",  # a letter with two marks
    "\U0001f1e9\U0001f1ea",  # a flag
    "\U0001f3f4\U000e0067\U000e0062\U000e007f",  # a flag of tags
    "\U0001f468\u200d\U0001f469\u200d\U0001f466",  # a family
    "\U0001f44d\U0001f3fd",  # a hand with a colour
    "1\ufe0f\u20e3",  # a key
    "\u1100\u1161\u11a8",  # a Hangul syllable in parts
    "\u0928\u093f",  # a Devanagari letter with its vowel
    "\r\n",
)
ANSWERS = {
    "sentences": "The index holds the refund policy in full. " * (MEGABYTE // 43),
    "markup": "\"<a>&'" * (MEGABYTE // 6),
    "short sentences": "A b. " * (MEGABYTE // 5),
    "wide characters": "退款政策需要十四天。" * (MEGABYTE // 30),
}


def _case(at: int, answer: str) -> dict[str, Any]:
    documents = [{"id": f"d{rank}", "text": "The refund policy holds. " * 24} for rank in range(10)]
    return {"question_id": f"q{at}", "question": f"Question {at}?", "answer": answer, "retrieved": documents}


def _report(answer: str, cases: int, chart: bool = False) -> Report:
    section = RenderedSection("cases", "Cases", cases=[_case(at, answer) for at in range(cases)])
    drawn = [RenderedSection("bars", "Bars", chart=bars())] if chart else []
    return Report("Long answers", sections=with_shown_cases([*drawn, section]))


@pytest.mark.parametrize("name", ANSWERS)
def test_a_report_of_a_hundred_answers_of_a_megabyte_stays_under_ten(name: str) -> None:
    report = _report(ANSWERS[name], 100, chart=True)
    page = html_report(report)
    assert len(page.encode()) < 10 * MEGABYTE
    assert page.count("Shortened here: answer (first ") == 100
    assert all(page.count(f"Question {at}?") == 1 for at in range(100))
    assert page.count('class="rt-doc') == 1000, "an answer leaves room for the documents"


def test_slides_and_paper_are_cut_alike() -> None:
    report = _report(ANSWERS["sentences"], 20)
    slides = pptx_report(report)
    assert len(slides) < MEGABYTE
    texts = [
        shape.text_frame.text
        for slide in Presentation(io.BytesIO(slides)).slides
        for shape in slide.shapes
        if shape.has_text_frame
    ]
    assert any("Shortened here: answer (first 20,000 of " in text for text in texts)
    assert len(paper_report(report).encode()) < 5 * MEGABYTE


def test_a_cut_ends_no_entity_and_no_tag() -> None:
    page = html_report(_report(ANSWERS["markup"], 1))
    article = page[page.index("<article") : page.index("</article>")]
    assert not re.search(r"&(?!(?:amp|lt|gt|#34|#39|quot);)", article)
    assert article.count("<p") == article.count("</p>")


@pytest.mark.parametrize("character", WHOLE_CHARACTERS)
def test_a_cut_leaves_characters_of_several_parts_whole(character: str) -> None:
    text = f"ab{character * 40}"
    whole = {f"ab{character * n}" for n in range(41)} | {"a", ""}
    assert all(beginning(text, length) in whole for length in range(len(text) + 2))
    assert beginning(text, len(text)) == text


def test_a_character_without_end_is_cut_all_the_same() -> None:
    assert len(beginning("\u0301" * 10_000, 5000)) == 5000


def test_texts_of_usual_length_are_left_alone() -> None:
    case = _case(1, "Fourteen days. " * 1000)
    assert shown_case(case) == case
    assert cuts_told(case) == ""


def test_what_is_cut_is_told_text_by_text() -> None:
    documents = ["d" * 30_000, {"id": "x", "text": "short"}]
    case = {"question": "q" * 50_000, "answer": None, "retrieved": documents}
    shown = shown_case(case)
    assert shown["question"] == "q" * LONGEST_TEXT + "…"
    assert shown["retrieved"] == ["d" * LONGEST_TEXT + "…", {"id": "x", "text": "short"}]
    assert cuts_told(shown) == (
        "Shortened here: question (first 20,000 of 50,000 characters), document 1 (first 20,000 of 30,000 "
        "characters). The case export has the full text."
    )
    assert documents[0] == "d" * 30_000, "the given case stays as it is"


def test_a_document_whose_gold_is_cut_off_shows_its_beginning() -> None:
    document = {"doc_id": "d", "start": 0, "end": 30_000, "text": "beginning " * 3_000}
    case = {
        "question": "?",
        "answer": None,
        "retrieved": [{"id": "x", "score": None, "relevant": None, **document}],
        **dict.fromkeys(("claims", "citations", "relevant", "used")),
        "relevant_spans": [{"doc_id": "d", "start": 29_000, "end": 29_010}],
    }
    shown = shown_case(case)
    page = context_cards_html(shown, highlights_of(shown))
    excerpt = page[page.index("<p") : page.index("<details>")]
    assert "beginning beginning" in excerpt
    assert "gold: 10 characters" in page
    assert "<mark" not in page


@pytest.fixture
def long_run(workspace: RunStore) -> RunStore:
    answer = ANSWERS["sentences"][: MEGABYTE // 4]
    add_run(
        [{**_case(0, answer), "scores": {"faithfulness": 0.1}}], "long", "p", str(workspace.workspace.root)
    )
    return workspace


def test_the_page_of_a_long_case_sends_its_beginning(
    long_run: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(long_run.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="p", case="q0~0")
    app.switch_page("cases/cases.py").run()
    assert not app.exception
    assert len(html_text(app).encode()) < 300_000
    told = [caption.value for caption in app.caption]
    assert any("Shortened here: answer (first 20,000 of 250,000 characters)" in text for text in told)


@pytest.mark.parametrize("form", EXPORTS)
def test_an_export_of_cases_has_the_whole_text(long_run: RunStore, form: str) -> None:
    run = long_run.find("long")
    content = export_rows(diagnosis_of(long_run, run, DiagnosisSettings()), np.array([0]), form)
    if form == "parquet":
        import pyarrow.parquet as pq

        [answer] = pq.read_table(io.BytesIO(content))["answer"].to_pylist()
        assert len(answer) == MEGABYTE // 4
    else:
        assert ANSWERS["sentences"][: MEGABYTE // 4].encode() in content
