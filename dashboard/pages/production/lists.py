"""The lists below: alerts, what to label first, and how the scores were sampled."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from ragtriage.dashboard.pages.production.live_view import CLEAR, Opened, open_run
from ragtriage.dashboard.present.page_html.blocks import LiveRow, live_rows
from ragtriage.dashboard.shell.session import current_selection
from ragtriage.dashboard.shell.user import may_write
from ragtriage.dashboard.tables.live_traffic import (
    ALERT_STATES,
    STRATA,
    alert_since,
    alert_title,
    alert_windows,
    alerts_title,
    before_title,
    empty_strata,
    intake_note,
    label_title,
    refusals_note,
    sampling_note,
    sampling_title,
)
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.live.production.facts import Production
from ragtriage.data.live.production.labelling import ToLabel
from ragtriage.metrics.number_text import count, number, percent

MOST_ROWS = 6
QUESTION = 60
ORDER = ("firing", "unclear", "cannot_tell", "ok", "no_data")


def lists_section(opened: Opened) -> None:
    """Draw the three lists side by side."""
    lists = st.grid(3, min_column_width=310)
    with lists.container():
        _alerts(opened)
    with lists.container():
        _to_label(opened)
    with lists.container():
        _sampling(opened)


def _alerts(opened: Opened) -> None:
    facts = opened.facts
    alerts = sorted(facts.alerts, key=lambda alert: ORDER.index(alert.state))
    rows = [
        LiveRow(
            ALERT_STATES[each.state], alert_title(each, facts), alert_since(each, facts), alert_windows(each)
        )
        for each in alerts[:MOST_ROWS]
    ]
    more = len(alerts) - len(rows)
    foot = f"and {count(more, 'rule')} more" if more else ""
    if not alerts:
        foot = "No rule watches this traffic: [[alerts]] in its policy sets some."
    st.html(live_rows(alerts_title(facts), rows, foot))


def _to_label(opened: Opened) -> None:
    facts = opened.facts
    run_id, base_id = opened.run_id(later=True), opened.run_id(later=False)
    rows = [_label_row(row, run_id, base_id, facts) for row in facts.to_label[:MOST_ROWS]]
    foot = f"At the right, {before_title(facts)}." if any(row.right for row in rows) else ""
    st.html(live_rows(label_title(facts, len(rows)), rows, foot))
    if not may_write() and not run_id:
        return
    with st.container(horizontal=True, gap="xsmall", wrap=False, key="live_links"):
        if _link("Open in Cases", "live_cases"):
            open_run(opened, "cases", opened.part(later=True), opened.part(later=False), refused="yes")
        if _link("In Triage", "live_triage"):
            open_run(opened, "triage", opened.part(later=True), opened.part(later=False))
        if facts.calls_before and _link("Before and after", "live_compare"):
            open_run(opened, "compare", opened.part(later=True), opened.part(later=False))


def _link(label: str, key: str) -> bool:
    icon = ":material/arrow_forward:"
    return bool(st.button(label, key=key, type="tertiary", icon=icon, icon_position="right"))


def _label_row(row: ToLabel, run_id: str, base_id: str, facts: Production) -> LiveRow:
    href = ""
    if run_id and row.trace_id:
        selection = (
            current_selection()
            .unfiltered()
            .with_(**{**CLEAR, "case": f"{row.trace_id}~0", "baseline": base_id})
        )
        href = f"cases?{urlencode(selection.with_(project=facts.project, run=run_id).to_params())}"
    before = f"before {number(row.before, 1)}" if row.before == row.before else ""
    return LiveRow(
        None,
        shorten(" ".join(row.question.split()), QUESTION),
        count(row.calls, "call"),
        before,
        row.question,
        href,
    )


def _sampling(opened: Opened) -> None:
    facts = opened.facts
    rows = [
        LiveRow(None, f"Judged of {STRATA[each.stratum.name]}",
            f"{each.judged:,} of {each.stratum.calls:,}", percent(each.stratum.rate))
        for each in facts.sampling.strata
    ]  # fmt: skip
    rows += [
        LiveRow(None, f"Judged of {STRATA[name]}", "no call", percent(rate))
        for name, rate in empty_strata(facts).items()
    ]
    if facts.refusals is not None:
        n = f"{facts.calls_since:,}"
        rows.insert(0, LiveRow(None, "Checked for a refusal, by rule", n, "100 %"))
    waiting = f" {count(facts.unpublished, 'kept call')} in no run yet." if facts.unpublished else ""
    st.html(
        live_rows(
            sampling_title(facts),
            rows,
            f"{sampling_note(facts)}{refusals_note(facts)}{waiting}{intake_note(facts)}",
        )
    )
