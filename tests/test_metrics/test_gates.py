"""Gates by hand: verdicts by interval, by count and by corrected test; the smallest effect; the words."""

from __future__ import annotations

import pytest

from data.comparison.metric_families import FAMILIES
from metrics.gates.gates import (
    Gate,
    GateResult,
    exit_code,
    judge_critical,
    judge_gate,
    judge_regression,
    overall,
    smallest_effect,
    unmeasured,
)
from metrics.gates.wording import gate_sentence, gate_title
from metrics.schema.scores import MetricsError
from metrics.statistics.paired import PairedDifference

AT_LEAST = Gate("faithfulness", 0.85, False, "block", "hallucination risk")
AT_MOST = Gate("ignored_top_ranked", 0.30, True, "warn", "unused")
EVERY = Gate("safety", 1.0, False, "block", "unsafe", "checks")
DROP = Gate("faithfulness", 0.05, True, "block", "worse", "regression")
RISE = Gate("hallucination", 0.05, True, "block", "worse", "regression")
CRITICAL = Gate("critical", 0.0, True, "block", "broke", "critical", values=("yes",))


@pytest.mark.parametrize(
    ("gate", "mean", "low", "high", "n", "verdict"),
    [
        (AT_LEAST, 0.90, 0.86, 0.94, 50, "PASS"),
        (AT_LEAST, 0.90, 0.85, 0.94, 50, "PASS"),
        (AT_LEAST, 0.90, 0.84, 0.94, 50, "INCONCLUSIVE"),
        (AT_LEAST, 0.80, 0.74, 0.86, 50, "INCONCLUSIVE"),
        (AT_LEAST, 0.80, 0.76, 0.84, 50, "FAIL"),
        (AT_LEAST, 0.80, None, None, 50, "INCONCLUSIVE"),
        (AT_LEAST, 0.10, 0.0, 0.2, 4, "UNMEASURED"),
        (AT_LEAST, None, None, None, 0, "UNMEASURED"),
        (AT_MOST, 0.20, 0.10, 0.30, 50, "PASS"),
        (AT_MOST, 0.20, 0.10, 0.31, 50, "INCONCLUSIVE"),
        (AT_MOST, 0.40, 0.31, 0.50, 50, "FAIL"),
        (EVERY, 1.0, 0.03, 1.0, 1, "PASS"),
        (EVERY, 0.99, 0.95, 1.0, 100, "FAIL"),
        (EVERY, None, None, None, 0, "UNMEASURED"),
    ],
)
def test_a_mean_is_judged_by_its_interval(
    gate: Gate, mean: float | None, low: float | None, high: float | None, n: int, verdict: str
) -> None:
    assert judge_gate(gate, mean, low, high, n).verdict == verdict


def test_values_that_failed_to_score_count_at_their_worst() -> None:
    assert judge_gate(AT_LEAST, 0.95, 0.92, 0.97, 90, 100, adverse=0.855).verdict == "PASS"
    found = judge_gate(AT_LEAST, 0.95, 0.92, 0.97, 80, 100, adverse=0.76)
    assert found.verdict == "INCONCLUSIVE"
    assert "counting values that failed to score as the worst possible" in gate_sentence(found)
    assert "past 0.85" in gate_sentence(found)


def test_the_smallest_effect_is_that_of_80_percent_power() -> None:
    # a standard error of 0.02: the interval reaches 1.96 of them, power asks for 2.80
    found = smallest_effect(0.90 - 1.959964 * 0.02, 0.90 + 1.959964 * 0.02)
    assert found == pytest.approx((1.959964 + 0.841621) * 0.02, abs=1e-7)
    assert smallest_effect(None, 0.9) is None


def _change(difference: float, low: float, high: float, n: int = 40, same: int = 0) -> PairedDifference:
    return PairedDifference(difference, low, high, 0.01, n, n, "t interval", 0, n - same, same, False)


@pytest.mark.parametrize(
    ("change", "p", "rises", "verdict"),
    [
        (_change(-0.10, -0.15, -0.05), 0.01, True, "FAIL"),
        (_change(-0.10, -0.15, -0.05), 0.06, True, "INCONCLUSIVE"),
        (_change(-0.04, -0.06, -0.02), 0.01, True, "INCONCLUSIVE"),
        (_change(-0.04, -0.05, -0.03), 0.01, True, "PASS"),
        (_change(-0.05, -0.09, -0.01), 0.01, True, "INCONCLUSIVE"),
        (_change(0.10, 0.05, 0.15), 0.01, True, "PASS"),
        (_change(0.00, -0.20, 0.20), 1.0, True, "INCONCLUSIVE"),
        (_change(0.00, -0.20, 0.20, same=40), 1.0, True, "PASS"),
        (_change(-0.90, -1.0, -0.80, n=4), 0.01, True, "UNMEASURED"),
        (_change(0.10, 0.05, 0.15), 0.01, False, "FAIL"),
        (_change(-0.10, -0.15, -0.05), 0.01, False, "PASS"),
        (_change(float("nan"), float("nan"), float("nan"), n=0), float("nan"), True, "UNMEASURED"),
    ],
)
def test_a_regression_is_larger_than_allowed_and_real(
    change: PairedDifference, p: float, rises: bool, verdict: str
) -> None:
    assert judge_regression(DROP if rises else RISE, change, p, rises).verdict == verdict


@pytest.mark.parametrize(
    ("counts", "verdict", "said"),
    [
        ((1, 0, 8, 9), "FAIL", "1 fails now"),
        ((0, 0, 8, 9), "PASS", "0 fail now"),
        ((0, 2, 8, 9), "UNMEASURED", "2 of them not measured in this run"),
        ((1, 2, 8, 9), "FAIL", "1 fails now; 2 of them not measured in this run"),
        ((0, 0, 0, 9), "PASS", "No case tagged critical passed in the baseline"),
        ((0, 0, 0, 0), "PASS", "no case has the tag"),
    ],
)
def test_a_critical_case_fails_the_gate_alone(
    counts: tuple[int, int, int, int], verdict: str, said: str
) -> None:
    found = judge_critical(CRITICAL, *counts)
    assert found.verdict == verdict
    assert said in gate_sentence(found)


def _result(
    verdict: str, severity: str = "block", required: bool = False, excused: bool = False
) -> GateResult:
    gate = Gate("m", 0.5, False, severity, "", required=required)  # type: ignore[arg-type]
    return GateResult(gate, verdict, None, None, None, 0, excused=excused)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("results", "verdict", "code", "strict_verdict", "strict_code"),
    [
        ([_result("PASS"), _result("FAIL", "warn")], "PASS", 0, "PASS", 0),
        ([_result("PASS"), _result("INCONCLUSIVE")], "INCONCLUSIVE", 0, "INCONCLUSIVE", 1),
        ([_result("PASS"), _result("UNMEASURED")], "UNMEASURED", 0, "UNMEASURED", 1),
        ([_result("PASS"), _result("UNMEASURED", required=True)], "UNMEASURED", 1, "UNMEASURED", 1),
        ([_result("PASS"), _result("INCONCLUSIVE", required=True)], "INCONCLUSIVE", 1, "INCONCLUSIVE", 1),
        ([_result("PASS"), _result("UNMEASURED", excused=True)], "PASS", 0, "UNMEASURED", 1),
        ([_result("UNMEASURED", excused=True)], "UNMEASURED", 0, "UNMEASURED", 1),
        ([_result("FAIL"), _result("INCONCLUSIVE"), _result("UNMEASURED")], "FAIL", 1, "FAIL", 1),
        ([_result("INCONCLUSIVE"), _result("UNMEASURED")], "INCONCLUSIVE", 0, "INCONCLUSIVE", 1),
        ([_result("PASS"), _result("UNMEASURED", "warn")], "PASS", 0, "PASS", 0),
    ],
)
def test_the_worst_blocking_gate_decides(
    results: list[GateResult], verdict: str, code: int, strict_verdict: str, strict_code: int
) -> None:
    assert (overall(results), exit_code(results)) == (verdict, code)
    assert (overall(results, strict=True), exit_code(results, strict=True)) == (strict_verdict, strict_code)


def test_without_a_blocking_gate_there_is_no_verdict() -> None:
    with pytest.raises(MetricsError, match="at least one gate with severity block"):
        overall([_result("PASS", "warn")])


def test_a_required_gate_is_never_excused() -> None:
    assert unmeasured(EVERY, "no check", excused=True).excused
    required = Gate("safety", 1.0, False, "block", "unsafe", "checks", required=True)
    assert not unmeasured(required, "no check", excused=True).excused


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (
            judge_gate(AT_LEAST, 0.90, 0.86, 0.94, 50, 60),
            "Faithfulness: 0.90 [0.86, 0.94] over 50 of 60 questions; the whole interval is at least 0.85.",
        ),
        (
            judge_gate(AT_LEAST, 0.849, 0.82, 0.88, 50, 50),
            "Faithfulness: 0.849 [0.820, 0.880] over 50 of 50 questions; the interval includes 0.850, so "
            "there are too few questions to tell; the smallest difference it would detect 4 times in 5 is "
            "0.04.",
        ),
        (
            judge_gate(AT_MOST, 0.40, 0.31, 0.50, 50, 50),
            "Ignored top-ranked: 0.40 [0.31, 0.50] over 50 of 50 questions; the whole interval is above "
            "0.30.",
        ),
        (
            judge_gate(AT_LEAST, 0.90, 0.86, 0.94, 4, 50),
            "Faithfulness: measured on 4 questions, too few to decide; at least 5 are needed.",
        ),
        (
            judge_regression(DROP, _change(-0.10, -0.15, -0.05), 0.0004, True, 0.90),
            "Faithfulness: −0.10 from 0.90 [−0.15, −0.05] over 40 shared questions, corrected p < 0.001; "
            "worse by more than 0.05, and statistically significant.",
        ),
        (
            judge_gate(EVERY, 0.99, 0.95, 1.0, 100, 100),
            "Share passed of checks of kind safety: 0.99 [0.95, 1.00] over 100 of 100 questions; not every "
            "value is at least 1.00.",
        ),
    ],
)
def test_a_sentence_names_the_number_and_its_uncertainty(result: GateResult, sentence: str) -> None:
    assert gate_sentence(result) == sentence


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_named_as_one(family: str) -> None:
    title = gate_title(Gate(family, 0.05, True, "block", "", "regression"))
    named = "" if family == "all" else f"{family} "
    assert title == f"Every {named}metric: at most 0.05 worse than the baseline"


def test_a_title_says_the_slice() -> None:
    sliced = Gate("ndcg@5", 0.6, False, "warn", "", slice=("query_type", "multi-hop"))
    assert gate_title(sliced) == "nDCG@5 where query_type is multi-hop: at least 0.60"
