from __future__ import annotations

import numpy as np
import pytest

from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.margins import Outcome, margin_test
from ragtriage.metrics.statistics.paired import PairedDifference, paired


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
