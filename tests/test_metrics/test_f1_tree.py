"""The F1 tree by hand and by its laws: no part promises more than the part above it, none more than 1."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.metrics.diagnosis.f1_tree import (
    F1_PARTS,
    F1Shares,
    F1Tree,
    consistent,
    f1_of,
    f1_tree,
    perfect_f1,
)
from ragtriage.metrics.schema.scores import FloatArray

PARTS = {part.key: part for part in F1_PARTS}
Counts = tuple[
    int, ...
]  # grounded, own (right), hallucinated, noisy 1, noisy 2 (wrong), used, omitted, missed, own


def shares_of(samples: list[Counts]) -> F1Shares:
    """Return the shares of samples given as counts of claims.

    A sample is (right and supported, right and unsupported, hallucinated, wrong by a relevant document, wrong
    by an irrelevant one; reference claims: retrieved and answered, retrieved and left out, neither, answered
    though not retrieved).
    """
    counts = np.array(samples, dtype=np.float64)
    answer, reference = counts[:, :5].sum(axis=1), counts[:, 5:].sum(axis=1)
    return F1Shares(
        precision=(counts[:, 0] + counts[:, 1]) / answer,
        recall=(counts[:, 5] + counts[:, 8]) / reference,
        hallucination=counts[:, 2] / answer,
        noise_relevant=counts[:, 3] / answer,
        self_knowledge=counts[:, 1] / answer,
        omission=counts[:, 6] / reference,
        context_recall=(counts[:, 5] + counts[:, 6]) / reference,
    )


def tree_of(shares: F1Shares) -> F1Tree:
    """Return the tree of samples that are questions of their own."""
    codes = np.arange(len(shares.precision))
    tree = f1_tree(shares, codes, codes)
    assert tree is not None
    return tree


# One answer: 10 claims, 4 right from the context, 1 right from memory, 2 hallucinated, 2 noise of relevant
# and 1 of irrelevant documents. The reference has 10 claims: 5 answered from the context, 2 left out, 2 not
# retrieved, 1 answered from memory. P = 5/10, R = 6/10.
ONE: Counts = (4, 1, 2, 2, 1, 5, 2, 2, 1)
BY_HAND = {
    "precision": (Fraction(1), Fraction(6, 10)),
    "recall": (Fraction(5, 10), Fraction(1)),
    "faithfulness": (Fraction(7, 10), Fraction(6, 10)),
    "hallucination": (Fraction(7, 10), Fraction(6, 10)),
    "self_knowledge": (Fraction(5, 10), Fraction(6, 10)),
    "noise_relevant": (Fraction(7, 10), Fraction(6, 10)),
    "noise_irrelevant": (Fraction(6, 10), Fraction(6, 10)),
    "context_recall": (Fraction(5, 10), Fraction(8, 10)),
    "utilization": (Fraction(5, 10), Fraction(8, 10)),
    "omission": (Fraction(5, 10), Fraction(8, 10)),
}
VALUES = {
    "precision": Fraction(5, 10),
    "recall": Fraction(6, 10),
    "faithfulness": Fraction(7, 10),
    "hallucination": Fraction(2, 10),
    "self_knowledge": Fraction(1, 10),
    "noise_relevant": Fraction(2, 10),
    "noise_irrelevant": Fraction(1, 10),
    "context_recall": Fraction(7, 10),
    "utilization": Fraction(5, 7),
    "omission": Fraction(2, 10),
}


@pytest.mark.parametrize("key", list(BY_HAND))
def test_a_perfect_part_by_hand(key: str) -> None:
    precision, recall = BY_HAND[key]
    shares = shares_of([ONE])
    expected = 2 * precision * recall / (precision + recall)
    assert perfect_f1(shares, PARTS[key])[0] == pytest.approx(float(expected))
    assert PARTS[key].value(shares)[0] == pytest.approx(float(VALUES[key]))


def test_every_part_is_on_the_table() -> None:
    assert set(BY_HAND) == set(VALUES) == set(PARTS)


def test_the_tree_is_a_mean_of_f1_and_no_f1_of_means() -> None:
    # F1 1 and 0: the mean is 0.5, while the F1 of P = R = 0.5 is also 0.5; so a third with P 1, R 1/3
    samples: list[Counts] = [
        (1, 0, 0, 0, 0, 1, 0, 0, 0),
        (0, 0, 1, 0, 0, 0, 0, 1, 0),
        (1, 0, 0, 0, 0, 1, 0, 2, 0),
    ]
    tree = tree_of(shares_of(samples))
    assert tree.f1.mean == pytest.approx((1 + 0 + 0.5) / 3)
    of_means = f1_of(np.array([2 / 3]), np.array([(1 + 0 + 1 / 3) / 3]))[0]
    assert tree.f1.mean != pytest.approx(of_means)
    gains = {branch.part.key: branch for branch in tree.branches}
    # the second gains nothing by precision alone, since its recall is 0, and nothing by recall alone
    assert gains["precision"].gain.mean == 0
    assert gains["recall"].gain.mean == pytest.approx(0.5 / 3)
    assert gains["context_recall"].bound == pytest.approx(2 / 3)
    assert gains["context_recall"].n_cases == 1
    assert [branch.part.key for branch in tree.branches[:2]] == ["recall", "context_recall"]


def test_repeats_are_averaged_before_questions() -> None:
    right: Counts = (1, 0, 0, 0, 0, 1, 0, 0, 0)
    wrong: Counts = (0, 0, 1, 0, 0, 0, 1, 0, 0)
    tree = f1_tree(shares_of([right, right, right, wrong]), np.array([0, 0, 0, 1]), np.array([0, 1]))
    assert tree is not None
    assert (tree.f1.mean, tree.f1.n_scored, tree.n_samples) == (0.5, 2, 4)


def test_without_support_the_tree_ends_at_precision_and_recall() -> None:
    unknown = np.full(1, np.nan)
    tree = tree_of(F1Shares(np.array([0.5]), np.array([1.0]), unknown, unknown, unknown, unknown, unknown))
    assert not tree.by_support
    assert [branch.part.key for branch in tree.branches] == ["precision", "recall"]


def test_a_refused_sample_is_left_out_and_counted() -> None:
    shares = shares_of([ONE, ONE])
    shares.precision[1] = np.nan
    tree = tree_of(shares)
    assert (tree.n_samples, tree.n_f1, tree.f1.n_scored) == (1, 1, 1)


def test_without_f1_there_is_no_tree() -> None:
    unknown = np.full(2, np.nan)
    shares = F1Shares(*[unknown] * 7)
    assert f1_tree(shares, np.arange(2), np.arange(2)) is None


def test_imported_shares_that_contradict_each_other_are_left_out() -> None:
    shares = shares_of([ONE, ONE])
    shares.hallucination[1] = 0.9  # with half of the claims right
    assert consistent(shares).tolist() == [True, False]
    assert tree_of(shares).n_samples == 1


def test_a_part_that_costs_no_f1_has_no_gain_by_definition() -> None:
    (branch,) = [branch for branch in tree_of(shares_of([ONE] * 4)).branches if not branch.part.costs_f1]
    assert (branch.part.key, branch.gain.low, branch.gain.high) == ("self_knowledge", 0.0, 0.0)


_CLAIMS = st.tuples(*[st.integers(0, 5)] * 9).filter(lambda counts: sum(counts[:5]) and sum(counts[5:]))


@given(st.lists(_CLAIMS, min_size=1, max_size=12))
def test_no_part_promises_more_than_its_parent_and_none_more_than_1(samples: list[Any]) -> None:
    shares = shares_of(samples)
    assert consistent(shares).all()
    tree = tree_of(shares)
    bounds = {branch.part.key: branch.bound for branch in tree.branches}
    for branch in tree.branches:
        assert tree.f1.mean - 1e-9 <= branch.bound <= bounds.get(branch.part.parent, 1.0) + 1e-9
        assert 0 <= branch.n_cases <= len(samples)


@given(st.lists(_CLAIMS, min_size=1, max_size=12))
def test_precision_is_the_sum_of_its_parts_and_their_gains_overlap(samples: list[Any]) -> None:
    shares = shares_of(samples)
    wrong = shares.hallucination + shares.noise_relevant + shares.noise_irrelevant
    assert shares.precision + wrong == pytest.approx(np.ones(len(samples)))
    now = f1_of(shares.precision, shares.recall)
    for parent, parts in {
        "precision": ("hallucination", "noise_relevant", "noise_irrelevant"),
        "recall": ("context_recall", "omission"),
    }.items():
        whole = perfect_f1(shares, PARTS[parent]) - now
        below: FloatArray = sum((perfect_f1(shares, PARTS[key]) - now for key in parts), np.zeros(len(now)))
        assert np.all(below >= whole - 1e-9)


@given(_CLAIMS, st.sampled_from([2, 3, 4]))
def test_a_wrong_claim_more_never_raises_f1_nor_lowers_what_its_part_gains(counts: Any, at: int) -> None:
    more = list(counts)
    more[at] += 1
    shares = shares_of([tuple(counts), tuple(more)])
    part = PARTS[("hallucination", "noise_relevant", "noise_irrelevant")[at - 2]]
    now, perfect = f1_of(shares.precision, shares.recall), perfect_f1(shares, part)
    assert now[1] <= now[0] + 1e-9
    assert perfect[1] - now[1] >= perfect[0] - now[0] - 1e-9


@given(_CLAIMS)
def test_a_sample_without_fault_gains_nothing(counts: Any) -> None:
    clean: Counts = (counts[0] + 1, counts[1], 0, 0, 0, counts[5] + 1, 0, 0, counts[8])
    tree = tree_of(shares_of([clean]))
    assert tree.f1.mean == 1.0
    assert [branch.gain.mean for branch in tree.branches] == [0.0] * len(F1_PARTS)
