"""The menus of the page: what the policy watches, the facts as files, and a regression set."""

from __future__ import annotations

import json
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from ragtriage.dashboard.headlines.production import production_headline, since_text
from ragtriage.dashboard.pages.production.live_view import Opened
from ragtriage.dashboard.shell.regressions import forget_said, into_dataset
from ragtriage.dashboard.shell.session import current_selection
from ragtriage.dashboard.shell.user import may_write
from ragtriage.dashboard.tables.live_traffic import alert_title
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.live.production.as_json import production_dict
from ragtriage.data.live.production.labelling import ToLabel
from ragtriage.data.live.production.times import iso
from ragtriage.data.live.production.window_runs import kept_samples
from ragtriage.metrics.number_text import count

OPEN = "regression_dialog"  # in the session
SHOWN = 8  # questions that the dialog lists


def rules_menu(opened: Opened) -> None:
    """Draw the popover with the rules, where they are set and who is told."""
    facts = opened.facts
    with st.popover(
        ":material/notifications:", type="tertiary", key="live_rules", help="Rules of the alerts"
    ):
        st.markdown(
            "\n".join(f"- {markdown_text(alert_title(each, facts))}" for each in facts.alerts) or "No rule."
        )
        st.caption(f"Set in {markdown_text(facts.policy.source)}")
        notify = facts.policy.policy.notify
        told = [
            name for name, there in (("a command", notify.command), ("a webhook", notify.webhook)) if there
        ]
        st.caption(
            f"Told: {' and '.join(told)}." if told else "Nobody is notified: set [notify] in the policy."
        )


def share_menu(opened: Opened) -> None:
    """Draw the popover that hands over the view: an address that stays, and the facts as JSON."""
    facts = opened.facts
    with st.popover(":material/ios_share:", type="tertiary", key="live_share", help="Share this view"):
        fixed = current_selection().with_(
            project=facts.project, live_span=f"{iso(facts.times.first)}~{iso(facts.times.last)}"
        )
        st.link_button("This time, as an address that stays", f"production?{urlencode(fixed.to_params())}")
        st.download_button(
            "Facts as JSON", partial(_json, opened), f"{facts.project} production.json", key="live_json",
            on_click="ignore",
        )  # fmt: skip
        st.caption("`ragtriage production` prints the same.")


def _json(opened: Opened) -> bytes:
    facts = opened.facts
    headline = production_headline(facts)
    values = {**production_dict(facts), "state": headline.state, "sentence": headline.text}
    return json.dumps(values, ensure_ascii=False, indent=1).encode()


def regression_button(opened: Opened) -> None:
    """Draw the button that puts what went wrong into a dataset; nothing where the workspace is only read."""
    if not may_write() or not any(row.trace_id for row in opened.facts.to_label):
        return
    if st.button("Make a regression set", key="regression_open", icon=":material/playlist_add:"):
        st.session_state[OPEN] = True
    if st.session_state.get(OPEN):
        st.dialog("Make a regression set", on_dismiss=_close)(_form)(opened)


def _close() -> None:
    st.session_state[OPEN] = False
    forget_said("regression")


def _chosen(opened: Opened, complete: bool) -> list[ToLabel]:
    rows = [row for row in opened.facts.to_label if row.trace_id]
    return [row for row in rows if row.context_complete] if complete else rows


def _form(opened: Opened) -> None:
    """Ask which questions go where, and add them."""
    facts, times = opened.facts, opened.facts.times
    some = any(row.context_complete for row in facts.to_label)
    complete = some and st.toggle(
        "Only where the context held the answer", value=True, key="regression_complete"
    )
    rows = _chosen(opened, complete)
    listed = "\n".join(f"- {markdown_text(shorten(row.question, 90))}" for row in rows[:SHOWN])
    more = f"\n- and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
    st.markdown(
        f"**{count(len(rows), 'question')}**, each once, refused or disliked {since_text(facts)}:"
        f"\n\n{listed}{more}"
    )
    source = f"{facts.project}, {iso(times.later)[:16]} to {iso(times.last)[:16]}"
    traces = [row.trace_id for row in rows]
    questions = [row.question for row in rows]
    into_dataset("regression", questions, facts.project, source, lambda: kept_samples(opened.calls, traces))
