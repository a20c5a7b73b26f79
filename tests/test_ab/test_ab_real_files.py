"""Real tests and surveys against the values that were computed from them by other code (expected.json)."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import FIXTURES

from ragtriage.data.ab.ab_test import LiveTest, TestOptions, live_test
from ragtriage.data.ab.measures import measures_of
from ragtriage.data.ab.reading import DAY, TestRows, read_test
from ragtriage.metrics.ab.feedback import cohort_matrix, net_promoter, retained

BANDIT, SURVEY, CUSTOMERS = (
    FIXTURES / name for name in ("open_bandit_ab", "carpentries_feedback", "cdnow_retention")
)


def customers() -> list[dict[str, str]]:
    with gzip.open(CUSTOMERS / "events.csv.gz", "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def expected(folder: Path) -> Any:
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def bandit() -> LiveTest:
    return live_test(read_test([BANDIT]), TestOptions(worth=0.001))


def test_the_bandit_cannot_be_told_from_chance(bandit: LiveTest) -> None:
    values = expected(BANDIT)
    change = values["all: bts - random"]
    lead = bandit.lead
    assert lead is not None
    result = lead.decides.result
    assert result is not None
    assert (bandit.base, lead.arm, bandit.state) == ("random", "bts", "cannot_tell")
    assert result.difference == pytest.approx(change["diff"])
    assert result.p == pytest.approx(change["p_two_sided"])
    assert (result.low, result.high) == pytest.approx((-0.0014, 0.0022), abs=5e-5)
    needed = values["sample size per arm to detect the observed difference, alpha .05, power .80"]
    assert lead.decides.needed_per_arm == bandit.to_dict()["needed_per_arm"] == needed == 390_871
    assert lead.days_needed == pytest.approx(274, abs=0.5)
    assert bandit.split is not None
    assert bandit.split.p == values["srm_chi2_p (1:1)"] == 1


def test_the_band_of_the_bandit_never_leaves_zero_at_any_of_28_looks(bandit: LiveTest) -> None:
    lead = bandit.lead
    assert lead is not None
    assert len(lead.looks) == 28
    assert all(look.band_low <= 0 <= look.band_high for look in lead.looks)
    last = lead.looks[-1]
    assert (last.band_low, last.band_high) == pytest.approx((-0.0027, 0.0035), abs=5e-5)
    assert lead.shown_since is None


@pytest.fixture(scope="module")
def survey() -> TestRows:
    return read_test([SURVEY], by="survey", base="2019")


def test_the_survey_has_its_published_scores(survey: TestRows) -> None:
    rows = [
        json.loads(line) for line in (SURVEY / "responses.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    for year, values in expected(SURVEY).items():
        if year == "published":
            continue
        given = [row["nps_score"] for row in rows if row["survey"] == year]
        score = net_promoter(np.array([np.nan if answer is None else answer for answer in given]))
        assert (score.n, score.promoters, score.detractors) == (
            values["n"],
            values["promoters"],
            values["detractors"],
        )
        assert (score.score, score.error) == pytest.approx((values["nps"], values["se"]))
        assert (score.low, score.high) == pytest.approx(values["ci95"], abs=1e-3)
        said = measures_of(survey)["has_recommended"].values[survey.arm == survey.arms.index(year)]
        answers = values["has_recommended"]
        assert np.nanmean(said) == pytest.approx(answers["Yes"] / sum(answers.values()))


def test_the_fall_of_the_survey_is_not_shown_and_its_years_are_no_random_arms(survey: TestRows) -> None:
    test = live_test(survey, TestOptions())
    assert test.doubts == ("not_randomised",)
    assert test.split is None
    after = next(each for each in test.results if each.arm == "2020").decides
    assert after.outcome == "cannot tell"
    assert after.result is not None
    assert (after.result.difference, after.result.low, after.result.high) == pytest.approx(
        (-15.6, -32.8, 1.7), abs=0.05
    )
    assert after.needed_per_arm == 260


def test_the_customers_come_back_as_often_as_counted() -> None:
    rows = customers()
    days = np.array([row["date"] for row in rows], dtype="datetime64[D]")
    names, users = np.unique([row["user_id"] for row in rows], return_inverse=True)
    values = expected(CUSTOMERS)
    assert (len(names), len(rows)) == (values["users"], values["distinct_user_days"])
    for window in (30, 90):
        eligible, returned = retained(users.astype(np.int64), days.astype(np.int64), window)
        counted = values[f"returned_within_{window}d"]
        assert (eligible.sum(), (eligible & returned).sum()) == (counted["eligible"], counted["returned"])
    months = days.astype("datetime64[M]").astype(np.int64)
    matrix = cohort_matrix(users.astype(np.int64), months - months.min())
    for at, cohort in enumerate(values["users_active_by_month_offset"].values()):
        assert matrix[at, : 18 - at].tolist() == cohort[: 18 - at]
        assert np.isnan(matrix[at, 18 - at :]).all()


def test_customers_split_in_two_by_nothing_do_not_differ(tmp_path: Path) -> None:
    """The same log as a test without any change: arms by the parity of the customer's number."""
    lines = ["user_id,date,arm"]
    lines += [f"{row['user_id']},{row['date']},{'ab'[int(row['user_id']) % 2]}" for row in customers()]
    file = tmp_path / "events.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    test = live_test(read_test([file]), TestOptions(metric="back_within_90_days"))
    assert test.state == "cannot_tell"
    assert sum(test.units.values()) == 2_357
    result = test.results[0].decides.result
    assert result is not None
    returned = result.base * result.base_units + result.arm * result.arm_units
    assert round(returned) == expected(CUSTOMERS)["returned_within_90d"]["returned"]
    assert test.last is not None
    assert test.last // DAY == 10_407  # 1998-06-30
