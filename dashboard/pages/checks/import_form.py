"""Beginning with checks: a table with expected and actual values becomes a run of the project."""

import streamlit as st

from ragtriage.dashboard.shell.session import View, go_to_page
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
