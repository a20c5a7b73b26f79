from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, MetricsError
from ragtriage.metrics.statistics.agreement import (
    Confusion,
    Level,
    agreement,
    binary_agreement,
    bootstrap_interval,
    confusion,
    krippendorff_alpha,
    rate_intervals,
    spearman,
)
from ragtriage.metrics.statistics.intervals import interval

NAN = math.nan
WORKSHEET = (
    np.array(  # Krippendorff 2011, "Computing Krippendorff's alpha-reliability": 4 observers, 12 units
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
            [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
        ]
    ).T
)
levels = st.sampled_from(get_args(Level))
pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30)
ranked = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)
tables = st.lists(st.lists(st.sampled_from([NAN, 0.0, 1.0, 2.5, 4.0]), min_size=3, max_size=3), max_size=12)


def _verdicts(counts: Confusion) -> tuple[BoolArray, BoolArray]:
    """Verdicts of judge and people that give these counts."""
    judge = np.repeat([True, True, False, False], [counts.tp, counts.fp, counts.fn, counts.tn])
    human = np.repeat([True, False, True, False], [counts.tp, counts.fp, counts.fn, counts.tn])
    return judge, human


def _sides(rated: list[tuple[bool, bool]]) -> tuple[BoolArray, BoolArray]:
    both = np.array(rated, dtype=np.bool_)
    return both[:, 0], both[:, 1]


def _table(rows: list[list[float]]) -> FloatArray:
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def _kappa(judge: BoolArray, human: BoolArray) -> float:
    return confusion(judge, human).kappa


def _alpha_by_definition(ratings: FloatArray, level: Level) -> float:
    """Alpha through the coincidence matrix, as the paper defines it."""
    values = np.unique(ratings[np.isfinite(ratings)])
    matrix = np.zeros((len(values), len(values)))
    for row in ratings:
        given_ratings = np.searchsorted(values, row[np.isfinite(row)])
        for i, first in enumerate(given_ratings):
            for j, second in enumerate(given_ratings):
                if i != j:
                    matrix[first, second] += 1 / (len(given_ratings) - 1)
    totals = matrix.sum(axis=0)
    gap = np.zeros_like(matrix)
    for c in range(len(values)):
        for k in range(len(values)):
            low, high = min(c, k), max(c, k)
            ranks = totals[low : high + 1].sum() - (totals[low] + totals[high]) / 2
            distance = {"nominal": float(c != k), "ordinal": ranks, "interval": values[c] - values[k]}
            gap[c, k] = distance[level] ** 2
    expected = float((np.outer(totals, totals) * gap).sum())
    return 1 - (totals.sum() - 1) * float((matrix * gap).sum()) / expected if expected else NAN


def test_verdicts_are_counted_with_what_people_pass_as_positive() -> None:
    judge = np.array([True, True, True, False, False])
    human = np.array([True, True, False, True, False])
    found = confusion(judge, human)
    assert found == Confusion(tp=2, fp=1, fn=1, tn=1)
    assert found.n == 5
    assert found.true_positive_rate == pytest.approx(2 / 3)
    assert found.true_negative_rate == 0.5
    assert found.accuracy == 0.6


def test_the_kappa_of_fifty_grant_proposals_is_the_textbook_one() -> None:
    """Two readers of 50 proposals: both yes 20, both no 15, apart 5 and 10; by chance 0.5, observed 0.7."""
    counts = Confusion(tp=20, fp=5, fn=10, tn=15)
    judge, human = _verdicts(counts)
    assert counts.kappa == pytest.approx(0.4)
    assert _kappa(judge, human) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("both", "apart", "kappa"), [((45, 15), (25, 15), 0.1304), ((25, 35), (35, 5), 0.2593)]
)
def test_the_same_accuracy_may_have_different_kappas(
    both: tuple[int, int], apart: tuple[int, int], kappa: float
) -> None:
    """60 of 100 agreed both times, from the Wikipedia article on Cohen's kappa."""
    counts = Confusion(tp=both[0], fp=apart[1], fn=apart[0], tn=both[1])
    assert counts.accuracy == 0.6
    assert counts.kappa == pytest.approx(kappa, abs=5e-5)


def test_what_nobody_was_asked_is_not_zero() -> None:
    assert math.isnan(Confusion(0, 0, 0, 0).accuracy)
    assert math.isnan(Confusion(0, 2, 0, 2).true_positive_rate)
    assert math.isnan(Confusion(2, 0, 2, 0).true_negative_rate)
    assert math.isnan(Confusion(4, 0, 0, 0).kappa)
    assert Confusion(0, 4, 0, 0).kappa == 0.0  # the judge passes everything, people nothing


def test_unknown_words_and_differing_lengths_are_refused() -> None:
    codes, values = np.arange(3), np.arange(3.0)
    with pytest.raises(MetricsError, match="known: nominal, ordinal, interval"):
        krippendorff_alpha(WORKSHEET, "ratio")  # type: ignore[arg-type]  # what an untyped caller may pass
    with pytest.raises(MetricsError, match="differ in length: 3 and 2"):
        spearman(values, values[:2])
    with pytest.raises(MetricsError, match="differ in length: 3 and 2"):
        confusion(codes > 0, codes[:2] > 0)
    with pytest.raises(MetricsError, match="differ in length: 3 and 2"):
        bootstrap_interval(spearman, [values, values], codes[:2])


@settings(max_examples=80)
@given(pairs, st.integers(0, 2**32 - 1))
def test_kappa_asks_neither_for_an_order_of_the_raters_nor_of_the_pairs(
    rated: list[tuple[bool, bool]], seed: int
) -> None:
    a, b = _sides(rated)
    order = np.random.default_rng(seed).permutation(len(a))
    kappa = _kappa(a, b)
    assert _kappa(b, a) == pytest.approx(kappa, nan_ok=True)
    assert _kappa(a[order], b[order]) == pytest.approx(kappa, nan_ok=True)
    assert math.isnan(kappa) or kappa <= 1 + 1e-12


@settings(max_examples=60)
@given(st.lists(st.booleans(), min_size=2, max_size=30).filter(lambda given: len(set(given)) > 1))
def test_raters_who_agree_throughout_have_kappa_one(given: list[bool]) -> None:
    assert _kappa(np.array(given), np.array(given)) == 1.0


@settings(max_examples=60)
@given(pairs)
def test_kappa_is_one_less_the_observed_over_the_expected_disagreement(
    rated: list[tuple[bool, bool]],
) -> None:
    a, b = _sides(rated)
    expected = np.mean(a[:, None] != b[None, :])
    defined = 1 - np.mean(a != b) / expected if expected else NAN
    assert _kappa(a, b) == pytest.approx(defined, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(("level", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_the_worksheet_is_the_published_one(level: Level, expected: float) -> None:
    assert krippendorff_alpha(WORKSHEET, level) == pytest.approx(expected, abs=5e-4)


def test_alpha_of_two_raters_by_hand() -> None:
    """Ten units, the first example of the paper: four differ, with 14 zeros and 6 ones."""
    ratings = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], dtype=np.float64).T
    assert krippendorff_alpha(ratings, "nominal") == pytest.approx(1 - 19 * 4 / (14 * 6))


@pytest.mark.parametrize("level", get_args(Level))
def test_alpha_is_undefined_without_pairs_or_variation(level: Level) -> None:
    alone = np.array([[1.0, NAN], [NAN, 2.0]])
    assert math.isnan(krippendorff_alpha(alone, level))
    assert math.isnan(krippendorff_alpha(np.full((5, 2), 0.1), level))
    assert math.isnan(krippendorff_alpha(np.zeros((0, 3)), level))


@settings(max_examples=100)
@given(tables, levels)
def test_alpha_is_that_of_the_coincidence_matrix(rows: list[list[float]], level: Level) -> None:
    ratings = _table(rows)
    paired = ratings[np.isfinite(ratings).sum(axis=1) >= 2]
    expected = _alpha_by_definition(paired, level)
    assert krippendorff_alpha(ratings, level) == pytest.approx(expected, abs=1e-9, nan_ok=True)


@settings(max_examples=60)
@given(tables, levels, st.integers(0, 2**32 - 1))
def test_alpha_asks_neither_for_an_order_of_units_nor_of_annotators(
    rows: list[list[float]], level: Level, seed: int
) -> None:
    ratings, rng = _table(rows), np.random.default_rng(seed)
    shuffled = ratings[rng.permutation(len(ratings))][:, rng.permutation(3)]
    expected = krippendorff_alpha(ratings, level)
    assert krippendorff_alpha(shuffled, level) == pytest.approx(expected, abs=1e-9, nan_ok=True)


@settings(max_examples=60)
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=20).filter(lambda row: len(set(row)) > 1), levels)
def test_annotators_who_agree_throughout_have_alpha_one(values: list[float], level: Level) -> None:
    ratings = np.repeat(np.array(values)[:, None], 4, axis=1)
    ratings[::2, 1] = NAN
    assert krippendorff_alpha(ratings, level) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("unit", [5e-324, 1e-202, 1e300])
def test_alpha_does_not_depend_on_the_unit(unit: float) -> None:
    ratings = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 1.0]])
    expected = krippendorff_alpha(ratings, "interval")
    assert krippendorff_alpha(ratings * unit, "interval") == pytest.approx(expected)


def test_spearman_with_ties_by_hand() -> None:
    """Ranks 1, 2.5, 2.5, 4 and 1, 2, 3.5, 3.5: 3.75 / 4.5."""
    assert spearman(np.array([10.0, 20, 20, 30]), np.array([1.0, 2, 3, 3])) == pytest.approx(3.75 / 4.5)


def test_means_that_differ_by_floating_point_noise_are_tied() -> None:
    means = np.array([0.1 + 0.2, 0.3, 0.1, 1.0])
    assert means[0] != means[1]
    assert spearman(means, np.array([2.0, 2.0, 1.0, 3.0])) == pytest.approx(1.0)


def test_spearman_of_ten_people_is_the_textbook_one() -> None:
    """Intelligence and hours of television, from the Wikipedia article: 1 - 6 x 194 / 990."""
    a = np.array([106.0, 100, 86, 101, 99, 103, 97, 113, 112, 110])
    b = np.array([7.0, 27, 2, 50, 28, 29, 20, 12, 6, 17])
    assert spearman(a, b) == pytest.approx(-29 / 165)


def test_spearman_leaves_out_half_pairs_and_needs_variation() -> None:
    a, b = np.array([1.0, 2, 3, NAN]), np.array([3.0, 2, 1, 0])
    assert spearman(a, b) == -1.0
    assert math.isnan(spearman(np.ones(4), b))
    assert math.isnan(spearman(a[:0], b[:0]))
    assert math.isnan(spearman(a[:1], b[:1]))


@settings(max_examples=60)
@given(ranked, st.integers(0, 2**32 - 1))
def test_spearman_sees_only_ranks_and_no_order_of_the_pairs(rated: list[tuple[int, int]], seed: int) -> None:
    a, b = np.array(rated, dtype=np.float64).T
    order = np.random.default_rng(seed).permutation(len(a))
    expected = spearman(a, b)
    assert spearman(b, a) == pytest.approx(expected, nan_ok=True)
    assert spearman(np.exp(a[order]), b[order] * 3 - 7) == pytest.approx(expected, nan_ok=True)
    assert spearman(-a, b) == pytest.approx(-expected, nan_ok=True)
    assert math.isnan(expected) or -1 <= expected <= 1


def test_rates_have_wilson_intervals_each_over_its_own_verdicts() -> None:
    judge, human = _verdicts(Confusion(tp=15, fp=8, fn=5, tn=32))
    positive, negative = rate_intervals(judge, human)
    assert (positive.method, positive.n_scored, negative.n_scored) == ("wilson", 20, 40)
    assert (positive.mean, positive.low, positive.high) == pytest.approx((0.75, 0.5313, 0.8881), abs=1e-4)
    assert (negative.mean, negative.low, negative.high) == pytest.approx((0.8, 0.6524, 0.8950), abs=1e-4)


def test_rates_over_conversations_are_no_binomials() -> None:
    judge, human = _verdicts(Confusion(tp=150, fp=80, fn=50, tn=320))
    clusters = np.random.default_rng(0).integers(0, 60, 600)
    assert rate_intervals(judge, human, clusters)[0].method == "dirichlet"


def test_a_bootstrap_of_a_mean_is_the_known_one() -> None:
    values = np.random.default_rng(4).normal(size=400)
    low, high = bootstrap_interval(np.mean, [values], np.arange(400), draws=2000)
    reach = 1.96 * values.std() / 20
    assert (low, high) == pytest.approx((values.mean() - reach, values.mean() + reach), abs=0.01)


def test_a_bootstrap_draws_whole_clusters() -> None:
    rng = np.random.default_rng(5)
    conversation = np.repeat(np.arange(40), 10)
    values = np.repeat(rng.normal(size=40), 10)
    grouped = bootstrap_interval(np.mean, [values], conversation)
    expected = interval(values, conversation, 400, bounds=(-np.inf, np.inf))
    assert grouped == pytest.approx((expected.low, expected.high), abs=0.05)


def test_a_bootstrap_is_repeatable_and_blind_to_the_order_of_rows() -> None:
    rng = np.random.default_rng(6)
    a, b, clusters = rng.random(90), rng.random(90), rng.integers(0, 25, 90)
    order = rng.permutation(90)
    first = bootstrap_interval(spearman, [a, b], clusters, draws=200)
    assert bootstrap_interval(spearman, [a, b], clusters, draws=200) == first
    assert bootstrap_interval(spearman, [a[order], b[order]], clusters[order], draws=200) == pytest.approx(
        first
    )
    assert bootstrap_interval(spearman, [a, b], clusters, seed=1, draws=200) != first


def test_no_interval_from_few_clusters_or_from_draws_without_value() -> None:
    values = np.arange(30.0)
    assert all(math.isnan(end) for end in bootstrap_interval(np.mean, [values], np.arange(30) % 9))
    assert all(math.isnan(end) for end in bootstrap_interval(np.mean, [values[:0]], np.arange(0)))
    assert all(math.isnan(end) for end in bootstrap_interval(spearman, [values * 0, values], np.arange(30)))


def test_a_bootstrap_leaves_out_draws_without_value() -> None:
    """One rare category: draws without it have no kappa."""
    rare = np.array([True] + [False] * 11)
    assert bootstrap_interval(_kappa, [rare, rare], np.arange(12)) == (1.0, 1.0)


def test_a_table_of_ratings_can_be_bootstrapped() -> None:
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 4, 80).astype(np.float64)
    ratings = np.stack(
        [np.where(rng.random(80) < 0.8, truth, rng.integers(0, 4, 80)) for _ in range(3)], axis=1
    )
    low, high = bootstrap_interval(
        lambda table: krippendorff_alpha(table, "nominal"), [ratings], np.arange(80), draws=300
    )
    assert low < krippendorff_alpha(ratings, "nominal") < high
    assert 0.05 < high - low < 0.3


def test_an_interval_of_kappa_covers_the_truth_about_as_often_as_it_says() -> None:
    """Half the verdicts pass, and the judge errs in 15 %: kappa is 1 - 2 x 0.15."""
    rng, covered = np.random.default_rng(9), 0
    for _ in range(300):
        human = rng.random(120) < 0.5
        verdicts = human ^ (rng.random(120) < 0.15), human
        low, high = bootstrap_interval(_kappa, verdicts, np.arange(120), draws=300)
        covered += low <= 0.7 <= high
    assert 0.90 <= covered / 300 <= 0.985


def test_the_rows_of_binary_agreement() -> None:
    judge, human = _verdicts(Confusion(tp=15, fp=8, fn=5, tn=32))
    rows = binary_agreement(judge, human, np.arange(60))
    assert [row.name for row in rows] == ["true_positive_rate", "true_negative_rate", "kappa", "accuracy"]
    assert [row.n for row in rows] == [20, 40, 60, 60]
    assert [row.method for row in rows] == ["wilson", "wilson", "bootstrap", "wilson"]
    assert [row.value for row in rows] == pytest.approx(
        [getattr(confusion(judge, human), row.name) for row in rows]
    )
    assert all(row.low < row.value < row.high for row in rows)


def test_full_agreement_is_not_certain() -> None:
    human = np.arange(40) % 2 == 0
    _, negative, kappa, accuracy = binary_agreement(human, human, np.arange(40))
    assert (kappa.value, kappa.method) == (1.0, "no variance")
    assert math.isnan(kappa.low)
    assert (negative.method, accuracy.method) == ("exact", "exact")
    assert accuracy.low == pytest.approx(0.025 ** (1 / 40))


def test_agreement_of_nobody_is_undefined() -> None:
    none = np.zeros(0, dtype=np.bool_)
    for row in binary_agreement(none, none, np.arange(0)):
        assert (row.n, row.method) == (0, "none")
        assert math.isnan(row.value)
        assert math.isnan(row.low)


def test_agreement_of_few_pairs_has_no_interval_of_kappa() -> None:
    judge, human = _verdicts(Confusion(tp=3, fp=1, fn=1, tn=3))
    positive, _, kappa, _ = binary_agreement(judge, human, np.arange(8))
    assert (kappa.value, kappa.method) == (0.5, "none")
    assert math.isnan(kappa.high)
    assert positive.method == "exact"


def test_agreement_of_values_is_spearman_and_with_thresholds_that_of_verdicts() -> None:
    rng = np.random.default_rng(10)
    human = rng.random(200)
    judge = human + rng.normal(0, 0.2, 200)
    judge[0], human[1] = NAN, NAN
    (ranked,) = agreement(judge, human, np.arange(200))
    assert (ranked.name, ranked.n, ranked.method) == ("spearman", 198, "bootstrap")
    assert ranked.value == pytest.approx(spearman(judge, human))
    assert (ranked.low, ranked.high) == bootstrap_interval(spearman, [judge[2:], human[2:]], np.arange(198))
    rows = agreement(judge, human, np.arange(200), thresholds=(0.6, 0.5))
    assert rows[0] == ranked
    assert rows[1:] == binary_agreement(judge[2:] >= 0.6, human[2:] >= 0.5, np.arange(198))
