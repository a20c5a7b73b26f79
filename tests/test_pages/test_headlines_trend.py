"""What Trend concludes: what Compare says of the newest version against the baseline, else why nothing."""

from __future__ import annotations

import pytest

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.headlines.trend import TrendFacts, trend_headline
from ragtriage.metrics.gates.wording import GOOD_SHARE

PAIR = Headline("good", "V4 beats V1: pass rate +25 points", "48 shared questions.", "other prompts")


@pytest.mark.parametrize(
    ("facts", "state", "statement"),
    [
        (TrendFacts(1, 1, GOOD_SHARE), "empty", "A trend needs two runs"),
        (TrendFacts(3, 0, ""), "not measured", "No version has a metric that can be drawn"),
        (TrendFacts(3, 1, "faithfulness"), "not measured", "Only one of 3 runs has faithfulness"),
        (TrendFacts(4, 4, GOOD_SHARE), "not measured", "No later version can be tested"),
        (TrendFacts(4, 4, GOOD_SHARE, PAIR), "good", "V4 beats V1: pass rate +25 points"),
    ],
)
def test_every_state(facts: TrendFacts, state: str, statement: str) -> None:
    headline = trend_headline(facts)
    assert (headline.state, headline.statement) == (state, statement)
    assert headline.doubt == ("other prompts" if facts.pair else "")
