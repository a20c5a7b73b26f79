"""A share of right answers by outcome and labels: reproducible, and its interval holds the share."""

from __future__ import annotations

import numpy as np
import pytest

from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.statistics.ppi import post_stratified


def test_each_outcome_counts_by_its_share_of_the_run() -> None:
    outcome = np.repeat(np.array([0, 1, 2], dtype=np.int8), [20, 20, 60])
    labelled = np.zeros(100, dtype=np.bool_)
    labelled[[*range(10), *range(20, 30), *range(40, 60)]] = True
    right = np.where(outcome == 2, 1.0, 0.0)
    found = post_stratified(outcome, labelled, right)
    by_hand = 0.2 * 0.5 / 11 + 0.2 * 0.5 / 11 + 0.6 * 20.5 / 21
    assert found.estimate == pytest.approx(by_hand, abs=0.005)
    assert found == post_stratified(outcome, labelled, right)
    assert found.n_labelled == 40


def test_an_outcome_without_labels_is_wide_open() -> None:
    outcome = np.repeat(np.array([1, 2], dtype=np.int8), 50)
    labelled = outcome == 2
    found = post_stratified(outcome, labelled, np.ones(100))
    assert found.low < 0.55
    assert found.high > 0.95


def test_the_interval_holds_the_share_of_the_run() -> None:
    random, held = np.random.default_rng(3), 0
    for draw in range(100):
        outcome = random.choice(3, 150, p=(0.3, 0.15, 0.55)).astype(np.int8)
        right = (random.random(150) < np.array((0.1, 0.55, 0.98))[outcome]).astype(np.float64)
        labelled = np.zeros(150, dtype=np.bool_)
        labelled[random.choice(150, 20, replace=False)] = True
        found = post_stratified(outcome, labelled, right, seed=draw)
        held += found.low <= right.mean() <= found.high
    assert held >= 93


def test_no_answer_has_no_share() -> None:
    nothing = np.zeros(0)
    with pytest.raises(MetricsError, match="at least one"):
        post_stratified(nothing.astype(np.int8), nothing.astype(np.bool_), nothing)
