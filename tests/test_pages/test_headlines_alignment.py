"""The conclusion of the Alignment page in every state."""

from __future__ import annotations

import numpy as np
import pytest

from ragtriage.dashboard.headlines.alignment import alignment_headline, no_use_headline
from ragtriage.data.analysis.alignment import Group, Rate
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.statistics.intervals import Interval, interval

SAME = Finding("same_list", "warning", "Every question got the same 10 documents", "All did.")
SKIPS = "V2 ignores the top document"


def _value(ignored: int, n: int) -> Interval:
    return interval(np.array([1.0] * ignored + [0.0] * (n - ignored)), np.arange(n), n, True)


def _groups(gold: tuple[int, int], other: tuple[int, int]) -> list[Group]:
    pairs = (("not relevant", other), ("relevant", gold))
    return [Group(key, key, _value(*pair)) for key, pair in pairs]


@pytest.mark.parametrize(
    ("ignored", "n", "groups", "state", "statement"),
    [
        (5, 45, [], "good", "V2 uses the top document for 40 of 45 questions"),
        (30, 45, [], "bad", "V2 ignores the top document for 30 of 45 questions"),
        (19, 45, [], "cannot tell", "V2: 45 questions cannot tell if 70 % use the top document"),
        (19, 45, _groups((0, 21), (16, 20)), "cannot tell", f"{SKIPS} only where it is not gold"),
        (30, 45, _groups((1, 15), (29, 30)), "bad", f"{SKIPS} mainly where it is not gold"),
        (30, 45, _groups((12, 15), (18, 30)), "bad", f"{SKIPS} even where it is gold"),
        (2, 4, [], "cannot tell", "V2: 4 questions are too few to tell what answers use"),
    ],
)  # fmt: skip
def test_the_rate_is_held_against_its_alert_line(
    ignored: int, n: int, groups: list[Group], state: str, statement: str
) -> None:
    found = alignment_headline("V2", Rate("judge", _value(ignored, n), 0), groups)
    assert (found.state, found.statement, found.doubt) == (state, statement, "")
    assert len(found.statement) <= 70
    assert f"n = {n} questions, judged" in found.detail


def test_estimated_use_and_one_list_for_all_are_doubted() -> None:
    found = alignment_headline("V2", Rate("lexical", _value(30, 45), 0), [], [SAME])
    assert found.state == "doubted"
    assert "estimated from shared words" in found.doubt
    assert "every question got the same 10 documents" in found.doubt


def test_without_use_and_without_answers() -> None:
    assert no_use_headline("V2", has_answers=True).state == "not measured"
    assert no_use_headline("V2", has_answers=False).state == "empty"
