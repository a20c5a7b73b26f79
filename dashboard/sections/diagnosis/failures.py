"""The pieces of the Diagnosis page."""

from __future__ import annotations

from typing import Literal

import numpy as np
import streamlit as st

from dashboard.shell.components import metric_title
from dashboard.shell.session import current_selection, keep, open_cases
from dashboard.wording.diagnosis import no_bad_case, stage_inferred
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import source_text
from data.diagnosis.diagnosis import Diagnosis
from metrics.diagnosis.patterns import PATTERNS, Pattern
from metrics.diagnosis.stages import DEFAULT_ORDER, STAGES, FailureStage
from metrics.diagnosis.symptoms import SYMPTOMS
from metrics.schema.scores import FloatArray

LEVEL_MARKS = {"high": "▲ high", "low": "▼ low", "any": "any"}
BAR = 8  # blocks in a bar of text


def context_metric_name(name: str) -> str:
    """Name a context signal for people."""
    return metric_title(name)


def context_metric_title(name: str, default: str) -> str:
    """Name a context signal in the picker."""
    return f"{context_metric_name(name)} (default)" if name == default else context_metric_name(name)


def both_known(context: FloatArray, faithfulness: FloatArray) -> int:
    """Count the cases with both values."""
    return int((np.isfinite(context) & np.isfinite(faithfulness)).sum())


def obtained(diagnosis: Diagnosis) -> list[str]:
    """Say how the three columns and the refusals were obtained."""
    parts = []
    for title, name in (
        ("context", diagnosis.context_metric),
        ("faithfulness", "faithfulness"),
        ("relevance", "answer_relevancy"),
        ("refusals", "refused"),
    ):
        column = diagnosis.scored.column(name or "")
        parts.append(f"{title}: {source_text(None, column.sources) if column else 'not measured'}")
    return parts


def pattern_table(diagnosis: Diagnosis) -> None:
    """Draw the pattern table: levels, diagnosis, count, and a button that opens the cases of a row."""
    counts = diagnosis.pattern_counts()
    widths = (1.0, 1.0, 1.05, 3.2, 1.3, 1.35)
    head = st.columns(widths, vertical_alignment="bottom")
    for place, text in zip(head, ("Context", "Faithful", "Relevant", "Diagnosis", "Cases", ""), strict=True):
        place.caption(f"**{text}**" if text else "")
    for entry in PATTERNS:
        _pattern_row(entry, counts[entry.key], diagnosis.scored.n, widths)


def _pattern_row(entry: Pattern, n: int, total: int, widths: tuple[float, ...]) -> None:
    routed = entry.key in ("refusal", "not_measured")
    with st.container(border=True, key=f"pattern_{entry.key}"):
        places = st.columns(widths, vertical_alignment="center")
        for place, level in zip(places[:3], entry.levels, strict=True):
            place.markdown("–" if routed else LEVEL_MARKS[level])
        places[3].markdown(f"**{entry.title}**  \n{entry.meaning} :gray[{entry.advice}]")
        places[4].markdown(f"**{n:,}** :gray[{n / total:.0%}]  \n:blue[{_bar(n, total)}]")
        if places[5].button("Open", key=f"open_{entry.key}", disabled=n == 0, width="stretch"):
            open_cases(pattern=entry.key)


def _bar(n: int, total: int) -> str:
    filled = round(BAR * n / total) if total else 0
    return "█" * max(filled, 1 if n else 0)


def stage_table(diagnosis: Diagnosis) -> None:
    """List the stages that own bad cases, in the order they are tried."""
    counts = diagnosis.stage_counts()
    by_key = {stage.key: stage for stage in STAGES}
    shown = [by_key[key] for key in current_selection().order if counts[key]]
    if not shown:
        (st.success if diagnosis.measured.any() else st.info)(markdown_text(no_bad_case(diagnosis)))
    for stage in shown:
        _stage_row(stage, counts[stage.key], sum(counts.values()), stage_inferred(diagnosis, stage.key))


def _stage_row(stage: FailureStage, n: int, total: int, guessed: str) -> None:
    with st.container(border=True):
        text, number, button = st.columns((4.2, 1.0, 1.2), vertical_alignment="center")
        inferred = f" :gray[{guessed}]" if guessed else ""
        text.markdown(
            f"**{stage.title}** :gray-badge[{stage.owner}]{inferred}  \n{stage.meaning} :gray[{stage.advice}]"
        )
        number.markdown(f"**{n:,}** :gray[{n / total:.0%}]")
        if button.button("Open", key=f"open_stage_{stage.key}", width="stretch"):
            open_cases(stage=stage.key)


def symptom_list(diagnosis: Diagnosis) -> None:
    """Write the symptoms that the means show, and which could not be looked for."""
    found = diagnosis.symptoms
    for one in found:
        st.warning(f"{one.meaning} {one.advice}  \n:gray[{one.condition}]", title=one.title)
    unseen = [one.title for one in SYMPTOMS if not all(_measured(diagnosis, name) for name in one.needs)]
    if not found and len(unseen) < len(SYMPTOMS):
        st.write(f"None of the {len(SYMPTOMS) - len(unseen)} symptoms that could be looked for shows.")
    if unseen:
        st.caption(f"Not looked for, since their metrics were not measured: {'; '.join(unseen)}.")


def _measured(diagnosis: Diagnosis, name: str) -> bool:
    return bool(np.isfinite(diagnosis.scored.values(name)).any())


def stage_order(order: tuple[str, ...]) -> None:
    """Let a person move a stage up or down, or go back to the usual order."""
    titles = {stage.key: f"{order.index(stage.key) + 1}. {stage.title}" for stage in STAGES}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        stage = st.selectbox("Stage", order, format_func=titles.__getitem__, key="order_stage")
        st.button("Move up", key="order_up", on_click=_move, args=(stage, -1))
        st.button("Move down", key="order_down", on_click=_move, args=(stage, 1))
        st.button(
            "Usual order",
            key="order_reset",
            on_click=keep,
            kwargs={"order": DEFAULT_ORDER},
            disabled=order == DEFAULT_ORDER,
        )
    st.caption(
        "A case belongs to the first stage in this order whose rule its evidence meets; "
        "“Unexplained” takes the rest."
    )


def _move(stage: str, step: Literal[-1, 1]) -> None:
    order = list(current_selection().order)
    at = order.index(stage)
    to = min(max(at + step, 0), len(order) - 1)
    order.insert(to, order.pop(at))
    keep(order=tuple(order))


__all__ = [
    "both_known",
    "context_metric_name",
    "context_metric_title",
    "obtained",
    "pattern_table",
    "stage_order",
    "stage_table",
    "symptom_list",
]
