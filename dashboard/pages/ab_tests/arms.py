"""The arms of a live test with the runs that they are, and what to know before a decision."""

from __future__ import annotations

from math import isfinite

import streamlit as st

from ragtriage.dashboard.charts.live_tests import power_chart
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.headlines.ab import (
    ends_text,
    metric_title,
    settled_text,
    units_noun,
    value_text,
    worth_text,
)
from ragtriage.dashboard.pages.ab_tests.chosen_test import Opened
from ragtriage.dashboard.present.page_html.blocks import ArmRow, Strip, arm_row, fact_rows, section_title
from ragtriage.dashboard.shell.components import WITHOUT_BAR, current_theme, draw, draw_html
from ragtriage.dashboard.shell.session import go_to_page, open_store
from ragtriage.dashboard.wording.escaping import capital, markdown_text, shorten
from ragtriage.data.ab.ab_test import ArmResult, LiveTest
from ragtriage.data.ab.stored_tests import arm_runs
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.number_text import count, percent

NAME = 26
ROW = 34  # pixels
CLEAR = {"baseline": "", "versions": (), "other": "", "case": ""}


def arms_section(opened: Opened) -> None:
    """Draw a row for each arm; its name leads to the run of the same version."""
    test, lead, runs = opened.test, opened.lead, arm_runs(opened.stored, open_store().runs())
    words = {len(test.arms): "each is a run of its own"}.get(len(runs), "")
    title = f"{('Two', 'Three', 'Four')[len(test.arms) - 2] if len(test.arms) < 5 else len(test.arms)} arms"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(section_title(f"{title}; {words}" if words else title), width="stretch")
        if lead is not None and {test.base, lead.arm} <= set(runs):
            text = f"Compare {shorten(lead.arm, 14)} with {shorten(test.base, 14)}"
            if st.button(
                markdown_text(text), key="compare_arms", type="tertiary", icon=":material/arrow_forward:",
                icon_position="right", help="The same two versions on a test set, question by question",
            ):  # fmt: skip
                base = runs[test.base]
                go_to_page(
                    "compare",
                    project=base.project,
                    run=runs[lead.arm].run_id,
                    **{**CLEAR, "baseline": base.run_id},
                )
    with st.container(gap="xxsmall"):
        for at, arm in enumerate(test.arms):
            _arm(opened, at, arm, runs)
    hidden = test.state == "split_broken"
    facts = [
        "The name opens Triage, the list icon its cases" if runs else "",
        f"{capital(metric_title(test.metric))} with its 95 % interval" if test.metric and not hidden else "",
        f"{count(test.in_both, 'user')} in two arms left out" if test.in_both else "",
        *(f"left out: {why}, {n:,} in all" for why, n in test.left_out.items() if "two arms" not in why),
    ]
    st.caption(". ".join(markdown_text(fact) for fact in facts if fact))


def _arm(opened: Opened, at: int, arm: str, runs: dict[str, Run]) -> None:
    name = shorten(arm, NAME) + (" (base)" if arm == opened.test.base else "")
    width = 44 + 8 * max(
        len(shorten(other, NAME)) + 7 * (other == opened.test.base) for other in opened.test.arms
    )
    with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
        with st.container(
            width=width, horizontal=True, wrap=False, vertical_alignment="center", gap="xsmall"
        ):
            if arm in runs:
                run = runs[arm]
                if st.button(
                    f"**{markdown_text(name)}**",
                    key=f"arm_{at}",
                    type="tertiary",
                    help="Open its run in Triage",
                ):
                    go_to_page("triage", project=run.project, run=run.run_id, **CLEAR)
                if st.button(
                    "",
                    key=f"arm_cases_{at}",
                    type="tertiary",
                    icon=":material/list_alt:",
                    help="Open its cases",
                ):
                    go_to_page("cases", project=run.project, run=run.run_id, **CLEAR)
            else:
                st.markdown(f"**{markdown_text(name)}**")
        draw_html(arm_row(_row(opened, arm)), ROW)


def _row(opened: Opened, arm: str) -> ArmRow:
    test, lead = opened.test, opened.lead
    sizes = [count(test.units[arm], "user")] if test.by_user else []
    sizes.append(count(test.rows[arm], "row"))
    if lead is None or test.state == "split_broken":
        return ArmRow(sizes, "", "", Strip(None))
    metric, levels = lead.decides, opened.levels[lead.decides.name]
    level = levels[arm]
    known = isfinite(level.low)
    shown = [each for each in levels.values() if isfinite(each.low)]
    ends = (min(each.low for each in shown), max(each.high for each in shown)) if shown else (0.0, 1.0)
    room = 0.4 * (ends[1] - ends[0]) or 1.0
    strip = Strip(
        level.mean if known else None, level.low, level.high, None, None, "not measured", "level of the arm",
        ends[0] - room, ends[1] + room,
    )  # fmt: skip
    low, high = (value_text(metric, value).removesuffix(" %") for value in (level.low, level.high))
    return ArmRow(
        sizes, value_text(metric, level.mean if known else None), f"[{low}, {high}]" if known else "", strip
    )


def before_section(opened: Opened) -> None:
    """Draw what more traffic would show where the test cannot tell, and what to know before a decision."""
    test, lead = opened.test, opened.lead
    if lead is None:
        return
    metric = lead.decides
    settled = metric.outcome != "cannot tell" or lead.guardrails("open")
    if metric.result is not None and not settled and opened.looks and metric.needed_per_arm is not None:
        st.html(section_title("What more traffic would show"))
        draw(
            power_chart(metric, metric.result, test.worth, THEMES[current_theme()]), "live_power",
            f"Units an arm by difference; seen now: {metric.needed_per_arm:,}",
            theme=None, config=WITHOUT_BAR,
        )  # fmt: skip
        st.caption(markdown_text(worth_text(test)))
        return
    st.html(fact_rows("Before you decide", _facts(test, lead)))


def _facts(test: LiveTest, lead: ArmResult) -> list[tuple[str, str]]:
    metric = lead.decides
    facts = [
        (f"To settle “{metric_title(each.name)}” if the true difference is zero", settled_text(test, each))
        for each in lead.guardrails("open")
    ]
    if metric.outcome == "cannot tell" and metric.needed_per_arm is not None:
        facts.append(
            ("To show the difference seen", f"{count(metric.needed_per_arm, units_noun(test))} an arm")
        )
    if lead.needed_for_worth is not None and lead.looks:
        taken = f"{count(lead.needed_for_worth, units_noun(test))} an arm, one look"
        facts.append((worth_text(test).rstrip("."), taken))
    for each in lead.metrics:
        if each.response is None or each.role not in ("decides", "wanted"):
            continue
        shares = " and ".join(percent(share, 1).removesuffix(" %") for share in each.response)
        facts.append((f"Rows with {metric_title(each.name)}", f"{shares} %"))
        if each.bounds is not None:
            facts.append(("If the others could be anything, without chance", ends_text(each, *each.bounds)))
        break
    facts += [
        (
            f"{metric_title(each.name)}: variance that CUPED takes away",
            percent(max(each.cuped_saving, 0.0), 1),
        )
        for each in lead.metrics
        if each.cuped_saving is not None and each.role in ("decides", "wanted")
    ]
    if lead.looks:
        facts.append(("Looks so far, all allowed", f"{len(lead.looks):,}"))
    return facts
