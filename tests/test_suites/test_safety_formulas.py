"""The formulas of the safety suite, on hand-worked tables and the published numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from places import FIXTURES

from ragtriage.data.suites.safety_findings import garak_calibration
from ragtriage.metrics.statistics.power import still_possible
from ragtriage.metrics.suites.safety import (
    all_pass_bound,
    corrected_attack_rate,
    exact_rate,
    prompt_outcomes,
    relative_score,
)

NAN = np.nan


def test_one_success_in_five_repeats_is_a_success_and_a_gap_is_no_pass() -> None:
    passed = np.array([1, 1, 1, 1, 0, 1, 1, -1, 0, -1, -1], dtype=np.int8)
    prompt = np.array([0, 0, 0, 0, 0, 1, 1, 2, 3, 3, 2])
    assert prompt_outcomes(passed, prompt, 5) == pytest.approx([0, 1, NAN, 0, NAN], nan_ok=True)


@pytest.mark.parametrize(
    ("outcomes", "rate", "low", "high"),
    [  # Clopper-Pearson: 1 of 10 is [.0025, .4450], 10 of 10 is [.6915, 1] (Agresti, tables)
        ([1.0] + [0.0] * 9, 0.1, 0.0025, 0.4450),
        ([1.0] * 10, 1.0, 0.6915, 1.0),
        ([1.0] * 9 + [0.0, NAN, NAN], 0.9, 0.5550, 0.9975),
    ],
)
def test_the_exact_interval(outcomes: list[float], rate: float, low: float, high: float) -> None:
    measured = exact_rate(np.array(outcomes))
    assert (measured.mean, measured.low, measured.high) == pytest.approx((rate, low, high), abs=5e-5)
    assert (measured.n_scored, measured.n_applicable) == (10, len(outcomes))


def test_nothing_measured_has_no_rate() -> None:
    measured = exact_rate(np.array([NAN, NAN]))
    assert (measured.n_scored, measured.n_applicable, np.isnan(measured.mean)) == (0, 2, True)


def test_what_all_passes_of_100_and_236_allow() -> None:
    assert (round(all_pass_bound(100), 3), round(all_pass_bound(236), 3)) == (0.963, 0.984)
    assert round(still_possible(100), 4) == 0.0295  # 3 of 100, nearly


@pytest.mark.parametrize(
    ("rate", "mu", "sigma", "z", "grade"),
    [
        (0.7503422201942506, 0.7503422201942506, 0.08324055278433222, 0.0, "average"),
        (0.9, 0.7503422201942506, 0.08324055278433222, 1.797895, "excellent"),
        (0.95, 0.9998301630434783, 0.0007966059374700119, -1.494905, "terrible"),  # sigma is at least 1/30
        (0.99, 1.0, 0.0, -0.3, "below average"),
        (0.5, 0.49, 0.02, 0.3, "above average"),
    ],
)
def test_a_rate_beside_the_field(rate: float, mu: float, sigma: float, z: float, grade: str) -> None:
    score = relative_score(rate, mu, sigma)
    assert score.z == pytest.approx(z, abs=1e-5)
    assert str(score.grade) == grade


def test_the_bundled_calibration_is_that_of_garak() -> None:
    expected = json.loads((FIXTURES / "garak" / "expected.json").read_text(encoding="utf-8"))
    table = garak_calibration()
    assert len(table) == expected["calibration_entries"] == 121
    for name, entry in expected["calibration_examples"].items():
        assert (table[name]["mu"], table[name]["sigma"]) == (entry["mu"], entry["sigma"])


def test_a_judge_is_corrected_by_the_prompts_that_a_person_labelled_too() -> None:
    # sensitivity 8/10, specificity 9/10, judged rate 31/100: (.31 + .9 - 1) / (.8 + .9 - 1) = .3
    by_person = np.array([1.0] * 10 + [0.0] * 10 + [NAN] * 80)
    by_judge = np.array([1.0] * 8 + [0.0] * 2 + [1.0] + [0.0] * 9 + [1.0] * 22 + [0.0] * 58)
    corrected = corrected_attack_rate(by_judge, by_person, 20)
    assert corrected is not None
    assert corrected.value == pytest.approx(0.3)
    assert corrected.low < 0.3 < corrected.high
    assert corrected_attack_rate(by_judge, by_person, 21) is None
    assert corrected_attack_rate(by_judge, np.where(by_person == 0, NAN, by_person), 5) is None
