"""The headline of the Cases page in every state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ragtriage.dashboard.headlines.cases import (
    CaseCounts,
    blind_headline,
    cases_headline,
    none_contradicted,
    nothing_newly_fails,
)
from ragtriage.dashboard.headlines.headline import State
from ragtriage.data.comparison.question_changes import NewlyFailing

BAD = CaseCounts(
    "colbert", 30, 30, 29, 30, 30, {"refused_with_context": 17, "unfaithful": 9, "retrieval_miss": 3}
)
GOOD = CaseCounts("colbert", 100, 100, 0, 100, 100, questions=100)


@pytest.mark.parametrize(
    ("counts", "state", "statement"),
    [
        (GOOD, "good", "colbert: all 100 cases pass"),
        (BAD, "bad", "colbert: 29 of 30 cases are bad, 17 wrongly refused"),
        (replace(BAD, bad=30), "bad", "colbert: all 30 cases are bad, 17 wrongly refused"),
        (
            replace(BAD, bad=1, stages={"unfaithful": 1}),
            "bad",
            "colbert: 1 of 30 cases is bad, 1 unfaithful",
        ),
        (
            replace(BAD, total=100, shown=100, bad=31, measured=80, fully=60),
            "cannot tell",
            "colbert: 31 bad, 40 not fully measured",
        ),
        (replace(GOOD, fully=60), "cannot tell", "colbert: no bad case yet, 40 not fully measured"),
        (replace(GOOD, measured=0, fully=0), "not measured", "colbert: no case could be judged"),
        (replace(GOOD, shown=0), "empty", "colbert: no case matches the filters"),
        (replace(BAD, shown=17, bad=17, fully=17), "bad", "colbert: 17 of 30 cases shown, all bad"),
        (
            replace(GOOD, shown=5, measured=5, fully=5, questions=5),
            "good",
            "colbert: 5 of 100 cases shown, none bad",
        ),
        (
            replace(GOOD, shown=1, measured=1, fully=1, questions=1),
            "cannot tell",
            "colbert: 1 of 100 cases shown, none bad",
        ),
        (
            replace(GOOD, total=1, shown=1, measured=1, fully=1, questions=1),
            "cannot tell",
            "colbert: the only case passes, too few to tell",
        ),
        (replace(GOOD, questions=4), "cannot tell", "colbert: all 100 cases pass, too few to tell"),
        (
            replace(GOOD, refusals_alone=True),
            "cannot tell",
            "colbert: all 100 cases pass, judged by answerability alone",
        ),
        (
            CaseCounts("colbert", 1, 1, 1, 1, 1, {"unfaithful": 1}, questions=1),
            "bad",
            "colbert: the only case is bad, 1 unfaithful",
        ),
        (
            replace(GOOD, shown=5, measured=0, fully=0),
            "not measured",
            "colbert: no case of the 5 shown could be judged",
        ),
    ],
)
def test_the_statement_in_every_state(counts: CaseCounts, state: State, statement: str) -> None:
    headline = cases_headline(counts)
    assert (headline.state, headline.statement) == (state, statement)
    assert len(headline.statement) <= 70


def test_a_doubted_conclusion_is_not_good_and_a_bad_one_stays_bad() -> None:
    doubted = cases_headline(GOOD, "context recall is 1 in every case")
    assert (doubted.state, doubted.doubt) == ("doubted", "context recall is 1 in every case")
    assert cases_headline(BAD, "context recall is 1 in every case").state == "bad"


def test_the_second_line_names_the_stages_and_what_is_not_measured() -> None:
    detail = cases_headline(replace(BAD, bad=25, measured=28, stages={"unfaithful": 20})).detail
    assert detail == "20 unfaithful, 5 at other stages. 3 pass. 2 not measured"


def test_a_long_name_is_shortened() -> None:
    assert cases_headline(replace(BAD, run="n" * 80)).statement.startswith(f"{'n' * 23}…: 29 of 30")


def test_the_blind_headline_shows_nothing_of_the_diagnosis() -> None:
    headline = blind_headline("Faithfulness", 47)
    assert headline.statement == "Labelling blind: Faithfulness"
    assert "47 cases to go" in headline.detail
    assert headline.state == "empty"


@pytest.mark.parametrize(
    ("checked", "state", "statement"),
    [
        (38, "good", "No answer of V4 is contradicted by its documents"),
        (20, "cannot tell", "No checked answer of V4 is contradicted by its documents"),
        (0, "not measured", "V4: not known whether a document contradicts an answer"),
    ],
)
def test_that_no_answer_is_contradicted_is_a_result_where_claims_were_checked(
    checked: int, state: str, statement: str
) -> None:
    headline = none_contradicted("V4", checked, 38)
    assert (headline.state, headline.statement) == (state, statement)


def test_cases_that_labels_decide_are_counted() -> None:
    assert "3 of 100 set by people" in cases_headline(replace(GOOD, set_by_people=3)).detail
    assert "people" not in cases_headline(GOOD).detail


def test_a_cohort_without_cases_is_named() -> None:
    headline = cases_headline(replace(GOOD, shown=0), where="passages repeat each other")
    assert headline.statement == "colbert: no case where passages repeat each other"


@pytest.mark.parametrize(
    ("compared", "doubt", "state"),
    [
        (100, "", "good"),
        (100, "refusals are estimated", "doubted"),
        (4, "", "cannot tell"),
        (0, "", "not measured"),
    ],
)
def test_nothing_newly_fails_only_among_questions_that_both_runs_measured(
    compared: int, doubt: str, state: State
) -> None:
    none = np.zeros(0, dtype=np.int64)
    change = NewlyFailing(none.astype(object), none, none.astype(bool), compared, 1)
    headline = nothing_newly_fails("colbert", "bm25", change, doubt)
    assert headline.state == state
    assert (f"Of {compared} questions" in headline.detail) == (compared > 0)
