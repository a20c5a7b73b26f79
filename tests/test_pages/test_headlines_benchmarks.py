"""What Benchmarks concludes, in every state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragtriage.dashboard.headlines.benchmarks import BandStanding, benchmark_headline, standings_of
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.analysis.bands import GUIDES, Bands

NAMES = ("needs work", "minimum", "good", "excellent")
TARGET = Bands(NAMES, (0.7, 0.85, 0.95), "production targets")


def _standing(mean: float, low: float | None = None, high: float | None = None, **more: bool) -> BandStanding:
    reached = {TARGET.at(value) for value in (low, mean, high) if value is not None}
    bands = tuple(name for name in NAMES if name in reached)
    return BandStanding("faithfulness", mean, TARGET, bands, 0 if low is None else 50, **more)


@pytest.mark.parametrize(
    ("standings", "doubts", "state", "statement"),
    [
        ([], [], "not measured", "No published metric is measured here"),
        ([_standing(0.33), _standing(0.9)], [], "bad", "V3 is below the minimum on 1 of 2 targets"),
        ([_standing(0.33, doubted=True)], ["x"], "doubted", "V3 is below the minimum on the one target"),
        ([_standing(0.33, 0.2, 0.6)], [], "bad", "V3 is below the minimum on the one target"),
        (
            [_standing(0.68, 0.6, 0.8), _standing(0.9)],
            [],
            "cannot tell",
            "V3: 1 of 2 targets is undecided",
        ),
        (
            [_standing(0.9, 0.86, 0.96), _standing(0.97)],
            [],
            "good",
            "V3 is in the good band on all 2 targets",
        ),
        ([_standing(0.9)], [], "good", "V3 is in the good band on the one target"),
        ([_standing(0.75), _standing(0.9)], [], "good", "V3 is in the good band on 1 of 2 targets"),
        ([_standing(0.9)], ["x"], "doubted", "V3 is in the good band on the one target"),
    ],
)
def test_every_state(standings: list[BandStanding], doubts: list[str], state: str, statement: str) -> None:
    headline = benchmark_headline("V3", standings, doubts)
    assert (headline.state, headline.statement) == (state, statement)
    assert headline.doubt == "; ".join(doubts)


def test_the_furthest_off_is_named_with_its_target_and_what_it_rests_on() -> None:
    headline = benchmark_headline("V3", [_standing(0.33), _standing(0.9)])
    assert "Furthest off: faithfulness 33 %, minimum from 70 %" in headline.detail
    assert "no interval" in headline.detail
    sampled = benchmark_headline("V3", [_standing(0.9, 0.86, 0.96)])
    assert "n = 50 questions" in sampled.detail
    some = benchmark_headline("V3", [_standing(0.9, 0.86, 0.96)], asked=60)
    assert "n = 50 of 60 questions, those with a value for these targets" in some.detail


@pytest.mark.parametrize("mean", [-1e308, 1e308, float("inf"), float("nan"), -0.1, 1.5])
def test_a_value_outside_its_bounds_is_doubted_and_in_no_band(mean: float) -> None:
    ours = {"faithfulness": _mean("faithfulness", mean), "context_recall": _mean("context_recall", 0.99)}
    bands = dict.fromkeys(ours, TARGET)
    found = standings_of(ours, bands)
    headline = benchmark_headline("V3", found)
    assert (headline.state, headline.statement) == ("doubted", "V3: 1 of 2 targets has an impossible value")
    assert "Faithfulness: outside" in headline.detail
    only = benchmark_headline("V3", [each for each in found if each.impossible])
    assert only.statement == "V3: the one target has an impossible value"
    ours["context_recall"] = _mean("context_recall", 0.2)
    below = benchmark_headline("V3", standings_of(ours, bands))
    assert (below.state, below.statement) == ("bad", "V3 is below the minimum on 1 of 2 targets")
    assert "Furthest off: context recall 20 %" in below.detail


def test_one_question_is_one_question() -> None:
    one = replace(_standing(0.9, 0.86, 0.96), n=1)
    assert "n = 1 question;" in benchmark_headline("V3", [one]).detail


def _mean(
    metric: str, mean: float | None, low: float | None = None, high: float | None = None
) -> MetricSummary:
    return MetricSummary(metric, mean, low, high, 0, 0, 0, "none", False, {}, None, None)


def test_a_mean_lies_where_its_interval_does_and_bands_that_judge_nothing_are_left_out() -> None:
    general = next(guide for guide in GUIDES if guide.key == "ragchecker-general")
    ours = {
        "faithfulness": _mean("faithfulness", 0.6, 0.4, 0.7),
        "hallucination": _mean("hallucination", 0.7),
        "self_knowledge": _mean("self_knowledge", 0.7),
        "answer_f1": _mean("answer_f1", None),
    }
    found = standings_of(ours, dict(general.bands), frozenset({"hallucination"}))
    assert [standing.metric for standing in found] == ["hallucination", "faithfulness"]
    worst, other = found
    assert (worst.below, worst.doubted) == (True, True)
    assert worst.missing == pytest.approx(0.2)
    assert (other.reached, other.below, other.good) == (("poor", "fair"), False, False)
    assert benchmark_headline("x", found).statement == "x is poor on 1 of 2 targets"
