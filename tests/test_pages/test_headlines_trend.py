"""What Trend concludes, in every state; that runs without a shared question are never "no change"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ragtriage.dashboard.headlines.trend import TrendFacts, trend_headline
from ragtriage.data.comparison.compare import Comparison, MetricDifference
from ragtriage.data.comparison.question_match import QuestionMatch
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.statistics.max_t import MarginTest, Outcome
from ragtriage.metrics.statistics.paired import PairedDifference

FACTS = TrendFacts(4, 4, GOOD_SHARE, "V4", "V1", None, frozenset({GOOD_SHARE, "faithfulness"}))


def _row(metric: str, difference: float, verdict: Outcome, n: int = 48) -> MetricDifference:
    low, high = difference - 0.1, difference + 0.1
    paired = PairedDifference(difference, low, high, 0.01, n, n, "bootstrap", 9, 1, 2, False)
    test = MarginTest(verdict, -difference, -low, None)
    return MetricDifference(
        metric, 0.5, 0.5 + difference, paired, 0.02, test, low, high, metric == GOOD_SHARE
    )


def _facts(*rows: MetricDifference, doubts: tuple[str, ...] = ()) -> TrendFacts:
    none = np.zeros(0, dtype=np.int64)
    return replace(FACTS, comparison=Comparison((), rows, QuestionMatch(none, none, 0, 0)), doubts=doubts)


BETTER, WORSE = _row(GOOD_SHARE, 0.25, "better"), _row("faithfulness", -0.34, "worse", 38)
UNCLEAR, UNPAIRED = _row("correctness", 0.1, "cannot tell"), _row("faithfulness", 0.0, "cannot tell", 0)


@pytest.mark.parametrize(
    ("facts", "state", "statement"),
    [
        (TrendFacts(1, 1, GOOD_SHARE), "empty", "A trend needs two runs"),
        (TrendFacts(3, 0, ""), "not measured", "No version has a metric that can be drawn"),
        (TrendFacts(3, 1, "faithfulness"), "not measured", "Only one of 3 runs has faithfulness"),
        (FACTS, "not measured", "No later version can be tested"),
        (_facts(UNPAIRED), "not measured", "V4 and V1 share no scored question"),
        (_facts(BETTER, UNCLEAR), "good", "V4 beats V1: pass rate +25 points"),
        (_facts(WORSE, UNCLEAR), "bad", "V4 is worse than V1: faithfulness −0.34"),
        (_facts(BETTER, WORSE), "cannot tell", "V4 is mixed against V1"),
        (_facts(UNCLEAR), "cannot tell", "No change beyond chance in 4 runs"),
        (
            replace(_facts(UNCLEAR), others_moved=True),
            "cannot tell",
            "V4 does not differ from V1 beyond chance",
        ),
        (_facts(_row("correctness", 0.0, "equal")), "cannot tell", "No change beyond chance in 4 runs"),
        (_facts(_row(GOOD_SHARE, 0.0, "equal")), "good", "V4 equals V1 within 0.05"),
        (_facts(_row(GOOD_SHARE, 0.02, "no worse")), "good", "V4 is at most 0.05 worse than V1"),
        (
            _facts(_row("self_knowledge", 0.2, "no direction")),
            "cannot tell",
            "V4 against V1: no metric has a direction",
        ),
        (_facts(BETTER, doubts=("The questions differ",)), "doubted", "V4 beats V1: pass rate +25 points"),
    ],
)
def test_every_state(facts: TrendFacts, state: str, statement: str) -> None:
    headline = trend_headline(facts)
    assert (headline.state, headline.statement) == (state, statement)
    assert headline.doubt == "; ".join(facts.doubts)


def test_the_detail_has_the_numbers_and_the_pairs_behind_them() -> None:
    detail = trend_headline(_facts(BETTER, UNCLEAR, UNPAIRED)).detail
    for fact in (
        "+25 points [15, 35] over 48",
        "2 metrics",
        "48 shared questions",
        "the others: cannot tell",
    ):
        assert fact in detail


def test_only_drawn_metrics_are_named_and_the_statement_stays_short() -> None:
    moved = _facts(BETTER, _row("latency_ms", 0.5, "better"), _row("faithfulness", 0.2, "better"))
    assert trend_headline(moved).statement == "V4 beats V1: pass rate +25 points, faithfulness +0.20"
    name = "a long name of a nightly build of the support assistant"
    long = replace(moved, newest=name, baseline=name[::-1])
    assert len(trend_headline(long).statement) <= 70


def test_one_shared_question_is_one_question() -> None:
    assert trend_headline(_facts(_row(GOOD_SHARE, 0.25, "better", 1))).detail.endswith(
        "over 1 shared question, margin 0.05"
    )
