"""The tests of experiments on tables worked by hand, and on published curves."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from places import REPOSITORY

from ragtriage.data.experiments.position import published_positions
from ragtriage.metrics.experiments.contexts import (
    middle_gap,
    noise_effect,
    outcome_of,
    position_effect,
    positions_of,
    quadratic_fit,
    shares_of,
)
from ragtriage.metrics.schema.scores import FloatArray, MetricsError
from ragtriage.metrics.statistics.repeated_measures import chi_square_tail, cochran_q, pair_tests


def rows(*patterns: tuple[str, int]) -> FloatArray:
    """Return questions as rows of 0 and 1, each pattern so many times."""
    return np.array([[float(mark) for mark in text] for text, times in patterns for _ in range(times)])


@pytest.mark.parametrize(
    ("value", "freedom", "tail"),
    [
        (3.841, 1, 0.05),
        (5.991, 2, 0.05),
        (9.488, 4, 0.05),
        (13.277, 4, 0.01),
        (0.0, 3, 1.0),
        (16.266, 3, 0.001),
    ],
)
def test_the_chi_square_tail_has_the_tabled_values(value: float, freedom: int, tail: float) -> None:
    assert chi_square_tail(value, freedom) == pytest.approx(tail, rel=2e-3)


def test_cochran_q_on_a_table_worked_by_hand() -> None:
    # 8 x 111, 4 x 000, 6 x 110, 4 x 010, 2 x 001: T = (14, 18, 10), N = 42, sum u^2 = 8*9 + 6*4 + 6 = 102
    # Q = 2 (3 (196 + 324 + 100) - 1764) / (3 * 42 - 102) = 2 * 96 / 24 = 8
    result = cochran_q(rows(("111", 8), ("000", 4), ("110", 6), ("010", 4), ("001", 2)))
    assert result.statistic == pytest.approx(8.0)
    assert (result.freedom, result.n, result.n_varying, result.method) == (2, 24, 12, "Cochran's Q")
    assert result.p == pytest.approx(math.exp(-4))


def test_few_questions_are_permuted_and_two_conditions_agree_with_mcnemar() -> None:
    few = cochran_q(rows(("10", 5), ("01", 1)))
    assert few.method == "Cochran's Q, permuted"
    assert few.p == pytest.approx(2 * 7 / 64, abs=0.015)  # exact: |5 - 1| or further of 6 coin flips
    (pair,) = pair_tests(rows(("10", 5), ("01", 1)), [0], [1])
    assert pair.p == pytest.approx(14 / 64)
    assert pair.difference == pytest.approx(-4 / 6)


def test_questions_missing_a_condition_are_left_out_and_equal_ones_tell_nothing() -> None:
    values = rows(("11", 3), ("00", 2))
    values[0, 1] = np.nan
    result = cochran_q(values)
    assert (result.n, result.n_varying, result.p, result.method) == (4, 0, 1.0, "no test")
    assert math.isnan(cochran_q(np.full((2, 3), np.nan)).p)
    with pytest.raises(MetricsError, match="2 or more conditions"):
        cochran_q(np.zeros((3, 1)))


def test_the_test_holds_its_level_where_nothing_differs() -> None:
    rng = np.random.default_rng(7)
    trials = [cochran_q((rng.random((40, 5)) < rng.random((40, 1))).astype(float)).p for _ in range(300)]
    assert np.mean(np.array(trials) < 0.05) == pytest.approx(0.05, abs=0.035)


def test_middle_gaps_of_the_published_curves() -> None:
    expected = json.loads(
        (REPOSITORY / "tests" / "fixtures" / "lost_in_the_middle" / "expected.json").read_text("utf-8")
    )
    gaps = expected["middle_gap (mean of the two ends - lowest inner)"]
    published = published_positions()
    assert {curve.name: middle_gap(curve.quality) for curve in published.curves} == pytest.approx(gaps)
    for curve in published.curves:
        printed = expected["published_EXPERIMENTS_md"]
        assert list(curve.quality) == printed["20 documents, gold at 0/4/9/14/19"][curve.name]
        assert curve.closed_book == printed["closed book"][curve.name]
        assert curve.gold_only == printed["oracle"][curve.name]
        fit = quadratic_fit(published.ranks, curve.quality)
        assert fit is not None
        assert fit.square > 0, "each published curve is a valley"


@pytest.mark.parametrize(
    ("documents", "places", "ranks"),
    [(10, 5, (1, 3, 6, 8, 10)), (20, 5, (1, 6, 11, 15, 20)), (3, 5, (1, 2, 3)), (5, 3, (1, 3, 5))],
)
def test_places_are_spread_evenly(documents: int, places: int, ranks: tuple[int, ...]) -> None:
    assert positions_of(documents, places) == ranks


def test_a_parabola_is_found_again() -> None:
    fit = quadratic_fit((1, 2, 4, 5), [0.9 - 0.3 * x + 0.05 * x * x for x in (1, 2, 4, 5)])
    assert fit is not None
    assert (fit.constant, fit.linear, fit.square) == pytest.approx((0.9, -0.3, 0.05))
    assert fit.vertex == pytest.approx(3)
    assert fit.inside
    assert quadratic_fit((1, 2), (0.1, 0.2)) is None


@pytest.mark.parametrize(
    ("patterns", "verdict"),
    [
        ((("11111", 20), ("10001", 20)), "middle"),  # both ends above every inner place
        ((("11111", 20), ("10000", 20)), "falls"),
        ((("11111", 20), ("00001", 20)), "rises"),
        ((("11111", 20), ("10011", 10)), "middle"),  # places 2 and 3, and not place 4
        ((("11111", 20), ("11001", 2)), "cannot tell"),
        ((("11111", 20), ("00000", 9)), "cannot tell"),
    ],
)
def test_verdicts_are_what_a_person_would_say(patterns: tuple[tuple[str, int], ...], verdict: str) -> None:
    assert position_effect((1, 3, 6, 8, 10), rows(*patterns)).verdict == verdict


def test_the_effect_of_the_place_on_a_table_worked_by_hand() -> None:
    effect = position_effect((1, 2, 3), rows(("111", 10), ("101", 30)))
    assert [mean.mean for mean in effect.means] == [1.0, 0.25, 1.0]
    assert effect.gap == pytest.approx(0.75)
    assert effect.contrast.difference == pytest.approx(-0.75)
    assert effect.test.statistic == pytest.approx(60.0)  # 30 rows: T = (30, 0, 30)
    assert effect.ends.difference == 0
    assert [pair.adjusted_p for pair in effect.pairs] == pytest.approx([2 * 2 * 0.5**30] * 2)
    assert position_effect((1, 2, 3), np.full((4, 3), np.nan)).verdict == "not measured"


def test_noise_is_told_from_the_level_on_that_is_worse() -> None:
    falls = noise_effect((0.0, 0.4, 0.8), rows(("111", 10), ("110", 20)))
    assert (falls.verdict, falls.from_level) == ("falls", 0.8)
    assert [pair.second for pair in falls.pairs] == [1, 2]
    even = noise_effect((0.0, 0.8), rows(("11", 10), ("10", 2), ("01", 2)))
    assert even.verdict == "cannot tell"
    assert math.isnan(even.from_level)
    with pytest.raises(MetricsError, match="2 or more levels"):
        noise_effect((0.0,), np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("altered", "right", "refused", "outcome"),
    [
        (True, False, False, "context"),
        (False, True, False, "own knowledge"),
        (True, True, True, "both"),
        (False, False, True, "refused"),
        (False, False, False, "neither"),
        (True, False, True, "context"),  # it declines, and goes on to give the altered answer
    ],
)
def test_what_an_answer_follows(altered: bool, right: bool, refused: bool, outcome: str) -> None:
    assert outcome_of(altered, right, refused) == outcome


def test_shares_of_outcomes_have_their_n() -> None:
    shares = shares_of(["context", "context", "refused", "neither"])
    assert {name: share.mean for name, share in shares.items()} == {
        "context": 0.5,
        "own knowledge": 0.0,
        "both": 0.0,
        "refused": 0.25,
        "neither": 0.25,
    }
    assert {share.n_scored for share in shares.values()} == {4}
