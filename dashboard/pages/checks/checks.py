"""Checks: which suite of checks fails, why, in which cases, and is it better than the baseline?"""

from functools import partial

import streamlit as st

from ragtriage.dashboard.pages.checks.chosen_suite import suite_section, suite_tabs
from ragtriage.dashboard.pages.checks.suite_list import changes_since, suite_list, suites_in, what_follows
from ragtriage.dashboard.shell.components import open_page, run_facts
from ragtriage.dashboard.shell.empty_pages import example_section
from ragtriage.dashboard.shell.session import View, current_view, go_to_page
from ragtriage.dashboard.suites.headline import checks_headline, no_checks_headline
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.errors import DataError
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_source
from ragtriage.data.importers.parsing.input_file import InputFile

TEMPLATE = """question,answer,expected_route,actual_route
Is the pool open on Sunday?,"Yes, from 9 to 18 h.",opening_hours,opening_hours
Where is my parcel?,I cannot say.,tracking,small_talk
"""


def import_form(view: View) -> None:
    """Ask for a file whose columns expected_X and actual_X are checks of the kind X, and import it."""
    with st.form("checks_form", border=False):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            upload = st.file_uploader(
                "File with pairs of columns, such as expected_route and actual_route",
                ["csv", "jsonl", "json", "parquet"],
                key="checks_file",
                width="stretch",
            )
            name = st.text_input("Name of the run", key="checks_name", placeholder="from the file", width=220)
        submitted = st.form_submit_button("Import and check", icon=":material/play_arrow:")
    st.download_button(
        "Download a template", TEMPLATE, "checks.csv", type="tertiary", icon=":material/download:",
        on_click="ignore", key="checks_template",
    )  # fmt: skip
    if not submitted:
        return
    if upload is None:
        st.error("No file is chosen; accepted: csv, jsonl, json or parquet.", title="Nothing was imported")
        return
    source = InputFile.from_bytes(upload.name, upload.getvalue())
    try:
        imported = import_source(view.store, source, Options(name=name.strip() or None), view.project)
    except DataError as error:
        st.error(markdown_text(str(error)), title="Nothing was imported")
        return
    if imported:
        go_to_page("checks", run=imported[-1].run.run_id)


view = current_view()
name = view.store.names()[view.run.run_id]
summaries = suites_in(view.scored(view.run))
if not summaries:
    open_page(no_checks_headline(name), meta=run_facts(view))
    example_section("checks", partial(import_form, view), "Start from a table of checks")
    st.stop()

changes = changes_since(view)
base_name = view.labels[view.baseline.run_id] if changes and view.baseline is not None else ""
open_page(checks_headline(name, summaries, changes, base_name), meta=run_facts(view))
sides = st.grid(2, min_column_width=350, gap="medium")
with sides.container(gap="xsmall"):
    suite = suite_list(summaries, changes, base_name)
    what_follows(suite, changes.get(suite.key), base_name)
with sides.container(gap="xsmall"):
    shown = suite_section(view, suite)
suite_tabs(view, suite, shown, changes.get(suite.key), base_name)
