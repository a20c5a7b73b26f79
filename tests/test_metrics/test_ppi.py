from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtriage.metrics.schema.scores import FloatArray, MetricsError
from ragtriage.metrics.statistics.ppi import PpiMean, ppi_mean


class Case(NamedTuple):
    """What a set of labels and verdicts is drawn from."""

    seed: int
    n: int
    rest: int
    binary: bool
    noise: float


class Drawn(NamedTuple):
    """Labels, the judge on them, the judge on the rest."""

    labels: FloatArray
    judged: FloatArray
    rest: FloatArray


# estimate, low, high as ppi-python 0.2.3 gives them for draw(case) and a tuning:
# (by ppi_mean_pointestimate and ppi_mean_ci with lam=tuning and alpha=0.05)
KNOWN = [
    (Case(1, 40, 400, False, 0.2), None, 0.46404287275417333, 0.411654377385657, 0.5164313681226896),
    (Case(1, 40, 400, False, 0.2), 0.0, 0.5014464883737569, 0.4131682057624866, 0.5897247709850273),
    (Case(1, 40, 400, False, 0.2), 0.5, 0.4684093900349404, 0.4142110928525735, 0.5226076872173073),
    (Case(1, 40, 400, False, 0.2), 1.0, 0.43537229169612396, 0.3714884284949641, 0.4992561548972838),
    (Case(2, 60, 1000, True, 0.15), None, 0.7027074079584467, 0.6150371299830522, 0.7903776859338412),
    (Case(2, 60, 1000, True, 0.15), 0.5, 0.7046666666666667, 0.6166708988676844, 0.7926624344656489),
    (Case(2, 60, 1000, True, 0.15), 1.0, 0.676, 0.5742996363208277, 0.7777003636791724),
    # a judge that follows nothing: the tuning is cut off at 0
    (Case(3, 25, 30, False, 1.0), None, 0.46961699675905494, 0.3602586535765388, 0.5789753399415711),
    (Case(3, 25, 30, False, 1.0), 1.0, 0.8397405242067044, 0.316749712653667, 1.362731335759742),
    (Case(4, 200, 50, True, 0.4), None, 0.6568042009778693, 0.5915353023408713, 0.7220730996148673),
    (Case(4, 200, 50, True, 0.4), 0.5, 0.625, 0.5290943538481727, 0.7209056461518273),
]
unit = st.floats(0, 1).map(lambda value: round(value, 6))


def draw(case: Case) -> Drawn:
    """Labels and verdicts of one case; the judge of values is 0.1 too kind."""
    rng = np.random.default_rng(case.seed)
    truth = rng.random(case.n + case.rest)
    if case.binary:
        labels = (truth < 0.7).astype(float)
        judge = np.where(rng.random(case.n + case.rest) < case.noise, 1 - labels, labels)
    else:
        labels = truth
        judge = truth + case.noise * rng.standard_normal(case.n + case.rest) + 0.1
    return Drawn(labels[: case.n], judge[: case.n], judge[case.n :])


def _summary(found: PpiMean) -> tuple[float, float, float]:
    return found.estimate, found.low, found.high


@pytest.mark.parametrize(("case", "tuning", "estimate", "low", "high"), KNOWN)
def test_estimates_and_intervals_are_those_of_ppi_python(
    case: Case, tuning: float | None, estimate: float, low: float, high: float
) -> None:
    found = ppi_mean(*draw(case), tuning=tuning)
    assert _summary(found) == pytest.approx((estimate, low, high), rel=1e-10)


def test_ppi_python_where_it_is_installed_says_the_same() -> None:
    other = pytest.importorskip("ppi_py")
    for seed, tuning, alpha in product(range(10), [None, 0.0, 0.3, 1.0], [0.01, 0.05, 0.2]):
        drawn = draw(Case(seed, 15 + 20 * seed, 10 + 97 * seed, seed % 2 == 0, 0.1 * seed))
        found = ppi_mean(*drawn, alpha=alpha, tuning=tuning)
        low, high = other.ppi_mean_ci(*drawn, alpha=alpha, lam=tuning)
        estimate = other.ppi_mean_pointestimate(*drawn, lam=tuning)
        known = tuple(float(np.squeeze(value)) for value in (estimate, low, high))
        assert _summary(found) == pytest.approx(known, rel=1e-9)


def test_a_small_table_by_hand() -> None:
    """Ten labels, 6 passed; the judge passes one more; 8 of 10 passed on the rest; weight 1/2."""
    labels, judged, rest = (np.repeat([1.0, 0.0], [passed, 10 - passed]) for passed in (6, 7, 8))
    found = ppi_mean(labels, judged, rest, tuning=0.5)
    variance = (
        6 * 0.25 + 1 * 0.25
    ) / 10 - 0.25**2  # labels - judged / 2: six of 1/2, one of -1/2, three of 0
    error = math.sqrt(variance / 10 + 0.25 * 0.16 / 10)
    assert found.estimate == pytest.approx(0.25 + 0.4)
    assert found.low == pytest.approx(0.65 - 1.959964 * error)
    assert found.high == pytest.approx(0.65 + 1.959964 * error)
    assert found.bias == pytest.approx(0.1)
    assert found.judge_mean == pytest.approx(0.75)
    assert (found.n_labelled, found.n_unlabelled, found.tuning) == (10, 10, 0.5)
    assert found.classical.mean == pytest.approx(0.6)
    assert found.classical.high == pytest.approx(0.6 + 1.959964 * math.sqrt(0.024))
    assert found.effective_n == pytest.approx(10 * 0.024 / error**2)


def test_a_good_judge_is_worth_many_labels_and_a_useless_one_costs_nothing() -> None:
    good = ppi_mean(*draw(Case(6, 50, 5000, False, 0.05)))
    assert good.tuning > 0.9
    assert good.effective_n > 200
    assert good.bias == pytest.approx(0.1, abs=0.03)
    assert good.judge_mean - good.estimate == pytest.approx(0.1, abs=0.03)
    useless = ppi_mean(*draw(Case(3, 25, 30, False, 1.0)))
    assert useless.tuning == 0.0
    assert useless.effective_n == pytest.approx(25)


@settings(max_examples=60)
@given(st.lists(st.tuples(unit, unit), min_size=1, max_size=30), st.lists(unit, max_size=30))
def test_without_weight_the_labels_decide_alone(both: list[tuple[float, float]], rest: list[float]) -> None:
    labels, judged = np.array(both).T
    found = ppi_mean(labels, judged, np.array(rest), tuning=0.0)
    classical = (found.classical.mean, found.classical.low, found.classical.high)
    assert _summary(found) == pytest.approx(classical, nan_ok=True)
    assert found.estimate == pytest.approx(labels.mean())


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.booleans(), st.floats(0, 1))
def test_the_order_of_the_samples_does_not_matter(seed: int, binary: bool, noise: float) -> None:
    drawn, rng = draw(Case(seed, 30, 50, binary, noise)), np.random.default_rng(seed)
    order = rng.permutation(30)
    shuffled = ppi_mean(drawn.labels[order], drawn.judged[order], rng.permutation(drawn.rest))
    assert _summary(shuffled) == pytest.approx(_summary(ppi_mean(*drawn)), rel=1e-9, nan_ok=True)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.booleans(), st.floats(0, 1), st.floats(0, 1))
def test_the_weight_found_is_about_the_best_one(seed: int, binary: bool, noise: float, tuning: float) -> None:
    """It is the best for the pooled variance of the judge; the interval takes that of each part."""
    drawn = draw(Case(seed, 400, 800, binary, noise))
    found, other = ppi_mean(*drawn), ppi_mean(*drawn, tuning=tuning)
    assert 0 <= found.tuning <= 1
    assert found.high - found.low <= 1.02 * (other.high - other.low)


def test_a_judge_that_is_off_by_a_constant_gives_the_same_mean() -> None:
    drawn = draw(Case(7, 40, 300, False, 0.2))
    moved = ppi_mean(drawn.labels, drawn.judged + 5, drawn.rest + 5)
    assert _summary(moved) == pytest.approx(_summary(ppi_mean(*drawn)))


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    covered = {"tuned": 0, "full": 0, "classical": 0}
    for seed in range(300):
        drawn = draw(Case(seed, 80, 800, seed % 2 == 0, 0.15))
        truth = 0.7 if seed % 2 == 0 else 0.5
        tuned, full = ppi_mean(*drawn), ppi_mean(*drawn, tuning=1.0)
        covered["tuned"] += tuned.low <= truth <= tuned.high
        covered["full"] += full.low <= truth <= full.high
        covered["classical"] += tuned.classical.low <= truth <= tuned.classical.high
    assert all(0.91 <= count / 300 <= 0.985 for count in covered.values()), covered


def test_an_interval_over_conversations_covers_too_where_one_over_samples_does_not() -> None:
    """Conversations of five labelled and five other samples share a shift that the judge does not see."""
    rng, covered = np.random.default_rng(12), {"grouped": 0, "alone": 0}
    codes = np.repeat(np.arange(60), 5)
    for _ in range(300):
        shift, seen = np.repeat(rng.normal(size=60), 5), rng.normal(size=(2, 300))
        labels, judged = shift + seen[0], seen[0] + rng.normal(0, 0.3, 300)
        grouped = ppi_mean(labels, judged, seen[1], clusters=(codes, codes))
        alone = ppi_mean(labels, judged, seen[1])
        covered["grouped"] += grouped.low <= 0 <= grouped.high
        covered["alone"] += alone.low <= 0 <= alone.high
    assert 0.90 <= covered["grouped"] / 300 <= 0.985
    assert covered["alone"] / 300 < 0.85


def test_clusters_of_one_sample_change_nothing() -> None:
    drawn = draw(Case(8, 40, 90, True, 0.2))
    codes = np.random.default_rng(8).permutation(130)
    grouped, alone = ppi_mean(*drawn, clusters=(codes[:40], codes[40:])), ppi_mean(*drawn)
    assert _summary(grouped) == pytest.approx(_summary(alone), rel=1e-12)
    assert grouped.effective_n == pytest.approx(alone.effective_n)


def test_a_conversation_on_both_sides_counts_once() -> None:
    """The judge repeats itself exactly: rest and labelled part move together, so they cancel at weight 1."""
    drawn = draw(Case(9, 50, 50, False, 0.2))
    codes = np.arange(50)
    both = ppi_mean(drawn.labels, drawn.judged, drawn.judged, tuning=1.0, clusters=(codes, codes))
    classical = (both.classical.mean, both.classical.low, both.classical.high)
    assert _summary(both) == pytest.approx(classical)
    assert both.effective_n == pytest.approx(50)


def test_few_labels_give_an_estimate_without_interval() -> None:
    drawn = draw(Case(5, 9, 500, True, 0.1))
    found = ppi_mean(*drawn)
    assert 0 < found.estimate < 1.2
    assert all(math.isnan(value) for value in (found.low, found.high, found.classical.low, found.effective_n))
    conversations = np.arange(40) % 9, np.arange(500) + 9
    assert math.isnan(ppi_mean(*draw(Case(5, 40, 500, True, 0.1)), clusters=conversations).low)


def test_no_labels_give_no_estimate_but_the_judges_mean() -> None:
    found = ppi_mean(np.zeros(0), np.zeros(0), np.array([1.0, 0.0]))
    assert (found.judge_mean, found.n_labelled, found.n_unlabelled) == (0.5, 0, 2)
    assert all(math.isnan(value) for value in (found.estimate, found.low, found.bias, found.effective_n))
    nothing = ppi_mean(np.zeros(0), np.zeros(0), np.zeros(0))
    assert math.isnan(nothing.judge_mean)


@pytest.mark.parametrize("tuning", [None, 1.0])
def test_without_a_rest_the_labels_decide_alone(tuning: float | None) -> None:
    drawn = draw(Case(1, 40, 5, False, 0.2))
    found = ppi_mean(drawn.labels, drawn.judged, np.zeros(0), tuning=tuning)
    assert found.tuning == 0.0
    assert _summary(found) == (found.classical.mean, found.classical.low, found.classical.high)
    assert found.judge_mean == pytest.approx(drawn.judged.mean())


def test_a_constant_judge_tells_nothing() -> None:
    labels = draw(Case(2, 60, 1, True, 0.0)).labels
    found = ppi_mean(labels, np.full(60, 0.1), np.full(300, 0.1))
    assert found.tuning == 0.0
    assert _summary(found) == (found.classical.mean, found.classical.low, found.classical.high)


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0])
def test_labels_that_do_not_vary_give_no_interval_of_one_point(value: float) -> None:
    found = ppi_mean(np.full(30, value), np.full(30, value), np.full(100, value), tuning=0.7)
    assert found.estimate == pytest.approx(value)
    assert all(math.isnan(end) for end in (found.low, found.high, found.classical.low, found.effective_n))


def test_conversations_that_do_not_vary_give_no_interval_of_one_point() -> None:
    labels, codes = np.tile([1.0, 1.0, 0.0], 20), np.repeat(np.arange(20), 3)
    found = ppi_mean(labels, labels, labels, clusters=(codes, codes + 20))
    assert found.estimate == pytest.approx(2 / 3)
    assert math.isnan(found.low)


def test_bad_input_is_refused_with_what_would_be_accepted() -> None:
    ones = np.ones(12)
    with pytest.raises(MetricsError, match="differ in length: 12 and 11"):
        ppi_mean(ones, ones[:11], ones)
    with pytest.raises(MetricsError, match="judge_on_rest must be finite"):
        ppi_mean(ones, ones, np.array([1.0, np.nan]))
    with pytest.raises(MetricsError, match="alpha must be between 0 and 1"):
        ppi_mean(ones, ones, ones, alpha=1.0)
    with pytest.raises(MetricsError, match="12 and 12, not 12 and 3"):
        ppi_mean(ones, ones, ones, clusters=(np.arange(12), np.arange(3)))


def test_a_result_cannot_be_changed_in_place() -> None:
    found = ppi_mean(*draw(Case(1, 40, 400, False, 0.2)))
    with pytest.raises(AttributeError):
        found.estimate = 0.0  # type: ignore[misc]  # the attempt is the test
    assert replace(found, estimate=0.0).estimate == 0.0
