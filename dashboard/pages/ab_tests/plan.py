"""Planning a test: how many users an arm and how many days an effect takes that is worth having."""

from __future__ import annotations

from math import ceil, isfinite, sqrt

import streamlit as st

from ragtriage.dashboard.headlines.ab import units_noun
from ragtriage.dashboard.pages.ab_tests.chosen_test import Opened
from ragtriage.dashboard.shell.components import how_measured, show_table
from ragtriage.dashboard.shell.user import may_write
from ragtriage.data.ab.ab_test import LiveTest
from ragtriage.metrics.ab.differences import Difference
from ragtriage.metrics.ab.sequence import units_for_band
from ragtriage.metrics.result_table import Count, ResultTable, Row
from ragtriage.metrics.statistics.power import units_per_arm

OPEN = "plan_dialog"  # in the session: whether the dialog is open
SHARE, NUMBER = "a share, one row a user", "a number, or a share over several rows a user"
USUAL_BASE, USUAL_WORTH, USUAL_TRAFFIC = 0.5, 0.05, 200
FACTORS = (0.5, 1.0, 2.0)  # of the effect worth having that are shown


def plan_button(opened: Opened | None) -> None:
    """Draw the button that opens the plan in a dialog; nothing where the workspace is only read."""
    if not may_write():
        return
    if st.button("Plan a test", icon=":material/calculate:", key="open_plan"):
        st.session_state[OPEN] = True
    if st.session_state.get(OPEN):
        tag = "" if opened is None else f"{opened.stored.test_id}_{opened.test.metric}"
        st.dialog("Plan a test", width="large", on_dismiss=_close)(plan)(opened.test if opened else None, tag)


def _close() -> None:
    st.session_state[OPEN] = False


def plan(test: LiveTest | None, tag: str) -> None:
    """Ask for base, effect and traffic, and show what the test takes; filled in from the test on display.

    Args:
        test: on display; None for none.
        tag: of the test and its metric: what is typed belongs to them.
    """
    decides = None if test is None or test.lead is None else test.lead.decides
    result = None if decides is None else decides.result
    is_share = decides is not None and decides.kind not in ("mean", "nps")
    several = is_share and result is not None and result.method != "Newcombe"  # the variance is a user's
    is_number = decides is not None and (several or not is_share)
    per_day = USUAL_TRAFFIC
    if test is not None and test.days:
        per_day = max(1, round(sum(test.units.values()) / test.days))
    noun = "user" if test is None else units_noun(test)
    kind = st.segmented_control(
        "What decides",
        [SHARE, NUMBER],
        default=NUMBER if is_number else SHARE,
        required=True,
        key=f"plan_kind_{tag}",
    )
    same = result is not None and is_number == (kind == NUMBER)
    with st.container(horizontal=True):
        if kind == SHARE:
            base = st.number_input(
                "Base rate", 0.0, 1.0, step=0.01, format="%g", key=f"plan_base_{tag}", width=150,
                value=round(result.base, 3) if same and result else USUAL_BASE,
            )  # fmt: skip
            deviation = 0.0
        else:
            base = 0.0
            deviation = st.number_input(
                f"Standard deviation of a {noun}", 0.0, format="%g", key=f"plan_deviation_{tag}", width=220,
                value=_deviation(result) if same and result else 1.0,
            )  # fmt: skip
        known = test.worth if test is not None and same and test.worth is not None else None
        worth = st.number_input(
            "Effect worth having", 0.0, value=known or USUAL_WORTH, format="%g",
            key=f"plan_worth_{tag}", width=170,
            help="The smallest difference that would change the decision; of a share 0.05 is 5 points.",
        )  # fmt: skip
        day = f"{noun.capitalize()}s a day"
        traffic = st.number_input(day, 1, value=per_day, key=f"plan_traffic_{tag}", width=150)
        arms = st.number_input("Arms", 2, 10, 2, key="plan_arms", width=110)
    rows = plan_rows(base, deviation, worth, traffic, arms, noun) if worth else ()
    if not rows:
        st.error("Effect worth having: above 0, and of a share so small that base and effect stay below 1.")
        return
    show_table(ResultTable("What a test takes", rows))
    if same and result and several:
        _say_variance(result, noun)
    st.code(_assignment(arms), language=None)
    how_measured(
        "One look: (z(0.975) + z(0.8))² (v1 + v2) / d² units an arm, v = p (1 − p) of a share, by "
        "`metrics/statistics/power.py`.",
        "Looks every day: so many that the always-valid band, narrowest at this effect, leaves zero at "
        "the end in four of five tests; most stop earlier. Fix effect and metric before the start.",
    )


def _say_variance(result: Difference, noun: str) -> None:
    """Say why a share takes fewer units than its rate alone would."""
    plain = sqrt(result.base * (1 - result.base))
    st.caption(
        f"A {noun} of this test has several rows: the share of one varies by {_deviation(result):.3f}, a "
        f"single row by {plain:.3f}. The numbers are those of the page."
    )


def _deviation(result: Difference) -> float:
    """Return the deviation of a unit, from both arms, so that a plan takes what the test says."""
    return sqrt((result.base_variance + result.arm_variance) / 2)


def plan_rows(
    base: float, deviation: float, worth: float, traffic: int, arms: int, noun: str
) -> tuple[Row, ...]:
    """Return what effects around the one worth having take; () where a share would leave 0 to 1."""
    rows: list[Row] = []
    for factor in FACTORS:
        effect = factor * worth
        if deviation:
            variances = (deviation**2, deviation**2)
        elif 0 <= base <= 1 and base + effect <= 1:
            variances = (base * (1 - base), (base + effect) * (1 - base - effect))
        else:
            continue
        one = units_per_arm(variances, effect)
        daily = units_for_band(variances, effect)
        if not isfinite(one * arms / traffic) or not sum(variances):
            continue
        rows.append(
            {
                "Effect": f"{effect:g}" + (" (worth having)" if factor == 1 else ""),
                f"{noun.capitalize()}s an arm, one look": Count(one),
                "Days": Count(ceil(one * arms / traffic)),
                f"{noun.capitalize()}s an arm, looks every day": Count(daily),
                "Days at most": Count(ceil(daily * arms / traffic)),
            }
        )
    return tuple(rows)


def _assignment(arms: int) -> str:
    shares = ", ".join(f'"{chr(65 + at)}": {1 / arms:.3g}' for at in range(arms))
    return f'arm = ragtriage.assign(user_id, "name of the test", {{{shares}}})'
