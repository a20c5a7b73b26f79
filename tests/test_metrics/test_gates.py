"""Gates by hand: verdicts by interval, by mean and by count; the smallest effect; the words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ragtriage.dashboard.tables.gates import DETECTABLE, gate_table
from ragtriage.data.comparison.compared_metrics import FAMILIES
from ragtriage.metrics.gates.gates import (
    Gate,
    GateResult,
    judge_critical,
    judge_gate,
    judge_regression,
    overall,
    smallest_effect,
    unmeasured,
)
from ragtriage.metrics.gates.wording import gate_sentence, gate_title
from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.statistics.paired import PairedDifference, paired

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
    chance = 1.0 if same == n else 0.01
    return PairedDifference(
        difference, low, high, chance, n, n, "t interval", 0, n - same, same, False,
        low_bound=low, high_bound=high, p_fall=chance, p_rise=chance,
    )  # fmt: skip


def _regression(
    gate: Gate, change: PairedDifference, rises: bool = True, before: float | None = None
) -> GateResult:
    return judge_regression(gate, change, change.low, change.high, change.p, rises, before)


@pytest.mark.parametrize(
    ("change", "rises", "verdict", "by_mean"),
    [
        (_change(-0.30, -0.50, -0.11), True, "FAIL", "FAIL"),
        (_change(-0.10, -0.15, -0.06), True, "FAIL", "FAIL"),
        (_change(-0.10, -0.15, -0.05), True, "FAIL", "FAIL"),
        (_change(-0.04, -0.06, -0.02), True, "INCONCLUSIVE", "PASS"),
        (_change(-0.04, -0.05, -0.03), True, "PASS", "PASS"),
        (_change(-0.05, -0.09, -0.01), True, "FAIL", "PASS"),
        (_change(0.10, 0.05, 0.15), True, "PASS", "PASS"),
        (_change(0.00, -0.20, 0.20), True, "INCONCLUSIVE", "PASS"),
        (_change(0.00, -0.20, 0.20, same=40), True, "INCONCLUSIVE", "PASS"),
        (_change(0.00, -0.04, 0.04, same=40), True, "PASS", "PASS"),
        (_change(-0.90, -1.0, -0.80, n=4), True, "UNMEASURED", "FAIL"),
        (_change(0.10, 0.06, 0.15), False, "FAIL", "FAIL"),
        (_change(-0.10, -0.15, -0.05), False, "PASS", "PASS"),
        (_change(-0.10, float("-inf"), float("inf")), True, "FAIL", "FAIL"),
        (_change(float("nan"), float("nan"), float("nan"), n=0), True, "UNMEASURED", "UNMEASURED"),
    ],
)
def test_a_change_has_the_rule_of_all_gates(
    change: PairedDifference, rises: bool, verdict: str, by_mean: str
) -> None:
    gate = DROP if rises else RISE
    assert _regression(gate, change, rises).verdict == verdict
    assert _regression(replace(gate, rule="mean"), change, rises).verdict == by_mean


def test_an_effect_larger_than_any_possible_one_is_no_number() -> None:
    found = _regression(DROP, _change(-0.1, -1.0, 0.9, n=5))
    assert found.smallest_effect is not None
    assert found.smallest_effect > 1
    assert "no possible difference is detectable" in gate_sentence(judge_gate(AT_LEAST, 0.5, 0.0, 1.3, 6))
    assert "detectable difference (80 % power): 0.29" in gate_sentence(judge_gate(AT_LEAST, 0.7, 0.5, 0.9, 6))
    assert gate_table([found]).rows[0][DETECTABLE] == "none possible"


def test_a_gate_on_too_few_questions_says_so_beside_their_number() -> None:
    (row,) = gate_table([judge_gate(AT_LEAST, 0.9, 0.8, 1.0, 2, n_total=2)]).rows
    assert (row["Verdict"], row["n"]) == ("not measured", "2 of 2, too few")


def test_a_drop_that_all_questions_share_fails_by_its_test_and_passes_by_its_bound() -> None:
    for n, drop, verdict in (
        (20, 0.09, "FAIL"),
        (20, 0.04, "INCONCLUSIVE"),
        (400, 0.04, "PASS"),
        (4, 0.09, ""),
    ):
        values = np.full(n, 0.95)
        change = paired(values, values - drop, np.arange(n))
        found = judge_regression(DROP, change, change.low, change.high, change.p, True, 0.95)
        assert found.verdict == (verdict or "UNMEASURED")


def test_a_member_of_a_family_passes_and_fails_by_what_is_corrected() -> None:
    change = _change(-0.10, -0.15, -0.05)
    assert judge_regression(DROP, change, -0.2, 0.01, 0.06, True, in_family=True).verdict == "INCONCLUSIVE"
    assert judge_regression(DROP, change, -0.2, -0.01, 0.04, True, in_family=True).verdict == "FAIL"
    small = _change(-0.01, -0.03, 0.01)
    assert judge_regression(DROP, small, -0.06, 0.03, 0.5, True, in_family=True).verdict == "INCONCLUSIVE"


@pytest.mark.parametrize(
    ("gate", "mean", "verdict", "margin"),
    [
        (AT_LEAST, 0.85, "PASS", 0.0),
        (AT_LEAST, 0.849, "FAIL", -0.001),
        (AT_MOST, 0.31, "FAIL", -0.01),
        (AT_MOST, 0.11, "PASS", 0.19),
    ],
)
def test_by_the_mean_the_interval_does_not_decide(
    gate: Gate, mean: float, verdict: str, margin: float
) -> None:
    found = judge_gate(replace(gate, rule="mean"), mean, mean - 0.2, mean + 0.2, 3)
    assert found.verdict == verdict
    assert found.margin == pytest.approx(margin)
    assert "the mean alone decides" in gate_sentence(found)
    assert f"its interval includes {gate.threshold:.2f}" in gate_sentence(found)


@pytest.mark.parametrize(
    ("counts", "verdict", "said"),
    [
        ((1, 0, 8, 9), "FAIL", "1 fails now"),
        ((0, 0, 8, 9), "PASS", "0 fail now"),
        ((0, 2, 8, 9), "UNMEASURED", "2 of them not measured in this run"),
        ((1, 2, 8, 9), "FAIL", "1 fails now; 2 of them not measured in this run"),
        ((0, 0, 0, 9), "UNMEASURED", "(9 cases): not evaluated; none of them passed in the baseline"),
        ((0, 0, 0, 0), "UNMEASURED", "not evaluated; no case has the tag"),
    ],
)
def test_a_critical_case_fails_the_gate_alone(
    counts: tuple[int, int, int, int], verdict: str, said: str
) -> None:
    found = judge_critical(CRITICAL, *counts)
    assert found.verdict == verdict
    assert said in gate_sentence(found)


def _result(verdict: str, severity: str = "block", excused: bool = False) -> GateResult:
    gate = Gate("m", 0.5, False, severity, "")  # type: ignore[arg-type]
    return GateResult(gate, verdict, None, None, None, 0, excused=excused)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("results", "verdict", "strict_verdict"),
    [
        ([_result("PASS"), _result("FAIL", "warn")], "PASS", "PASS"),
        ([_result("PASS"), _result("INCONCLUSIVE")], "INCONCLUSIVE", "INCONCLUSIVE"),
        ([_result("PASS"), _result("UNMEASURED")], "UNMEASURED", "UNMEASURED"),
        ([_result("PASS"), _result("UNMEASURED", excused=True)], "PASS", "UNMEASURED"),
        ([_result("UNMEASURED", excused=True)], "UNMEASURED", "UNMEASURED"),
        ([_result("FAIL"), _result("INCONCLUSIVE"), _result("UNMEASURED")], "FAIL", "FAIL"),
        ([_result("INCONCLUSIVE"), _result("UNMEASURED")], "INCONCLUSIVE", "INCONCLUSIVE"),
        ([_result("PASS"), _result("UNMEASURED", "warn")], "PASS", "PASS"),
    ],
)
def test_the_worst_blocking_gate_decides(
    results: list[GateResult], verdict: str, strict_verdict: str
) -> None:
    assert (overall(results), overall(results, strict=True)) == (verdict, strict_verdict)


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
            "Faithfulness: 0.90 [0.86, 0.94] over 50 of 60 questions; margin 0.05: the whole interval is "
            "at least 0.85.",
        ),
        (
            judge_gate(AT_LEAST, 0.849, 0.82, 0.88, 50, 50),
            "Faithfulness: 0.849 [0.820, 0.880] over 50 of 50 questions; 0.001 below the threshold: the "
            "interval includes 0.850, so there are too few questions to tell; detectable difference "
            "(80 % power): 0.04.",
        ),
        (
            judge_gate(AT_MOST, 0.40, 0.31, 0.50, 50, 50),
            "Ignored top-ranked: 0.40 [0.31, 0.50] over 50 of 50 questions; 0.10 above the threshold: the "
            "whole interval is above 0.30.",
        ),
        (
            judge_gate(replace(AT_LEAST, rule="mean"), 0.82, 0.76, 0.88, 50, 50),
            "Faithfulness: 0.82 [0.76, 0.88] over 50 of 50 questions; 0.03 below the threshold: the mean "
            "alone decides, and it is below 0.85; its interval includes 0.85.",
        ),
        (
            judge_gate(AT_LEAST, 0.90, 0.86, 0.94, 4, 50),
            "Faithfulness: measured on 4 questions, too few to decide; at least 5 are needed.",
        ),
        (
            _regression(DROP, _change(-0.10, -0.15, -0.06), before=0.90),
            "Faithfulness: a change of −0.10 [−0.15, −0.06] from 0.90 to 0.80 over 40 shared questions; "
            "worse beyond chance, 0.05 is allowed.",
        ),
        (
            _regression(DROP, _change(0.0, -0.20, 0.20, same=40), before=0.67),
            "Faithfulness: unchanged at 0.67 over 40 shared questions; a loss of up to 0.20 may hide, "
            "0.05 is allowed; about 640 questions would settle it, 600 more.",
        ),
        (
            _regression(replace(DROP, rule="mean"), _change(-0.10, -0.25, 0.05), before=0.90),
            "Faithfulness: a change of −0.10 [−0.25, +0.05] from 0.90 to 0.80 over 40 shared questions; the "
            "change alone decides, and it is worse by 0.05 or more.",
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
