from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.statistics.paired import RunFacts, comparability, holm, mcnemar, paired, verdict

differences = st.lists(st.integers(-4, 4).map(lambda value: value / 4), min_size=1, max_size=9)


def test_three_improvements_of_three_are_worked_by_hand() -> None:
    found = paired(np.zeros(3), np.array([0.1, 0.2, 0.3]), np.arange(3))
    assert found.difference == pytest.approx(0.2)
    assert found.p == pytest.approx(2 / 8)  # all signs equal: two of eight patterns
    assert (found.better, found.worse, found.same) == (3, 0, 0)
    assert found.method == "dirichlet interval, exact sign-flip test"
    assert found.too_few


@settings(max_examples=60)
@given(differences)
def test_the_exact_sign_flip_test_is_the_brute_force_one(values: list[float]) -> None:
    total = abs(sum(values))
    patterns = list(itertools.product((1, -1), repeat=len(values)))
    sums = (abs(sum(s * v for s, v in zip(signs, values, strict=True))) for signs in patterns)
    expected = sum(one >= total - 1e-9 for one in sums) / len(patterns)
    found = paired(np.zeros(len(values)), np.array(values), np.arange(len(values)))
    assert found.p == pytest.approx(expected)


def test_flips_go_by_cluster() -> None:
    other = np.array([0.5] * 12)
    by_question = paired(np.zeros(12), other, np.arange(12))
    by_conversation = paired(np.zeros(12), other, np.repeat(np.arange(3), 4))
    assert by_question.p == pytest.approx(2 / 2**12)
    assert by_conversation.p == pytest.approx(2 / 2**3)
    assert by_conversation.n_clusters == 3


def test_drawn_flips_agree_with_the_normal_limit() -> None:
    rng = np.random.default_rng(2)
    base = rng.random(1500)
    other = base + rng.normal(0.01, 0.2, 1500)
    drawn = paired(base, other, np.arange(1500), bounds=(-1, 2))
    z = abs((other - base).sum()) / math.sqrt(((other - base) ** 2).sum())
    assert "9,999 draws" in drawn.method
    assert drawn.p == pytest.approx(math.erfc(z / math.sqrt(2)), abs=0.02)


def test_many_clusters_use_the_normal_limit() -> None:
    rng = np.random.default_rng(4)
    difference = rng.normal(0.02, 0.2, 2500)
    found = paired(np.zeros(2500), difference, np.arange(2500), bounds=(-2, 2))
    assert found.method == "normal interval, sign-flip test, normal limit"
    assert (found.low > 0) == (found.p < 0.05)


def test_a_drawn_p_is_never_zero() -> None:
    found = paired(np.zeros(100), np.linspace(0.4, 0.6, 100), np.arange(100))
    assert found.p == pytest.approx(1 / 10_000)


def test_nothing_changed_is_unchanged_and_not_certain() -> None:
    found = paired(np.full(50, 0.4), np.full(50, 0.4), np.arange(50))
    assert found.p == 1.0
    assert found.low < 0.0 < found.high
    assert verdict(found, 1.0, higher_is_better=True) == "unchanged"


def test_unscored_sides_are_left_out() -> None:
    found = paired(np.array([0.1, np.nan, 0.3]), np.array([0.2, 0.9, np.nan]), np.arange(3))
    assert found.n_pairs == 1
    nothing = paired(np.array([np.nan]), np.array([0.5]), np.arange(1))
    assert math.isnan(nothing.p)
    assert verdict(nothing, nothing.p, higher_is_better=True) == "cannot tell"


def test_a_fall_is_better_where_lower_is_better() -> None:
    base, other = np.full(30, 0.5), np.linspace(0.2, 0.4, 30)
    found = paired(base, other, np.arange(30), higher_is_better=False)
    assert (found.better, found.worse) == (30, 0)
    assert verdict(found, found.p, higher_is_better=False) == "better"
    assert verdict(found, found.p, higher_is_better=True) == "worse"
    assert verdict(found, found.p, higher_is_better=None) == "no direction"
    assert verdict(found, 0.2, higher_is_better=True) == "cannot tell"


@settings(max_examples=25)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=25))
def test_swapping_the_sides_turns_the_difference_round(pairs: list[tuple[float, float]]) -> None:
    base, other = (np.array(side) for side in zip(*pairs, strict=True))
    clusters = np.arange(len(pairs))
    there, back = paired(base, other, clusters), paired(other, base, clusters)
    assert there.difference == pytest.approx(-back.difference)
    assert (there.better, there.worse) == (back.worse, back.better)
    assert there.low <= there.difference <= there.high


def test_mcnemar_is_the_exact_binomial_one() -> None:
    before = np.array([1.0] * 8 + [0.0] * 2 + [1.0] * 5 + [np.nan])
    after = np.array([0.0] * 8 + [1.0] * 2 + [1.0] * 5 + [1.0])
    assert mcnemar(before, after) == pytest.approx(2 * (1 + 10 + 45) / 1024)
    assert mcnemar(after, before) == pytest.approx(mcnemar(before, after))
    assert mcnemar(np.ones(4), np.ones(4)) == 1.0


def test_mcnemar_refuses_rates() -> None:
    with pytest.raises(MetricsError, match="use paired for rates"):
        mcnemar(np.array([0.5]), np.array([1.0]))


def test_holm_is_worked_by_hand() -> None:
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, np.nan]), [0.03, 0.06, 0.06, np.nan])
    assert len(holm([])) == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_keeps_the_order_and_never_lowers_a_p(values: list[float]) -> None:
    adjusted = holm(values)
    assert np.all(adjusted >= np.array(values))
    assert np.all(adjusted <= 1)
    assert np.all(np.diff(adjusted[np.argsort(values, kind="stable")]) >= 0)


def test_sides_on_the_same_ground_raise_no_warning() -> None:
    facts = RunFacts("abc", 10, "faq", "2", "judge-1")
    assert comparability(facts, facts) == []


def test_every_difference_of_ground_is_named() -> None:
    warnings = comparability(RunFacts("abc", 10, "faq", "1", "judge-1"), RunFacts("xyz", 12, "faq", "2"))
    assert len(warnings) == 3
    assert "10 in the baseline, 12 in the other run" in warnings[0]
    assert "dataset version differs: 1 in the baseline, 2" in warnings[1]
    assert "judge differs: judge-1 in the baseline, not recorded" in warnings[2]
