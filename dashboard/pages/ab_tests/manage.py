"""Loading a live test from files, its name, its deletion, and its export."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import streamlit as st

from ragtriage.dashboard.headlines.ab import ab_headline
from ragtriage.dashboard.pages.ab_tests.chosen_test import Opened
from ragtriage.dashboard.shell.components import show_errors, show_table
from ragtriage.dashboard.shell.session import keep, open_store
from ragtriage.dashboard.shell.user import attempt, may_write, only_reads, path_input
from ragtriage.dashboard.tables.live_tests import MEASURED_AS, arm_table, metric_table
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.dashboard.wording.table_files import export_table
from ragtriage.data.ab.ab_test import TestOptions, live_test
from ragtriage.data.ab.measures import deciding, measures_of
from ragtriage.data.ab.reading import TestRows, read_test
from ragtriage.data.ab.stored_tests import StoredTest, delete_test, keep_test, rename_test
from ragtriage.data.errors import DataError
from ragtriage.data.store.access import allowed_path
from ragtriage.metrics.number_text import count
from ragtriage.metrics.result_table import ResultTable, text_rows
from ragtriage.metrics.schema.scores import MetricsError

OPEN = "load_test_dialog"  # in the session: whether the dialog is open
ENDINGS = ["csv", "tsv", "jsonl", "json", "parquet", "xlsx", "gz"]
AGAIN = {"deciding": "", "arm": "", "look": 0}  # what belongs to the test on display alone
FOUND = "found by its name"


def load_button() -> None:
    """Draw the button that opens the loader in a dialog; nothing where the workspace is only read."""
    if not may_write():
        return
    if st.button("Load a test", icon=":material/upload_file:", key="open_test_loader"):
        st.session_state[OPEN] = True
    if st.session_state.get(OPEN):
        st.dialog("Load a test", width="large", on_dismiss=_close)(loader)()


def _close() -> None:
    st.session_state[OPEN] = False


def loader() -> None:
    """Draw the upload of files or a path, how they are read, what was decided before, and the button."""
    if not may_write():
        only_reads("Uploads")
        return
    uploads = st.file_uploader(
        "A file with a column of arms, or a file for each arm", ENDINGS, accept_multiple_files=True,
        key="test_uploads",
    )  # fmt: skip
    path = path_input("or a path on this machine", "test_path", "/data/events.csv").strip()
    if not uploads and not path:
        st.caption(
            "A row is an answer or a user. Columns such as user_id, variant, timestamp, task_completed, "
            "satisfaction_score, nps_score and response_time are known by name; every column of numbers or "
            "of yes and no is a metric. Ids of users and texts are not kept."
        )
        return
    with st.container(horizontal=True):
        asked = {
            name: st.text_input(label, key=f"test_{name}", placeholder=FOUND, width=150).strip() or None
            for name, label in {
                "by": "Column of arms",
                "user": "of users",
                "time": "of times",
                "base": "Base arm",
            }.items()
        }
    try:
        rows = _rows(uploads, path, asked)
        measures = measures_of(rows)
    except DataError as error:
        show_errors(error)
        return
    origin = ", ".join(upload.name for upload in uploads) or Path(path).name
    _read_as(rows)
    try:
        options = _options(rows, list(measures), deciding(measures))
        live_test(rows, options)  # refuses what does not fit before there is a button
    except (DataError, MetricsError) as error:
        st.error(markdown_text(str(error)))
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Name", Path(origin).name.partition(".")[0], key="test_name", width=260)
        note = st.text_input("Note", key="test_note", placeholder="what a reader must know", width=260)
        if st.button("Keep the test", key="keep_test", type="primary"):
            _keep(rows, options, name, origin, note)


def _rows(uploads: list[Any], path: str, asked: Mapping[str, str | None]) -> TestRows:
    """Read uploaded files by the code that reads paths, which knows their names and endings.

    Raises:
        DataError: a file cannot be read, or does not hold arms.
    """
    if not uploads:
        return read_test([allowed_path(path)], **asked)
    with TemporaryDirectory() as folder:
        names = [re.sub(r"[^\w .-]", "_", Path(upload.name).name).lstrip(". ") for upload in uploads]
        files = [Path(folder) / (name or "rows.csv") for name in names]
        for file, upload in zip(files, uploads, strict=True):
            file.write_bytes(upload.getvalue())
        try:
            return read_test(files, **asked)
        except DataError as error:
            raise DataError(str(error).replace(f"{folder}/", "")) from error


def _read_as(rows: TestRows) -> None:
    """Show what the rows were read as."""
    units = f"users: {rows.user_column}" if rows.user_column else "no users: rows are taken as independent"
    times = f"times: {rows.time_column}" if rows.time_column else "no times: one look"
    arms = ", ".join(f"{arm} {int((rows.arm == at).sum()):,}" for at, arm in enumerate(rows.arms))
    st.markdown(
        f"**{count(rows.n, 'row')}**: {markdown_text(arms)}; {markdown_text(units)}; {markdown_text(times)}"
    )
    shown = [
        {
            "Metric": each.name,
            "Measured as": MEASURED_AS[each.kind],
            "Better": {None: "nobody said", True: "higher", False: "lower"}[each.higher_is_better],
        }
        for each in measures_of(rows).values()
    ]
    show_table(ResultTable("Metrics of the rows", tuple(shown)))


def _options(rows: TestRows, names: list[str], usual: str) -> TestOptions:
    """Ask for what was decided before the start.

    Raises:
        DataError: a guardrail that is none.
    """
    with st.container(horizontal=True):
        metric = st.selectbox(
            "Metric that decides",
            names,
            index=names.index(usual) if usual else None,
            key="test_metric",
            width=220,
        )
        worth = st.number_input(
            "Effect worth having", 0.0, value=None, key="test_worth", width=190, format="%g",
            help="In the metric's unit, fixed before the start: 0.02 is 2 points of a share.",
        )  # fmt: skip
        guardrails = st.text_input(
            "Guardrails", key="test_guardrails", width=300,
            placeholder="e.g. response_time:0.2, back_within_7_days:0.03",
            help="NAME:MARGIN, the most that may be lost, in the metric's unit.",
        )  # fmt: skip
    drawn = st.checkbox(
        "Users were assigned to arms at random, in equal shares", rows.randomised, key="test_randomised"
    )
    margins = {}
    for text in filter(None, (part.strip() for part in guardrails.split(","))):
        name, _, margin = text.rpartition(":")
        try:
            margins[name.strip()] = float(margin)
        except ValueError:
            raise DataError(
                f"guardrail {text[:60]!r}; accepted: NAME:MARGIN, as in response_time:0.2"
            ) from None
    return TestOptions(metric, margins, worth or None, randomised=drawn)


def _keep(rows: TestRows, options: TestOptions, name: str, origin: str, note: str) -> None:
    try:
        stored = keep_test(open_store().workspace, rows, options, name, origin, note)
    except DataError as error:
        st.error(markdown_text(str(error)))
        return
    _close()
    keep(test=stored.test_id, **AGAIN)
    st.rerun()


def test_menu(opened: Opened) -> None:
    """Draw the menu to export, rename and delete a test."""
    stored = opened.stored
    with st.popover(
        ":material/ios_share:",
        type="tertiary",
        key="test_menu",
        on_change="rerun",
        help="Export, name, delete",
    ) as box:
        if not box.open:
            return
        st.caption(markdown_text(f"Read from {stored.origin}, kept {stored.created_at[:10]}. {stored.note}"))
        st.download_button(
            "JSON, as `ragtriage ab --json`", partial(answer_json, opened), f"{stored.test_id}.json",
            key="test_json", on_click="ignore", type="tertiary")  # fmt: skip
        tables = [arm_table(opened.test)]
        if opened.test.state != "split_broken":
            tables += [metric_table(opened.test, arm) for arm in opened.test.results]
        for at, table in enumerate(tables):
            st.download_button(
                markdown_text(f"CSV: {table.title}"), partial(export_table, text_rows(table), "csv"),
                f"{stored.test_id}-{at}.csv", key=f"test_csv_{at}", on_click="ignore", type="tertiary",
            )  # fmt: skip
        if may_write():
            _rename_and_delete(stored)


def answer_json(opened: Opened) -> str:
    """Return what `ragtriage ab --json` prints of a test."""
    answer = {**opened.test.to_dict(), "sentence": ab_headline(opened.test).text}
    return json.dumps(answer, ensure_ascii=False, indent=2)


def _rename_and_delete(stored: StoredTest) -> None:
    key = f"test_rename_{stored.test_id}"

    def rename() -> None:
        attempt(lambda: rename_test(stored, st.session_state[key]))

    st.text_input("Name", stored.name, key=key, on_change=rename)

    def delete() -> None:
        delete_test(stored)
        keep(test="", **AGAIN)

    with st.popover("Delete", icon=":material/delete:", key="test_delete"):
        st.caption("Deletes the test with its rows. The file that it was read from stays.")
        st.button("Delete the test", key="test_delete_yes", on_click=attempt, args=(delete,))
