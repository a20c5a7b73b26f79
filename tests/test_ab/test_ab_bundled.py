"""The bundled live tests: made again by their script, their published values, and what they open with."""

from __future__ import annotations

import csv
import gzip

import pytest
from make_live_test import COLUMNS, SEED, drawn_rows, passing_cases
from places import REPOSITORY

from ragtriage.data.ab.ab_test import live_test
from ragtriage.data.ab.stored_tests import StoredTest, arm_runs, find_test, stored_tests
from ragtriage.data.demo import load_samples
from ragtriage.data.scoring.run_store import RunStore

FOLDER = REPOSITORY / "data" / "bundled" / "live_tests"


def bundled(store: RunStore, name: str) -> StoredTest:
    return find_test(store.workspace, name)


def test_the_script_draws_the_bundled_users_again() -> None:
    with gzip.open(FOLDER / "v2_against_v1.csv.gz", "rt", encoding="utf-8") as file:
        columns, *rows = csv.reader(file)
    assert columns == list(COLUMNS)
    assert rows == [[str(cell) for cell in row] for row in drawn_rows(SEED, passing_cases())]


def test_the_drawn_test_leaves_coming_back_open(demo: RunStore) -> None:
    stored = bundled(demo, "V2 against V1, live")
    test = live_test(stored.rows(), stored.options)
    assert test.lead is not None
    assert (test.state, test.by_user, test.worth_given) == ("guardrail_open", True, True)
    assert [each.name for each in test.lead.guardrails("open")] == ["back_within_7_days"]
    assert test.lead.decides.outcome == "better"
    assert {arm: run.name for arm, run in arm_runs(stored, demo.runs()).items()} == {
        "V1": "V1 baseline",
        "V2": "V2 smaller chunks",
    }
    assert stored.note == "users drawn; answers from the handbook runs"


def test_the_survey_has_the_published_scores_and_a_doubt(demo: RunStore) -> None:
    stored = bundled(demo, "2020 against 2019, survey")
    test = live_test(stored.rows(), stored.options)
    assert test.doubts == ("not_randomised",)
    assert test.lead is not None
    result = test.lead.decides.result
    assert result is not None
    assert (test.lead.arm, round(result.base), round(result.arm)) == ("2020", 63, 47)
    assert (result.low, result.high) == pytest.approx((-32.8, 1.7), abs=0.05)
    assert "CC BY 4.0" in stored.note
    assert arm_runs(stored, demo.runs()) == {}


def test_a_second_load_keeps_what_a_user_did_with_them(own_demo: RunStore) -> None:
    before = {test.test_id for test in stored_tests(own_demo.workspace)[0]}
    load_samples(own_demo)
    assert {test.test_id for test in stored_tests(own_demo.workspace)[0]} == before
