"""What the pages are made of: the selection and its address, texts, numbers, charts, the case as HTML."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.dashboard.charts.comparison import stage_flow
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.charts.tokens import DARK, LIGHT, Tokens, contrast
from ragtriage.dashboard.charts.version_lines import (
    Point,
    trend,
)
from ragtriage.dashboard.present.case_html.case import (
    answer_html,
    context_html,
    conversation_html,
    highlights_of,
)
from ragtriage.dashboard.present.case_html.compared_case import diff_html
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.suites.headline import share_text
from ragtriage.dashboard.wording.escaping import chart_text, markdown_text, shorten
from ragtriage.dashboard.wording.formatting import finding_counts, method_text
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.store.parsed_run import normalise
from ragtriage.metrics.diagnosis.stages import DEFAULT_ORDER

HOSTILE = '<script>x</script><img src=x onerror=y>[a](javascript:b) & "q"'


def _sample(**fields: Any) -> dict[str, Any]:
    problems = ValidationErrors("test")
    sample = normalise({"question": "q?", **fields}, 1, problems)
    assert sample is not None, problems.first
    return sample


@given(
    st.builds(
        Selection,
        project=st.text(max_size=30),
        context=st.floats(0, 1).map(lambda value: round(value, 2)),
        order=st.permutations(DEFAULT_ORDER).map(tuple),
        pattern=st.sampled_from(["", "retrieval", "healthy"]),
        bad=st.sampled_from(["", "yes", "no"]),
        text=st.text(max_size=40),
        slices=st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3),
        descending=st.booleans(),
        page=st.integers(1, 10_000),
        versions=st.lists(st.from_regex("[0-9a-f]{12}", fullmatch=True), max_size=10).map(tuple),
    )
)
def test_the_address_gives_back_the_selection(selection: Selection) -> None:
    assert Selection.from_params(selection.to_params()) == selection


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("context", "2"), ("context", "nan"), ("context", "x"), ("pattern", "'; DROP"), ("page", "-1"),
        ("page", "1e9"), ("slices", "{"), ("slices", "[1]"), ("label", "maybe"), ("unknown", "x"),
        ("text", "x" * 10_000),
    ],
)  # fmt: skip
def test_what_an_address_cannot_mean_keeps_the_default(name: str, value: str) -> None:
    assert Selection.from_params({name: value}) == Selection()


def test_unfiltered_keeps_run_and_cutoffs() -> None:
    chosen = Selection(run="r", context=0.3, pattern="retrieval", text="x", case="q~0", page=4)
    assert chosen.unfiltered() == Selection(run="r", context=0.3)


@given(st.text(alphabet="ab<>[]()!*_`:$#~|\\&@./hw-\n", max_size=60))
def test_no_markdown_survives_escaping(text: str) -> None:
    escaped = markdown_text(text)
    bare = escaped.replace("\\\\", "")
    for mark in "<>[]()!*_`:$#~|":
        assert all(bare[at - 1] == "\\" for at in range(len(bare)) if bare[at] == mark)
    assert "\n" not in escaped


def test_bare_addresses_do_not_become_links() -> None:
    for text in ("http://example.invalid", "www.example.invalid", "a@example.invalid"):
        shown = markdown_text(text).replace("\\", "")
        assert text not in shown
        assert shown.replace("\u2060", "") == text


def test_chart_text_and_shortening() -> None:
    assert chart_text("<b>&") == "&lt;b&gt;&amp;"
    assert shorten("a  b\nc", 10) == "a b c"
    assert shorten("abcdefghij", 5) == "abcd…"


def test_every_part_of_a_case_is_escaped() -> None:
    sample = _sample(
        question=HOSTILE,
        answer=HOSTILE,
        history=[{"role": HOSTILE, "text": HOSTILE}],
        retrieved=[{"id": HOSTILE, "text": HOSTILE, "score": 1.0}],
        claims=[{"text": HOSTILE, "supported_by": [1], "in_reference": True}],
        relevant=[HOSTILE],
    )
    evidence = highlights_of(sample)
    for page in (conversation_html(sample), answer_html(sample, evidence), context_html(sample, evidence)):
        assert "<script" not in page
        assert "<img" not in page
        assert "&lt;script&gt;" in page
    assert all("<script" not in side for side in diff_html(HOSTILE, f"{HOSTILE} more"))


def test_claims_carry_their_verdict_in_words_and_link_to_their_evidence() -> None:
    claims = [
        {"text": "one", "supported_by": [2], "in_reference": True},
        {"text": "two", "supported_by": [], "contradicted_by": [1], "in_reference": False},
        {"text": "three", "supported_by": []},
    ]
    sample = _sample(answer="a", retrieved=["x", "y"], claims=claims)
    page = answer_html(sample, highlights_of(sample))
    for words in ("supported · right", "contradicted · wrong", "not in the context · not checked"):
        assert words in page
    assert 'href="#document-2"' in page
    assert 'id="document-2"' in context_html(sample, highlights_of(sample))


def test_a_judges_evidence_stands_under_each_claim_with_what_is_void() -> None:
    claims = [
        {"text": "one", "supported_by": [1, 2], "contradicted_by": [3]},
        {"text": "two", "supported_by": []},
        {"text": "three", "supported_by": []},
    ]
    sample = _sample(answer="a", retrieved=["x", "y", "z"], claims=claims)
    quote = {"rank": 2, "quote": "<b>words</b> of it", "side": "for", "found": True}
    sample["judged"] = {
        "claims": [
            {"support": "together", "evidence": [quote]},
            {"support": "partly", "evidence": []},
            {"support": "alone", "evidence": [{**quote, "quote": "invented", "found": False}]},
        ]
    }
    page = " ".join(answer_html(sample, highlights_of(sample)).split())
    assert "supported by documents only together; another document contradicts it" in page
    assert "for, document 2: “&lt;b&gt;words&lt;/b&gt; of it”" in page
    assert "supported in part, counts a half" in page
    assert "“invented” (not in this document: void)" in page


def test_gold_used_and_ignored_documents_are_marked() -> None:
    texts = ["The Nile flows through eleven countries of Africa.", "Bread is baked from flour and water."]
    retrieved = [{"id": "nile", "text": texts[0]}, {"id": "bread", "text": texts[1]}]
    sample = _sample(
        answer="The Nile flows through eleven countries.", retrieved=retrieved, relevant=["nile"]
    )
    evidence = highlights_of(sample)
    page = context_html(sample, evidence)
    assert (evidence.used, evidence.used_how) == (frozenset({1}), "estimated")
    first, second = page.split('id="document-2"')
    assert "gold" in first
    assert "used (estimated)" in first
    assert "<mark>" in first
    assert "ignored (estimated)" in second


def test_what_was_not_recorded_is_said() -> None:
    sample = _sample()
    assert "No answer was recorded" in answer_html(sample, highlights_of(sample))
    assert "No context was recorded" in context_html(sample, highlights_of(sample))
    empty = _sample(retrieved=[])
    assert "Nothing was retrieved" in context_html(empty, highlights_of(empty))


def test_the_word_diff_marks_what_was_dropped_and_added() -> None:
    before, after = diff_html("the old answer", "the new answer")
    assert (before, after) == ("the <del>old</del> answer", "the <ins>new</ins> answer")


def test_a_trend_leaves_out_what_was_not_measured() -> None:
    points = [Point("a", "d", 0.5, 0.4, 0.7, 10, False), Point("<b>", "d", None, None, None, 0, True)]
    figure = plotly_figure(trend(points, "Faithfulness", 0.5))
    assert sum(len(trace.x) for trace in figure.data) == 1
    assert figure.layout.xaxis.ticktext[1] == "&lt;b&gt;"
    assert figure.data[0].error_y.array[0] == pytest.approx(0.2)
    assert len(figure.layout.shapes) == 1, "the baseline is a dashed line"


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_the_flow_map_counts_every_pair_and_its_numbers_are_legible(tokens: Tokens) -> None:
    figure = stage_flow({("missed", "good"): 4, ("good", "good"): 6}, "a", "<b>", tokens)
    cells = np.array(figure.data[0].z, dtype=float)
    assert cells.shape == (2, 1)
    assert np.nansum(cells) == 10
    assert "&lt;b&gt;" in figure.layout.xaxis.title.text
    for note in figure.layout.annotations:
        colour = tokens.sequential[round(9 * int(note.text) / 6)]
        assert contrast(note.font.color, colour) >= 4.5


def test_gold_text_is_marked_inside_the_chunks_it_falls_into() -> None:
    chunk = {"id": "c1", "text": "abcdefghij", "score": None, "doc_id": "d", "start": 100, "end": 110}
    away = {"id": "c2", "text": "abcdefghij", "score": None, "doc_id": "e", "start": 100, "end": 110}
    sample = {
        "answer": None,
        "used": None,
        "claims": None,
        "citations": None,
        "relevant": None,
        "retrieved": [{**chunk, "relevant": None}, {**away, "relevant": None}],
        "relevant_spans": [
            {"doc_id": "d", "start": 95, "end": 103},
            {"doc_id": "d", "start": 108, "end": 140},
            {"doc_id": "d", "start": 110, "end": 120},
        ],
    }
    found = highlights_of(sample)
    assert found.gold_text == {1: ((0, 3), (8, 10))}
    html = context_html(sample, found)
    assert "<mark>abc</mark>defgh<mark>ij</mark>" in html
    assert "gold: 5 characters" in html
    assert html.count(">gold") == 1


def test_small_shares_keep_a_decimal_and_only_none_is_0() -> None:
    shares = [0.0, 0.0004, 0.012, 0.0949, 0.0951, 0.5, 1.0]
    assert [share_text(share) for share in shares] == [
        *("0 %", "0.04 %", "1.2 %", "9.5 %"),
        *("10 %", "50 %", "100 %"),
    ]


def test_the_method_of_an_interval_is_named_in_words() -> None:
    assert method_text("wilson") == "Wilson's interval"
    assert method_text("t", too_few=True) == "interval by Student's t, few questions"
    assert method_text("McNemar") == "McNemar"


def test_findings_are_counted_by_how_much_they_matter() -> None:
    assert finding_counts(["note", "warning", "note", "error", "warning"]) == "1 error, 2 warnings, 2 notes"
    assert finding_counts([]) == "no findings"
