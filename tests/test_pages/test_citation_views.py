"""Citations on the pages, in the terminal and in reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from command_line import run
from page_text import page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.present.case_html.case import citations_html
from ragtriage.data.analysis.citations import citations_of_run
from ragtriage.data.api import add_run
from ragtriage.data.cases.cohorts import COHORTS, cohort_rows
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.citations import CitationStyle

DOCUMENTS = [{"id": "a", "text": "Cats purr loudly."}, {"id": "b", "text": "Dogs bark at night."}]


def _record(name: str, answer: str, *claims: tuple[str, list[int]], **more: Any) -> dict[str, Any]:
    labelled = [{"text": text, "supported_by": ranks} for text, ranks in claims]
    return {
        "question_id": name,
        "question": f"{name}?",
        "answer": answer,
        "retrieved": DOCUMENTS,
        "claims": labelled,
        **more,
    }


CATS, DOGS = ("Cats purr loudly", [1]), ("Dogs bark at night", [2])
RECORDS = [
    _record("q1", "Cats purr loudly [1]. Dogs bark at night [2].", CATS, DOGS),
    _record("q2", "Cats purr loudly [2]. Dogs bark at night.", CATS, DOGS),  # wrong, and uncited
    _record("q3", "Cats purr loudly [1] [7]. Dogs bark at night [2] [citation needed].", CATS, DOGS),
    _record("q4", "I cannot answer this.", refused=True),
]


@pytest.fixture
def cited(workspace: RunStore) -> RunStore:
    add_run(RECORDS, "cites", project="p", workspace=str(workspace.workspace.root))
    return workspace


def scored_of(store: RunStore) -> ScoredRun:
    return store.scored(store.runs()[0])


def test_the_shares_of_a_run_by_hand(cited: RunStore) -> None:
    found = citations_of_run(scored_of(cited))
    assert found is not None
    assert (found.answers, found.citing) == (3, 3)
    counts = {share.key: (share.part, share.whole, share.n_cohort) for share in found.shares}
    assert counts == {
        "supported": (4, 6, 2),  # q2's [2] and q3's [7] do not
        "recalled": (4, 6, 1),
        "cited": (5, 6, 1),
        "in_context": (5, 7, 1),
    }
    assert all(share.value.low <= share.value.mean <= share.value.high for share in found.shares)


@pytest.mark.parametrize(
    ("cohort", "rows"),
    [
        ("uncited", [1]),
        ("unsupported_sentence", [1]),
        ("cites_wrongly", [1, 2]),
        ("cites_outside", [2]),
        ("cites", [0, 1, 2]),
    ],
)
def test_the_cohorts_of_citations(cited: RunStore, cohort: str, rows: list[int]) -> None:
    assert np.flatnonzero(cohort_rows(scored_of(cited), cohort)).tolist() == rows
    assert COHORTS[cohort].title("")
    with pytest.raises(DataError, match="accepted: nothing"):
        cohort_rows(scored_of(cited), f"{cohort}:1")


def test_a_run_that_does_not_cite_says_how_it_would(
    workspace: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    add_run([_record("q1", "Cats purr.", CATS)], "plain", workspace=str(workspace.workspace.root))
    with pytest.raises(DataError, match="do not cite"):
        cohort_rows(scored_of(workspace), "uncited")
    told = run(capsys, workspace.workspace.root, "citations", "plain").out
    assert "citation_pattern" in told


def test_the_command_says_what_the_page_says(cited: RunStore, capsys: pytest.CaptureFixture[str]) -> None:
    root = cited.workspace.root
    text = run(capsys, root, "citations", "cites").out
    assert "3 of 3 answers cite their context. 4 of 6 citations support their sentence." in text
    answer = run(capsys, root, "citations", "cites", "--json").json
    assert [(one["part"], one["whole"]) for one in answer["citations"]["shares"]] == [
        (4, 6),
        (4, 6),
        (5, 6),
        (5, 7),
    ]


def test_the_alignment_page_opens_the_cases_that_fall_short(
    cited: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(cited.workspace.root))
    page = AppTest.from_file(str(APP), default_timeout=60)
    page.session_state["alignment_tab"] = "Citations"
    page.switch_page("alignment/alignment.py").run()
    assert not page.exception
    assert "4 of 6 citations support their sentence" in page_text(page)
    page.button(key="citations_cited").click().run()
    assert page.query_params["cohort"] == "uncited"


def test_a_case_draws_sentences_to_documents() -> None:
    empty = {"id": None, "doc_id": None, "extra": None, "text": "Cats purr."}
    sample = {
        "answer": "<b>Cats</b> purr loudly at night [1] [9] [<img src=x onerror=alert(1)>].",
        "retrieved": [empty],
        "citations": None,
        "claims": None,
        "refused": None,
    }
    html = str(citations_html(sample, CitationStyle()))
    assert 'href="#document-1"' in html
    assert "9 ✕ not in the context" in html
    assert "<b>Cats" not in html
    assert "<img" not in html
    assert "estimated from shared words" in html
    assert citations_html(sample, None) == citations_html({**sample, "refused": True}, CitationStyle()) == ""


def test_hostile_names_of_documents_are_escaped() -> None:
    name = "'\"><script>alert(1)</script>"
    document = {"id": name, "doc_id": None, "extra": None, "text": ""}
    citations = [{"sentence": name, "ids": [name, "gone"], "supported": True}]
    sample = {
        "answer": name,
        "retrieved": [document],
        "citations": citations,
        "claims": None,
        "refused": None,
    }
    html = str(citations_html(sample, CitationStyle()))
    assert "<script" not in html
    assert "&lt;script" in html
