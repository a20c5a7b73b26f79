"""The headline of the Compare page in every state, from comparisons made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ragtriage.dashboard.headlines.compare import (
    MOST_METRICS,
    NO_SECOND_RUN,
    compare_headline,
    drawn_metrics,
    drawn_versions,
    most_decisive,
)
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.wording.comparisons import outcome_text
from ragtriage.data.comparison.answered import RefusalPairs
from ragtriage.data.comparison.compare import Comparison, MetricDifference
from ragtriage.data.comparison.question_match import QuestionMatch
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.statistics.max_t import FamilyTest, margin_test
from ragtriage.metrics.statistics.paired import PairedDifference, paired


def _row(metric: str, change: float, p: float, n: int = 10, higher: bool | None = True) -> MetricDifference:
    reach = abs(change) * 0.5 if p < 0.05 else abs(change) + 0.2
    same = n if change == 0 else 0
    low, high = change - reach, change + reach
    difference = PairedDifference(change, low, high, p, n, n, "t", n - same, 0, same, False)
    primary = metric == GOOD_SHARE
    test = margin_test(difference, higher, 0.05, FamilyTest(p, low, high))
    return MetricDifference(metric, 0.5, 0.5 + change, difference, p, test, low, high, primary)


def _comparison(*rows: MetricDifference, shared: int = 10, warnings: tuple[str, ...] = ()) -> Comparison:
    same = np.arange(shared)
    return Comparison(warnings, rows, QuestionMatch(same, same, 0, 0))


UNCLEAR = _row(GOOD_SHARE, 0.1, 0.6)


def _headline(
    *rows: MetricDifference, others: dict[str, Comparison] | None = None, **more: object
) -> Headline:
    versions = {"v": _comparison(*rows, **more), **(others or {})}  # type: ignore[arg-type] # of _comparison
    names = {"v": "graphrag", "w": "colbert", "x": "hyde"}
    return compare_headline("v", versions, names, "basic", drawn_metrics(next(iter(versions.values()))))


def test_a_gain_beyond_chance_is_named_with_its_numbers() -> None:
    found = _headline(UNCLEAR, _row("answer_relevancy", 0.27, 0.01))
    assert (found.state, found.statement) == (
        "good",
        "graphrag beats basic in 1 of 2 metrics: answer relevancy +0.27",
    )
    assert "[0.14, 0.41]" in found.detail
    assert "from 0.50 to 0.77" in found.detail
    assert "10 shared questions" in found.detail


def test_a_loss_is_named_with_a_true_minus() -> None:
    found = _headline(UNCLEAR, _row("context_precision", -0.52, 0.001))
    assert found.state == "bad"
    assert found.statement == "graphrag is worse than basic in 1 of 2 metrics: context precision −0.52"


def test_gains_and_losses_are_both_in_the_statement() -> None:
    found = _headline(_row("faithfulness", 0.2, 0.01), _row("context_recall", -0.3, 0.01))
    assert found.state == "bad"
    assert "faithfulness +0.20" in found.statement
    assert "context recall −0.30" in found.statement


def test_a_change_that_chance_explains_is_never_named_as_one() -> None:
    found = _headline(UNCLEAR, _row("faithfulness", -0.3, 0.06))
    assert (found.state, found.statement) == (
        "cannot tell",
        "No significant difference between graphrag and basic",
    )
    assert found.detail.startswith("Pass rate +10 points"), "the primary metric decides"
    assert "A loss of up to 0.20 may hide with 10 questions" in found.detail
    assert "about 40 questions would settle it, 30 more" in found.detail  # 10 x (0.3 / 0.15) squared


def test_a_loss_by_a_one_sided_test_shows_its_p_where_the_interval_includes_0() -> None:
    lost = paired(np.r_[np.ones(7), np.zeros(3)], np.r_[np.zeros(6), np.ones(2), np.zeros(2)], np.arange(10))
    test = margin_test(lost, True)
    row = MetricDifference(GOOD_SHARE, 0.7, 0.2, lost, lost.p, test, -0.9, 0.02, True)
    assert (row.verdict, lost.p < 0.05, lost.p_fall < 0.07) == ("cannot tell", False, True)
    row = replace(row, test=replace(test, outcome="worse"), difference=replace(lost, p_fall=0.03))
    found = _headline(row)
    assert found.state == "bad"
    assert "[−90, 2], one-sided p 0.030" in found.detail
    assert outcome_text(row) == "worse (one-sided p 0.030)"


def test_runs_with_the_same_scores_do_not_differ() -> None:
    found = _headline(_row(GOOD_SHARE, 0.0, 1.0), _row("faithfulness", 0.0, 1.0))
    assert found.statement == "No metric shown here differs between graphrag and basic"


def test_a_rise_of_a_metric_of_which_less_is_better_is_worse_under_its_own_name() -> None:
    found = _headline(_row("over_refusal", 0.3, 0.01, higher=False))
    assert found.statement == "graphrag is worse than basic: over-refusal +0.30"
    assert "from 0.50 to 0.80" in found.detail


@pytest.mark.parametrize("metric", ["latency_ms", "refused", "win_rate"])
def test_metrics_that_cannot_share_the_axis_are_not_named(metric: str) -> None:
    higher = {"latency_ms": False, "refused": None, "win_rate": True}[metric]
    found = _headline(_row(metric, 0.4, 0.001, higher=higher))
    assert (found.state, found.statement) == ("not measured", "No metric is shared with basic")
    assert "1 metric with values in both runs" in found.detail


def test_runs_without_a_shared_question_or_score_are_not_measured() -> None:
    assert _headline(UNCLEAR, shared=0).statement == "graphrag and basic share no question"
    nothing = _headline(_row(GOOD_SHARE, float("nan"), float("nan"), n=0))
    assert (nothing.state, nothing.statement) == ("not measured", "No metric is shared with basic")


def test_an_empty_project_says_what_to_load() -> None:
    assert (NO_SECOND_RUN.state, NO_SECOND_RUN.statement) == ("empty", "Load a second run to compare")


def test_the_other_versions_are_summed_up() -> None:
    others = {
        "w": _comparison(_row("context_precision", -0.5, 0.001)),
        "x": _comparison(_row("faithfulness", 0.1, 0.5)),
    }
    found = _headline(_row("faithfulness", 0.1, 0.5), others=others)
    assert (
        "Of 2 other versions: 1 worse than basic (colbert); 1 without a significant difference."
        in found.detail
    )
    alone = _headline(_row("faithfulness", 0.1, 0.5), others={"x": others["x"]})
    assert "The other version does not differ significantly." in alone.detail


def test_versions_without_answers_are_counted_apart_and_a_gain_says_where_it_is_not() -> None:
    gained = (_row(GOOD_SHARE, 0.02, 0.9), _row("context_precision", 0.5, 0.001))
    versions = {
        "v": _comparison(UNCLEAR),
        "w": _comparison(*gained),
        "x": _comparison(*gained),
        "trial": _comparison(_row(GOOD_SHARE, 0.3, 0.001)),
    }
    names = {"v": "graphrag", "w": "colbert", "x": "hyde", "trial": "128 / 0"}
    metrics = drawn_metrics(versions["v"])
    found = compare_headline("v", versions, names, "basic", metrics, without_answers={"trial"})
    assert found.detail.endswith(
        "Of 2 other versions: 2 better than basic, though not in pass rate (colbert, hyde). "
        "1 version has no answers to compare."
    )


def test_unequal_runs_and_doubted_metrics_are_said_in_the_doubt() -> None:
    rows = (_row("context_precision", -0.5, 0.001), _row("faithfulness", 0.1, 0.5))
    warning = "The judge differs: a in basic, b in the other run."
    versions = {"v": _comparison(*rows, warnings=(warning,))}
    doubts = {
        "context_precision": ["colbert: context precision is 0 in every case"],
        "faithfulness": ["not this"],
    }
    metrics = drawn_metrics(next(iter(versions.values())))
    found = compare_headline("v", versions, {"v": "colbert"}, "basic", metrics, doubts)
    assert (
        found.doubt
        == "colbert: context precision is 0 in every case; The judge differs: a in basic, b in the other run"
    )


def test_questions_that_one_run_refuses_are_a_doubt_about_metrics_of_answers() -> None:
    row = _row("answer_relevancy", 0.27, 0.001)
    pairs = RefusalPairs("answer_relevancy", 4, 0, 6, 0.5, 0.6, row.difference)
    same = np.arange(10)
    comparison = Comparison(
        ("Answer relevancy compares 38 pairs of answers: ...",),
        (row,),
        QuestionMatch(same, same, 0, 0),
        (pairs,),
    )
    found = compare_headline("v", {"v": comparison}, {"v": "V2"}, "V1", ["answer_relevancy"])
    assert found.doubt == "Answer relevancy excludes 4 questions that only one run refuses"


def test_at_most_seven_metrics_are_drawn_and_only_they_are_named() -> None:
    names = [f"recall@{k}" for k in range(1, 10)]
    rows = [_row(GOOD_SHARE, 0.1, 0.9), *(_row(name, -0.2, 0.9) for name in names[:-1])]
    comparison = _comparison(*rows, _row(names[-1], 0.4, 0.001))
    drawn = drawn_metrics(comparison)
    assert len(drawn) == MOST_METRICS
    assert GOOD_SHARE in drawn, "the primary metric is always drawn"
    assert names[-1] in drawn, "what differs beyond chance is drawn"
    without = compare_headline("v", {"v": comparison}, {"v": "V2"}, "V1", [GOOD_SHARE])
    assert without.state == "cannot tell"


def test_at_most_six_versions_are_drawn_the_first_and_those_that_differ() -> None:
    versions = {f"v{at}": _comparison(_row("faithfulness", 0.1, 0.5)) for at in range(9)}
    versions["v8"] = _comparison(_row("faithfulness", 0.4, 0.001))
    drawn = drawn_versions(versions, "v7")
    assert len(drawn) == 6
    assert {"v7", "v8"} <= set(drawn)
    assert most_decisive(versions) == "v8"


@pytest.mark.parametrize("name", ["graphrag", "an extremely long name of a pipeline version 2026-06-01"])
def test_the_statement_stays_short(name: str) -> None:
    rows = (
        _row("context_precision", 0.2, 0.01),
        _row("noise_sensitivity_irrelevant", 0.3, 0.01, higher=False),
    )
    found = compare_headline("v", {"v": _comparison(*rows)}, {"v": name}, name, ["context_precision"])
    assert len(found.statement) <= 90
    assert not found.statement.endswith(".")


def test_a_change_of_the_primary_metric_needs_no_scope() -> None:
    found = _headline(_row(GOOD_SHARE, 0.3, 0.01), _row("faithfulness", 0.1, 0.6))
    assert found.statement == "graphrag beats basic: pass rate +30 points"
