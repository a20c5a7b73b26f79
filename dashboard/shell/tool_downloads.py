"""Downloads of scores and human labels for the tools that recorded the samples."""

from __future__ import annotations

from functools import partial

import streamlit as st

from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.exports.tools import TOOLS, ToolFile, tools_of
from ragtriage.data.store.ledger import Ledger
from ragtriage.metrics.schema.scores import IntArray


def tool_downloads(diagnosis: Diagnosis, ledger: Ledger, rows: IntArray, key: str) -> None:
    """Offer the scores and labels of some cases to each tool whose ids they have, written on download.

    Args:
        diagnosis: of the run.
        ledger: of the workspace.
        rows: of the cases.
        key: start of the keys of the buttons.
    """
    names = tools_of(diagnosis.scored, rows)
    for name in names:
        tool = TOOLS[name]
        st.download_button(
            f"Scores and labels for {tool.title}",
            partial(_content, name, diagnosis, ledger, rows),
            file_name=f"{diagnosis.scored.run.run_id}-{name}.{tool.ending}",
            key=f"{key}_{name}",
        )
    if names:
        st.caption(f"`ragtriage export RUN --to {names[0]}` prints the lines that send such a file.")


def _content(name: str, diagnosis: Diagnosis, ledger: Ledger, rows: IntArray) -> bytes:
    return b"".join(ToolFile(name, diagnosis, ledger, rows=rows).lines())
