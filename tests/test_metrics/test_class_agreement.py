"""Correlations, weighted kappa and the annotator ceiling: hand-worked and published tables, and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.metrics.schema.scores import FloatArray, IntArray, MetricsError
from ragtriage.metrics.statistics.agreement import binary_agreement, confusion, spearman
from ragtriage.metrics.statistics.class_agreement import (
    annotator_ceiling,
    class_agreement,
    classes_of,
    cohen_kappa,
    contingency,
    pearson,
    preferences_of,
    value_agreement,
)

# Husbands' and wives' ratings in the R package vcd (SexualFun); its Kappa() prints 0.1293 and 0.2374.
PUBLISHED = np.array([[7, 7, 2, 3], [2, 8, 3, 7], [1, 5, 4, 9], [2, 8, 9, 14]])


def _pairs(table: np.ndarray) -> tuple[IntArray, IntArray]:
    rows, columns = np.indices(table.shape).reshape(2, -1)
    return np.repeat(rows, table.ravel()), np.repeat(columns, table.ravel())


def test_kappa_of_a_published_table() -> None:
    a, b = _pairs(PUBLISHED)
    assert contingency(a, b, 4).tolist() == PUBLISHED.tolist()
    assert cohen_kappa(a, b, 4) == pytest.approx(0.1293, abs=5e-5)
    assert cohen_kappa(a, b, 4, "linear") == pytest.approx(0.2374, abs=5e-5)


def test_quadratic_kappa_by_hand() -> None:
    """Pairs 00 00 11 12 21 22, two of each class on both sides; two pairs lie one class apart."""
    a, b = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 2, 1, 2])
    by_chance = (4 * 1 + 4 * 4 + 4 * 1 + 4 * 1 + 4 * 4 + 4 * 1) / 6
    assert cohen_kappa(a, b, 3, "quadratic") == pytest.approx(1 - 2 / by_chance)
    assert cohen_kappa(a, b, 3, "linear") == pytest.approx(1 - 2 / ((4 + 8 + 4 + 4 + 8 + 4) / 6))
    assert cohen_kappa(a, b, 3) == pytest.approx(1 - 2 / (24 / 6))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_with_two_classes_all_weights_are_the_kappa_of_a_confusion_matrix(
    pairs: list[tuple[bool, bool]],
) -> None:
    a, b = (np.array(side, dtype=np.bool_) for side in zip(*pairs, strict=True))
    codes = a.astype(np.int64), b.astype(np.int64)
    expected = confusion(a, b).kappa
    for weights in ("nominal", "linear", "quadratic"):
        assert cohen_kappa(*codes, 2, weights) == pytest.approx(expected, nan_ok=True)


def test_correlations_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.integers(0, 5, 40).astype(float), rng.normal(size=40)
        b[:20] += a[:20]
        assert pearson(a, b) == pytest.approx(stats.pearsonr(a, b)[0], abs=1e-12)
        assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b)[0], abs=1e-12)


def test_pearson_by_hand_and_where_it_is_undefined() -> None:
    assert pearson(np.array([1.0, 2.0, 3.0, np.nan]), np.array([1.0, 3.0, 2.0, 9.0])) == pytest.approx(0.5)
    assert np.isnan(pearson(np.array([0.1, 0.1, 0.1]), np.array([1.0, 2.0, 3.0])))
    assert np.isnan(pearson(np.zeros(0), np.zeros(0)))


def test_classes_are_equal_parts_whose_borders_belong_above() -> None:
    assert classes_of(np.array([0, 0.33, 1 / 3, 0.5, 2 / 3, 1.0]), 3).tolist() == [0, 0, 1, 1, 2, 2]
    assert classes_of(np.array([-0.1, 0.49, 0.5, 1.2]), 2).tolist() == [0, 0, 1, 1]
    assert preferences_of(np.array([-0.2, 1e-12, 0.0, 2.0])).tolist() == [0, 1, 1, 2]


def test_statistics_carry_their_intervals_and_counts() -> None:
    rng = np.random.default_rng(0)
    human = rng.random(200)
    metric = np.clip(human + rng.normal(scale=0.2, size=200), 0, 1)
    clusters = np.arange(200)
    values = {one.name: one for one in value_agreement(metric, human, clusters)}
    assert list(values) == ["pearson", "spearman"]
    classes = class_agreement(classes_of(metric, 3), classes_of(human, 3), 3, clusters)
    named = {one.name: one for one in classes}
    assert list(named) == ["accuracy", "kappa", "kappa_linear", "kappa_quadratic", "alpha"]
    for one in (*values.values(), *classes):
        assert one.low < one.value < one.high
        assert one.n == 200
        assert one.method == ("wilson" if one.name == "accuracy" else "bootstrap")
    assert named["kappa"].value < named["kappa_linear"].value < named["kappa_quadratic"].value
    two = class_agreement(classes_of(metric, 2), classes_of(human, 2), 2, clusters)
    assert [one.name for one in two] == ["accuracy", "kappa", "alpha"]
    with pytest.raises(MetricsError, match="codes of 2 classes"):
        class_agreement(np.array([0, 2]), np.array([0, 1]), 2, np.arange(2))


def test_a_metric_and_one_annotator_face_the_same_others() -> None:
    """Three annotators; by hand, each rating against the mean of the two others."""
    ratings = np.array([[1.0, 2.0, 4.0], [4.0, 4.0, 3.0], [2.0, np.nan, 1.0], [np.nan, np.nan, 4.0]])
    metric = np.array([0.2, 0.9, 0.1, 1.0])
    single: FloatArray = np.array([1.0, 2.0, 4.0, 4.0, 4.0, 3.0, 2.0, 1.0])
    others = np.array([3.0, 2.5, 1.5, 3.5, 3.5, 4.0, 1.0, 2.0])
    own = np.array([0.2, 0.2, 0.2, 0.9, 0.9, 0.9, 0.1, 0.1])
    found = annotator_ceiling(ratings, metric, np.arange(4), pearson)
    assert (found.n, found.ratings) == (3, 8)
    assert found.annotator == pytest.approx(pearson(single, others))
    assert found.metric == pytest.approx(pearson(own, others))
    assert found.difference == pytest.approx(found.metric - found.annotator)
    assert np.isnan(found.low)  # fewer than ten clusters


@pytest.mark.parametrize("size", [1, 2])
def test_accuracy_has_one_interval_wherever_it_stands(size: int) -> None:
    rng = np.random.default_rng(3)
    judge, human = rng.integers(0, 2, 40), rng.integers(0, 2, 40)
    clusters = np.arange(40) // size
    binary = {each.name: each for each in binary_agreement(judge == 1, human == 1, clusters)}
    (rate,) = [each for each in class_agreement(judge, human, 2, clusters) if each.name == "accuracy"]
    assert rate == binary["accuracy"]
    assert rate.value == np.mean(judge == human)
