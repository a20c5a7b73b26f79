"""Means and shares corrected by labels: over questions, and their parts by question."""

from __future__ import annotations

import numpy as np
import pytest

from ragtriage.metrics.statistics.ppi import FEWEST_LABELS, corrected_mean, corrected_share

BOUNDS = (0.0, 1.0)


def test_repeats_of_a_question_are_one_label() -> None:
    random = np.random.default_rng(1)
    question = np.repeat(np.arange(100), 3)
    predicted = random.uniform(0.5, 1.0, 300)
    drawn = np.where(question < 29, predicted - 0.2, np.nan)
    assert corrected_mean(predicted, drawn, question, np.arange(100), BOUNDS) is None
    drawn = np.where(question < FEWEST_LABELS, predicted - 0.2 + random.normal(0, 0.05, 300), np.nan)
    repeated = corrected_mean(predicted, drawn, question, np.arange(100), BOUNDS)
    assert repeated is not None
    assert repeated.n_labelled == FEWEST_LABELS
    means, labels = (values.reshape(100, 3).mean(axis=1) for values in (predicted, drawn))
    single = corrected_mean(means, labels, np.arange(100), np.arange(100), BOUNDS)
    assert single is not None
    assert repeated.mean == pytest.approx(single.mean)
    assert repeated.low == pytest.approx(single.low)


@pytest.mark.parametrize("labelled", [40, 100])
def test_the_values_by_question_have_the_estimate_as_their_mean(labelled: int) -> None:
    random = np.random.default_rng(2)
    truth = random.uniform(0.2, 0.8, 100)
    predicted = truth + 0.15 + random.normal(0, 0.05, 100)
    drawn = np.where(np.arange(100) < labelled, truth, np.nan)
    corrected = corrected_mean(predicted, drawn, np.arange(100), np.arange(100), BOUNDS)
    assert corrected is not None
    assert corrected.by_question.mean() == pytest.approx(corrected.mean)
    assert corrected.raw == pytest.approx(predicted.mean())
    assert corrected.low < truth.mean() < corrected.high


def test_a_share_takes_each_outcome_by_its_share_of_the_questions() -> None:
    outcome = np.repeat([0.0, 1.0, 2.0], [20, 20, 60])
    good = np.where(outcome == 2, 1.0, 0.0)
    drawn = np.full(100, np.nan)
    drawn[[*range(10), *range(20, 30), *range(40, 60)]] = good[[*range(10), *range(20, 30), *range(40, 60)]]
    share = corrected_share(outcome, drawn, np.arange(100), 3)
    assert share is not None
    assert share.mean == pytest.approx(0.2 * 0.5 / 11 * 2 + 0.6 * 20.5 / 21, abs=0.005)
    assert share.by_question.mean() == pytest.approx(share.mean, abs=0.005)
    assert corrected_share(outcome, drawn, np.arange(100), 3, fewest=41) is None
    repeated = corrected_share(np.repeat(outcome, 2), np.repeat(drawn, 2), np.repeat(np.arange(100), 2), 3)
    assert repeated is not None
    assert (repeated.n_labelled, repeated.mean) == (40, share.mean)


def test_turns_of_one_conversation_widen_the_interval_of_a_share() -> None:
    good = np.tile(np.repeat([1.0, 0.0], 5), 10)  # all five turns of a conversation are alike
    drawn = np.where(np.arange(100) < 50, good, np.nan)
    outcome, question = np.ones(100), np.arange(100)
    alone = corrected_share(outcome, drawn, question, 3)
    one_each = corrected_share(outcome, drawn, question, 3, clusters=question)
    turns = corrected_share(outcome, drawn, question, 3, clusters=question // 5)
    assert alone is not None
    assert one_each is not None
    assert turns is not None
    assert (one_each.low, one_each.high) == (alone.low, alone.high)
    assert turns.mean == alone.mean
    assert turns.high - turns.low > 1.5 * (alone.high - alone.low)
