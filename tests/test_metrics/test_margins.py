from __future__ import annotations

import numpy as np
import pytest

from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.max_t import FamilyTest, Outcome, margin_test
from ragtriage.metrics.statistics.paired import PairedDifference, drop_of, paired


def _passes(n: int, lost: int, won: int) -> tuple[FloatArray, FloatArray]:
    """Return two runs of n questions of which some are lost and some are won."""
    before, after = np.ones(n), np.ones(n)
    after[:lost] = 0.0
    before[lost : lost + won] = 0.0
    return before, after


def _of_passes(n: int, lost: int, won: int, higher: bool = True) -> PairedDifference:
    return paired(*_passes(n, lost, won), np.arange(n), higher_is_better=higher)


@pytest.mark.parametrize(
    ("n", "lost", "won", "outcome"),
    [
        (48, 9, 1, "worse"),  # -0.17, p = .011
        (48, 5, 2, "cannot tell"),  # -0.06, but p = .23
        (48, 1, 9, "better"),
        (400, 12, 8, "equal"),  # -0.01
        (200, 10, 17, "no worse"),  # +0.035: may be better by more than 0.05
        (34, 0, 0, "equal"),  # nothing changed
        (33, 0, 0, "cannot tell"),
        (1000, 30, 8, "equal"),  # worse beyond chance, by 0.02: tolerated
    ],
)
def test_each_outcome(n: int, lost: int, won: int, outcome: Outcome) -> None:
    assert margin_test(_of_passes(n, lost, won), True).outcome == outcome


def test_lower_is_better_mirrors_it() -> None:
    rise = _of_passes(48, 1, 9, higher=False)
    assert margin_test(rise, False).outcome == "worse"
    mirrored = _of_passes(48, 9, 1)
    assert margin_test(rise, False).largest_loss == pytest.approx(margin_test(mirrored, True).largest_loss)


def test_an_open_question_names_the_largest_loss_and_the_questions_that_settle_it() -> None:
    held = margin_test(_of_passes(48, 3, 3), True)
    assert held.outcome == "cannot tell"
    assert held.largest_loss == pytest.approx(0.10, abs=0.02)
    assert held.needed is not None
    assert (
        margin_test(_of_passes(held.needed, held.needed // 16, held.needed // 16), True).outcome
        != "cannot tell"
    )


def test_no_number_of_questions_settles_a_drop_that_is_the_margin_or_a_comparison_of_nothing() -> None:
    near = margin_test(_of_passes(10_000, 749, 250), True)  # 0.0499
    assert (near.outcome, near.needed) == ("cannot tell", None)
    empty = margin_test(paired(np.full(3, np.nan), np.ones(3), np.arange(3)), True)
    assert (empty.outcome, empty.needed) == ("cannot tell", None)


def _difference(before: list[float], after: list[float], higher: bool | None = True) -> PairedDifference:
    return paired(np.array(before), np.array(after), np.arange(len(before)), higher_is_better=higher)


CASES: list[tuple[str, list[float], list[float], bool | None, float | None, str]] = [
    ("a real drop of 0.2", [0.9] * 12, [0.7] * 12, True, 0.05, "worse"),
    ("a real drop of 0.03", [0.9] * 12, [0.87] * 12, True, 0.05, "cannot tell"),
    ("a real drop of exactly the limit", [0.9] * 12, [0.85] * 12, True, 0.05, "worse"),
    ("a drop of 0.2 on one of twelve", [0.9] * 12, [0.9] * 11 + [0.0], True, 0.05, "cannot tell"),
    ("a rise where lower is better", [0.1] * 12, [0.3] * 12, False, 0.05, "worse"),
    ("a fall where lower is better", [0.3] * 12, [0.1] * 12, False, 0.05, "better"),
    ("a rise", [0.5] * 12, [0.7] * 12, True, 0.05, "better"),
    ("nothing moved", [0.5] * 12, [0.5] * 12, True, 0.05, "cannot tell"),
    ("no direction", [0.5] * 12, [0.1] * 12, None, 0.05, "no direction"),
    ("no limit on this scale", [0.9] * 12, [0.1] * 12, True, None, "worse"),
    ("nothing moved on such a scale", [0.5] * 12, [0.5] * 12, True, None, "equal"),
    ("four questions, however large the drop", [1.0] * 4, [0.0] * 4, True, 0.05, "cannot tell"),
    ("no shared question", [np.nan] * 12, [0.5] * 12, True, 0.05, "cannot tell"),
]


@pytest.mark.parametrize(
    ("what", "before", "after", "higher", "most", "word"), CASES, ids=lambda one: str(one)[:40]
)
def test_what_counts_as_worse(
    what: str, before: list[float], after: list[float], higher: bool | None, most: float | None, word: str
) -> None:
    found = _difference(before, after, higher)
    assert margin_test(found, higher, most).outcome == word, what


def test_a_drop_beyond_margin_and_chance_is_worse_though_the_interval_reaches_the_margin() -> None:
    base = np.linspace(0.7, 0.9, 40)
    drop = np.where(np.arange(40) % 2, 0.30, -0.12)  # 0.09 on average, from 0.02 to 0.16 or so
    found = paired(base, base - drop, np.arange(40))
    assert found.high > -0.05
    assert margin_test(found, True).outcome == "worse"
    assert margin_test(found, True, 0.10).outcome == "cannot tell"


def test_a_correction_over_a_family_can_take_a_loss_back() -> None:
    found = _difference([0.9] * 12, [0.7] * 12)
    assert drop_of(found, True) == pytest.approx(0.2)
    assert margin_test(found, True, family=FamilyTest(0.01, -0.3, -0.1)).outcome == "worse"
    taken_back = margin_test(found, True, family=FamilyTest(0.06, -0.42, 0.02))
    assert (taken_back.outcome, taken_back.largest_loss) == ("cannot tell", 0.42)
    assert np.isnan(drop_of(found, None))


def test_in_a_family_its_interval_decides_what_is_no_worse() -> None:
    found = _of_passes(200, 10, 17)  # +0.035
    assert margin_test(found, True).outcome == "no worse"
    wide = margin_test(found, True, family=FamilyTest(0.9, -0.06, 0.12))
    assert (wide.outcome, wide.largest_loss) == ("cannot tell", 0.06)
    assert margin_test(found, True, family=FamilyTest(0.9, -0.04, 0.04)).outcome == "equal"
