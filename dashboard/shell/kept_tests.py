"""Live tests of the workspace, concluded once, and the one that the run on display is an arm of."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from ragtriage.dashboard.headlines.ab import ab_headline, change_text, metric_title
from ragtriage.dashboard.headlines.headline import GLYPHS, LOOKS
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.ab.ab_test import LiveTest, TestOptions, live_test
from ragtriage.data.ab.reading import TestRows
from ragtriage.data.ab.stored_tests import StoredTest, arm_runs, stored_tests
from ragtriage.data.errors import DataError
from ragtriage.metrics.schema.scores import MetricsError

NAME = 16
COLOURS = {"good": "green", "bad": "red", "unclear": "orange", "unmeasured": "gray"}


@kept
def rows_of(stored: StoredTest) -> TestRows:
    """Return the rows of a test."""
    return stored.rows()


@kept
def concluded(stored: StoredTest, options: TestOptions) -> LiveTest:
    """Return the conclusion of a test."""
    return live_test(rows_of(stored), options)


def live_test_link(view: View) -> None:
    """Say what users did with the version on display, where it is an arm of a live test; link to the test."""
    arms = {
        test.test_id: (test, arm)
        for test in stored_tests(view.store.workspace)[0]
        for arm, run in arm_runs(test, view.runs).items()
        if run == view.run
    }
    if not arms:
        return
    stored, arm = list(arms.values())[-1]
    own = arm != stored.arms[0]
    try:
        test = concluded(stored, replace(stored.options, arm=arm) if own else stored.options)
    except (DataError, MetricsError):  # the page A/B says what is wrong
        return
    headline = ab_headline(test)
    text = "nothing counts" if test.lead is None or test.state == "split_broken" else ""
    if not text and test.lead is not None:
        decides = test.lead.decides
        change = change_text(decides, decides.result.difference if decides.result else None)
        text = f"{'' if own else f'{shorten(test.lead.arm, NAME)} '}{metric_title(decides.name)} {change}"
    label = markdown_text(f"{GLYPHS[headline.state]} live: {text}")
    chosen = view.selection.with_(test=stored.test_id, deciding="", arm=arm if own else "", look=0, tab="")
    st.page_link(
        "ab_tests/ab_tests.py", label=f":{COLOURS[LOOKS[headline.state]]}-badge[{label}]",
        help=markdown_text(f"Open the test. {headline.statement}"),
        query_params=chosen.to_params(),
    )  # fmt: skip
