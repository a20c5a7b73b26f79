"""What the judge said of the open case as a whole: who judged, its labels, and attempts to instruct it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard.drawing import facts
from dashboard.session import View
from dashboard.text import markdown_text, shorten
from data.judgements import judge_of
from metrics.readings import READING

__all__ = ["judge_line"]

LABELS = {
    "addresses": "addresses the question",
    "complete": "complete",
    "agrees": "agrees with the reference",
}
LONGEST_QUOTE = 300


def judge_line(view: View, sample: Mapping[str, Any]) -> None:
    """Write the judge's labels under the answer; the reason where it has no verdict."""
    table = view.table(view.run)
    path = table.judgement(READING)
    if path is None:
        return
    said = sample.get("judged")
    if said is None:
        told = table.beside("judged")
        reason = "" if told is None else str(told["reason"][int(sample["row"])].as_py() or "")
        facts([f"no verdict: {markdown_text(reason)}" if reason else ""])
        return
    parts = [f"{title}: **{said[name]}**" for name, title in LABELS.items() if said[name] is not None]
    if said["contradicts_itself"]:
        parts.append("**contradicts itself**")
    cut = said.get("parts", 1)
    split = f"read in {cut} parts: completeness rests on the first" if cut > 1 else ""
    facts([*parts, split, f"judged by {markdown_text(judge_of(path))}"])
    for one in said["injections"]:
        st.warning(
            f"{markdown_text(one['where'])}: {markdown_text(shorten(one['quote'], LONGEST_QUOTE))}",
            title="Text that tries to instruct the judge",
        )
