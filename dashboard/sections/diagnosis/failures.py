"""Metric patterns, failure stages, and symptoms: sections of the Diagnosis page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import streamlit as st

from dashboard.shell.components import facts, metric_title
from dashboard.shell.session import current_selection, keep, open_cases
from dashboard.shell.widgets import slide
from dashboard.wording.diagnosis import (
    context_metric_text,
    no_bad_case,
    pattern_meaning,
    pattern_stages,
    stage_advice,
    stage_title,
)
from dashboard.wording.escaping import capital, markdown_text
from dashboard.wording.formatting import count, interval_text, percent, source_text
from data.cases.refusal_cohorts import REFUSAL_CELLS, refusal_counts
from data.diagnosis.diagnosis import Diagnosis
from data.diagnosis.partial_gold import part_title
from data.scoring.summaries import summarise
from metrics.diagnosis.patterns import PATTERNS, Pattern
from metrics.diagnosis.stages import DEFAULT_ORDER, STAGES
from metrics.diagnosis.symptoms import SYMPTOMS
from metrics.sanity.rule import Finding

LEVEL_LABELS = {"high": "▲ high", "low": "▼ low", "any": "any"}
BAR_BLOCKS = 8  # length of a full bar of text


def source_facts(diagnosis: Diagnosis) -> list[str]:
    """List the context metrics, and the sources of the three metrics and of the refusals."""
    of_context = {
        source_text(None, column.sources)
        for name in diagnosis.context.metrics
        if (column := diagnosis.scored.column(name)) is not None
    }
    how = f" ({', '.join(sorted(of_context))})" if of_context else ""
    sources = [f"context: {markdown_text(context_metric_text(diagnosis))}{how}"]
    for title, name in (
        ("faithfulness", "faithfulness"),
        ("relevance", "answer_relevancy"),
        ("refusals", "refused"),
    ):
        column = diagnosis.scored.column(name or "")
        sources.append(f"{title}: {source_text(None, column.sources) if column else 'not measured'}")
    return sources


def pattern_table(diagnosis: Diagnosis, findings: Sequence[Finding]) -> None:
    """Draw the pattern table: levels, meaning, stages of the bad cases, count, and a button to the cases."""
    counts = diagnosis.pattern_counts()
    widths = (1.0, 1.0, 1.05, 3.2, 1.3, 1.35)
    titles = ("Context", "Faithful", "Relevant", "Diagnosis", "Cases", "")
    for column, title in zip(st.columns(widths, vertical_alignment="bottom"), titles, strict=True):
        column.caption(f"**{title}**" if title else "")
    for pattern in PATTERNS:
        stages = pattern_stages(diagnosis, pattern.key, findings)
        meaning = pattern_meaning(diagnosis, pattern)
        _pattern_row(
            replace(pattern, meaning=meaning), stages, counts[pattern.key], diagnosis.scored.n, widths
        )


def _pattern_row(pattern: Pattern, stages: str, n: int, total: int, widths: tuple[float, ...]) -> None:
    has_levels = pattern.key not in ("refusal", "not_measured")
    bar = "█" * max(round(BAR_BLOCKS * n / total), 1 if n else 0)
    with st.container(border=True, key=f"pattern_{pattern.key}"):
        *levels, meaning, number, button = st.columns(widths, vertical_alignment="center")
        for column, level in zip(levels, pattern.levels, strict=True):
            column.markdown(LEVEL_LABELS[level] if has_levels else "–")
        bad = f" :gray[{markdown_text(stages)}]" if stages else ""
        meaning.markdown(f"**{pattern.title}**  \n{pattern.meaning}{bad}")
        number.markdown(f"**{n:,}** :gray[{n / total:.0%}]  \n:blue[{bar}]")
        if button.button("Open", key=f"open_{pattern.key}", disabled=n == 0, width="stretch"):
            open_cases(pattern=pattern.key)


def stage_table(diagnosis: Diagnosis, findings: Sequence[Finding]) -> None:
    """List the stages to which bad cases are attributed, in the order in which their rules are tried."""
    counts = diagnosis.stage_counts()
    by_key = {stage.key: stage for stage in STAGES}
    shown = [by_key[key] for key in current_selection().order if counts[key]]
    if not shown:
        (st.success if diagnosis.measured.any() else st.info)(markdown_text(no_bad_case(diagnosis)))
    for stage in shown:
        n = counts[stage.key]
        title = stage_title(diagnosis, stage.key, findings)
        advice = stage_advice(diagnosis, stage.key, findings)
        with st.container(border=True):
            text, number, button = st.columns((4.2, 1.0, 1.2), vertical_alignment="center")
            text.markdown(
                f"**{title}** :gray-badge[{stage.owner}]  \n{stage.meaning} :gray[{markdown_text(advice)}]"
            )
            number.markdown(f"**{n:,}** :gray[{n / sum(counts.values()):.0%}]")
            if button.button("Open", key=f"open_stage_{stage.key}", width="stretch"):
                open_cases(stage=stage.key)
        if stage.key == "partial_gold":
            _gold_part_buttons(diagnosis)


def _gold_part_buttons(diagnosis: Diagnosis) -> None:
    """Draw a button for each part of the gold that contexts lack; it opens the cases."""
    with st.container(horizontal=True):
        for part, n in diagnosis.gold_parts.items():
            if st.button(markdown_text(f"{part_title(part)}: {n:,}"), key=f"open_part_{part}"):
                open_cases(stage="partial_gold", cohort=f"gold_part:{part}")


def symptom_list(diagnosis: Diagnosis) -> None:
    """List the symptoms that the means show, and those that could not be checked."""
    edges = diagnosis.settings.symptom_edges
    for symptom in diagnosis.symptoms:
        condition = symptom.condition_at(edges)
        st.warning(f"{symptom.meaning} {symptom.advice}  \n:gray[{condition}]", title=symptom.title)
    unchecked = [symptom.title for symptom in SYMPTOMS if not symptom.measured(diagnosis.symptom_means)]
    if not diagnosis.symptoms and len(unchecked) < len(SYMPTOMS):
        st.write(f"None of the {len(SYMPTOMS) - len(unchecked)} symptoms that could be checked is present.")
    if unchecked:
        st.caption(f"Not checked, because their metrics were not measured: {'; '.join(unchecked)}.")


def symptom_edges() -> None:
    """Draw the sliders for where a mean counts as low or high."""
    columns = st.columns(3)
    for number, (name, (title, help_text)) in enumerate(_EDGES.items()):
        with columns[number % 3]:
            slide(title, name, help_text)
    st.caption("The defaults are the edges of RAGChecker's guide.")


_EDGES = {
    "symptom_low": ("Low share", "Precision, recall, context recall and utilization below this are low."),
    "symptom_f1": ("Low answer F1", "Answer F1 below this is low."),
    "symptom_faithfulness": ("Low faithfulness", "Faithfulness below this is low."),
    "symptom_hallucination": ("High hallucination", "Hallucination above this is high."),
    "symptom_noise_relevant": ("High noise (relevant)", "Noise sensitivity (relevant) above this is high."),
    "symptom_noise_irrelevant": (
        "High noise (irrelevant)",
        "Noise sensitivity (irrelevant) above this is high.",
    ),
}


def refusal_table(diagnosis: Diagnosis) -> None:
    """Draw the refusal table (context holds the answer, by refusal); a button opens the cases of a cell."""
    counts = refusal_counts(diagnosis.scored)
    total = sum(counts.values())
    if not total:
        st.info("This table needs answers, and whether the context held what the question needs.")
        return
    columns = st.columns(2)
    for number, (cell, (_, _, title)) in enumerate(REFUSAL_CELLS.items()):
        with columns[number % 2]:
            label = f"{counts[cell]:,} · {capital(title)}"
            if st.button(label, key=f"refusal_{cell}", disabled=not counts[cell], width="stretch"):
                open_cases(cohort=f"refusal:{cell}")
    facts(
        [
            f"n = {total:,} of {count(diagnosis.scored.n, 'case')}; for the others context or refusal "
            "is not known, or the context holds only part of the answer",
            *_refusal_rates(diagnosis),
        ]
    )


def _refusal_rates(diagnosis: Diagnosis) -> list[str]:
    rates = summarise(diagnosis.scored, ["over_refusal", "negative_rejection_rate", "corpus_rejection_rate"])
    return [
        f"{metric_title(name).lower()} {percent(rate.mean)} {interval_text(rate.low, rate.high)}, "
        f"n = {count(rate.n_scored, 'question')}"
        for name, rate in rates.items()
        if rate.mean is not None
    ]


def stage_order(order: tuple[str, ...]) -> None:
    """Draw the controls that move a stage up or down, or restore the default order."""
    titles = {stage.key: f"{order.index(stage.key) + 1}. {stage.title}" for stage in STAGES}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        stage = st.selectbox("Stage", order, format_func=titles.__getitem__, key="order_stage")
        st.button("Move up", key="order_up", on_click=_move, args=(stage, -1))
        st.button("Move down", key="order_down", on_click=_move, args=(stage, 1))
        st.button(
            "Default order",
            key="order_reset",
            on_click=keep,
            kwargs={"order": DEFAULT_ORDER},
            disabled=order == DEFAULT_ORDER,
        )
    st.caption(
        "A case is attributed to the first stage in this order whose rule it meets; "
        "all others are “Unexplained”."
    )


def _move(stage: str, step: Literal[-1, 1]) -> None:
    order = list(current_selection().order)
    position = order.index(stage)
    target = min(max(position + step, 0), len(order) - 1)
    order.insert(target, order.pop(position))
    keep(order=tuple(order))


__all__ = [
    "pattern_table",
    "refusal_table",
    "source_facts",
    "stage_order",
    "stage_table",
    "symptom_edges",
    "symptom_list",
]
