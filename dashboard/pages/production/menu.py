"""The menus of the page: what the policy watches, the facts as files, and a regression set."""

from __future__ import annotations

import json
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from ragtriage.dashboard.headlines.production import production_headline, since_text
from ragtriage.dashboard.pages.production.opened import Opened
from ragtriage.dashboard.shell.session import current_selection, open_store
from ragtriage.dashboard.shell.user import attempt, may_write
from ragtriage.dashboard.tables.live_traffic import alert_title
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.datasets.dataset import Dataset, create_dataset, datasets
from ragtriage.data.datasets.regressions import Added, add_regressions
from ragtriage.data.live.production.as_json import production_dict
from ragtriage.data.live.production.labelling import ToLabel
from ragtriage.data.live.production.parts import kept_samples
from ragtriage.data.live.production.times import iso
from ragtriage.metrics.number_text import count

OPEN = "regression_dialog"  # in the session
NEW = ""  # among the datasets: a new one
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
        st.caption(f"Told: {' and '.join(told) or 'nobody; [notify] in the policy says whom'}.")


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
    if st.button(
        "Make a regression set", key="regression_open", type="primary", icon=":material/playlist_add:"
    ):
        st.session_state[OPEN] = True
    if st.session_state.get(OPEN):
        st.dialog("Make a regression set", on_dismiss=_close)(_form)(opened)


def _close() -> None:
    st.session_state[OPEN] = False


def _chosen(opened: Opened, complete: bool) -> list[ToLabel]:
    rows = [row for row in opened.facts.to_label if row.trace_id]
    return [row for row in rows if row.context_complete] if complete else rows


def _form(opened: Opened) -> None:
    """Ask which questions go where, and add them."""
    facts = opened.facts
    sets = {each.dataset_id: each for each in datasets(opened.store.workspace)}
    if not sets:
        st.write("There is no dataset yet, and so no corpus to look up gold in.")
        st.code("ragtriage dataset from-questions RUN CORPUS", language="bash")
        return
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
    name = {**{key: each.name for key, each in sets.items()}, NEW: "a new dataset"}
    into = str(st.selectbox("Into", [*sets, NEW], format_func=name.__getitem__, key="regression_into"))
    new_name, corpus_of = "", None
    if into == NEW:
        new_name = st.text_input("Its name", f"regressions of {facts.project}", key="regression_name")
        key = st.selectbox(
            "On the corpus of", list(sets), format_func=name.__getitem__, key="regression_corpus"
        )
        corpus_of = sets[str(key)]
    st.caption("Gold that came with the traces is kept, else search proposes some. All wait in the review.")
    if st.button(
        f"Add {count(len(rows), 'question')} to the review",
        key="regression_add",
        type="primary",
        disabled=not rows,
    ):
        attempt(partial(_add, opened, rows, sets.get(into), new_name, corpus_of))
        _close()
        st.rerun()


def _add(
    opened: Opened, rows: list[ToLabel], dataset: Dataset | None, name: str, corpus_of: Dataset | None
) -> str:
    times = opened.facts.times
    source = f"{opened.facts.project}, {iso(times.later)[:16]} to {iso(times.last)[:16]}"
    samples = kept_samples(opened.calls, [row.trace_id for row in rows])
    target = dataset or create_dataset(open_store().workspace, name)
    return added_text(target, add_regressions(target, samples, source, corpus_of))


def added_text(dataset: Dataset, added: Added) -> str:
    """Return what came of adding, as Markdown."""
    name = markdown_text(dataset.name)
    known = f"; {added.known:,} are there already" if added.known else ""
    address = urlencode({"dataset": dataset.dataset_id, "part": "review"})
    return f"{count(added.added, 'question')} added to [{name}](datasets?{address}){known}."
