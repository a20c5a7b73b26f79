"""Metric patterns with their map, failure stages, symptoms and refusals: sections of the Diagnosis page."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ragtriage.dashboard.charts.causes import MAP_HEIGHT, Bubble, case_bubbles
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.present.page_html.blocks import pattern_head, pattern_row, stage_row
from ragtriage.dashboard.present.page_html.pictures import bar_image
from ragtriage.dashboard.shell.components import clicked, current_theme, facts, metric_title
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, current_selection, keep, open_cases
from ragtriage.dashboard.shell.widgets import choose, draw_folded, slide
from ragtriage.dashboard.wording.diagnosis import (
    context_metric_text,
    doubted_by,
    no_bad_case,
    pair_sentences,
    pattern_meaning,
    pattern_stages,
    refusal_rates_text,
    stage_advice,
    stage_title,
    unused_context_metrics,
)
from ragtriage.dashboard.wording.escaping import capital, markdown_text
from ragtriage.dashboard.wording.formatting import source_text
from ragtriage.data.cases.diagnosis_cohorts import map_cell_key, map_cells
from ragtriage.data.cases.refusal_cohorts import REFUSAL_CELLS, refusal_counts
from ragtriage.data.diagnosis.context import context_choice, context_metrics_of, part_title
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import metric_doubts, stage_doubt
from ragtriage.metrics.diagnosis.patterns import PATTERNS, Pattern, pattern_code
from ragtriage.metrics.diagnosis.stages import DEFAULT_ORDER, STAGES, stage_code
from ragtriage.metrics.diagnosis.symptoms import SYMPTOMS
from ragtriage.metrics.number_text import count, number, percent
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.schema.scores import BoolArray

ROW_WIDTHS = (2.9, 1.3)  # of words and levels, and of the bar
WIDE_BAR = 180  # pixels, where a bar has the width of the page


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


def pattern_rows(diagnosis: Diagnosis, findings: Sequence[Finding]) -> None:
    """Draw the pattern table: diagnosis, what to try, levels, and a bar of its cases that opens them.

    The bar has the colours of the stages at which the bad cases of the pattern fail.
    """
    counts = diagnosis.pattern_counts()
    with st.container(gap=None):
        row, bars = st.columns(ROW_WIDTHS, vertical_alignment="bottom")
        row.html(pattern_head(_conditions(diagnosis, findings)))
        bars.caption(f"Cases of {diagnosis.scored.n:,}")
        _pattern_list(diagnosis, [pattern for pattern in PATTERNS if counts[pattern.key]], findings)
    absent = [pattern for pattern in PATTERNS if not counts[pattern.key]]
    if absent:
        title = f"{count(len(absent), 'pattern')} without a case"
        draw_folded(title, "absent_patterns", lambda: _pattern_list(diagnosis, absent, findings))


def _pattern_list(diagnosis: Diagnosis, patterns: Sequence[Pattern], findings: Sequence[Finding]) -> None:
    for pattern in patterns:
        _pattern_row(diagnosis, pattern, findings)


def _pattern_row(diagnosis: Diagnosis, pattern: Pattern, findings: Sequence[Finding]) -> None:
    cases = diagnosis.pattern == pattern_code(pattern.key)
    meaning = pattern_meaning(diagnosis, pattern)
    in_full = f"{meaning} {pattern_stages(diagnosis, pattern.key, findings)}"
    with st.container(key=f"pattern_{pattern.key}", gap=None):
        cell, bar = st.columns(ROW_WIDTHS, vertical_alignment="center")
        text = _stages_and_advice(diagnosis, cases, findings) or meaning
        cell.html(pattern_row(pattern, text, in_full, empty=not cases.any()))
        if _bar_button(bar, diagnosis, cases, f"open_{pattern.key}"):
            open_cases(pattern=pattern.key)


def _conditions(diagnosis: Diagnosis, findings: Sequence[Finding]) -> list[tuple[str, str, str]]:
    """Return the titles of the three metrics, below what each is low, and what the checks doubt about it."""
    thresholds = diagnosis.settings.thresholds
    metrics = (
        ("Context", thresholds.context, diagnosis.context.metrics),
        ("Faithful", thresholds.faithfulness, ("faithfulness",)),
        ("Relevant", thresholds.answer_relevancy, ("answer_relevancy",)),
    )
    return [
        (
            title,
            f"low < {number(threshold)}",
            doubted_by(
                [doubt for name in names for doubt in metric_doubts(diagnosis.scored, findings, name)]
            ),
        )
        for title, threshold, names in metrics
    ]


def _stages_and_advice(diagnosis: Diagnosis, cases: BoolArray, findings: Sequence[Finding]) -> str:
    """Return at which stages the bad cases fail, and what to try for the first unless that is doubted."""
    counts = diagnosis.stage_counts(cases)
    top = sorted((key for key in counts if counts[key]), key=lambda key: -counts[key])
    if not top:
        return ""
    stages = ", ".join(STAGES[stage_code(key)].count(counts[key]) for key in top)
    doubt = stage_doubt(diagnosis, findings, top[0])
    advice = STAGES[stage_code(top[0])].advice
    return f"{stages}: doubted" if doubt is not None and doubt.whole else f"{stages}. {advice}"


def _bar_button(
    column: DeltaGenerator, diagnosis: Diagnosis, cases: BoolArray, key: str, total: int = 0
) -> bool:
    """Draw a bar with its number of cases as one button, stacked by the stages of the bad cases.

    Args:
        column: where it is drawn.
        diagnosis: of the run.
        cases: (n,) True for the cases of the bar.
        key: of the button.
        total: cases of a full bar; all cases where left out.
    """
    n, theme = int(cases.sum()), current_theme()
    if not n:
        column.button("0", key=key, disabled=True, type="tertiary")
        return False
    colours = THEMES[theme].stages
    counts = diagnosis.stage_counts(cases)
    by_owner = {
        owner: sum(counts[stage.key] for stage in STAGES if stage.owner == owner) for owner in colours
    }
    parts = [(bad, colours[owner]) for owner, bad in by_owner.items() if bad]
    parts.append((n - sum(counts.values()), THEMES[theme].alive))
    shown = [part for part in parts if part[0]]
    image = bar_image(shown, total, theme, WIDE_BAR) if total else bar_image(shown, diagnosis.scored.n, theme)
    total = total or diagnosis.scored.n
    return column.button(f"![{percent(n / total)}]({image}) **{n:,}**", key=key, type="tertiary")


def stage_rows(diagnosis: Diagnosis, findings: Sequence[Finding]) -> None:
    """List the stages to which bad cases are attributed, most first, with what fixing each could bring."""
    if not diagnosis.fix_first:
        (st.success if diagnosis.measured.any() else st.info)(markdown_text(no_bad_case(diagnosis, findings)))
    bad, colours = int(diagnosis.bad.bad.sum()), THEMES[current_theme()].stages
    for entry in diagnosis.fix_first:
        stage = STAGES[stage_code(entry.key)]
        doubt = stage_doubt(diagnosis, findings, stage.key)
        whole = doubt is not None and doubt.whole
        advice = stage_advice(diagnosis, stage.key, findings)
        bound = f"{entry.bound} {percent(entry.pass_rate_if_perfect)} pass if fixed"
        owner = [stage.owner, *(["inferred"] if stage.inferred else []), *(["doubted"] if doubt else [])]
        title = stage_title(diagnosis, stage.key, findings)
        with st.container(key=f"stage_{stage.key}", gap=None):
            row, bar = st.columns(ROW_WIDTHS, vertical_alignment="center")
            row.html(
                stage_row(
                    colours[stage.owner],
                    stage.title,
                    f"{title}. {stage.meaning} {advice}",
                    " · ".join(owner),
                    "" if whole else bound,
                    stage.meaning if whole else advice,
                )
            )
            cases = diagnosis.stages.stage == stage_code(stage.key)
            if _bar_button(bar, diagnosis, cases, f"open_stage_{stage.key}", bad):
                open_cases(stage=stage.key)
        if stage.key == "partial_gold":
            with st.container(horizontal=True):
                for part, n in diagnosis.gold_parts.items():
                    if st.button(markdown_text(f"{part_title(part)}: {n:,}"), key=f"open_part_{part}"):
                        open_cases(stage="partial_gold", cohort=f"gold_part:{part}")


def symptom_section(diagnosis: Diagnosis) -> None:
    """List the symptoms that the means show and those that could not be checked; edges can be changed."""
    edges = diagnosis.settings.symptom_edges
    for sentence in pair_sentences(diagnosis):
        st.write(markdown_text(sentence))
    for symptom in diagnosis.symptoms:
        condition = symptom.condition_at(edges)
        st.warning(f"{symptom.meaning} {symptom.advice}  \n:gray[{condition}]", title=symptom.title)
    unchecked = [symptom.title for symptom in SYMPTOMS if not symptom.measured(diagnosis.symptom_means)]
    if not diagnosis.symptoms and len(unchecked) < len(SYMPTOMS):
        st.write(f"None of the {len(SYMPTOMS) - len(unchecked)} symptoms that could be checked is present.")
    if unchecked:
        st.caption(f"Not checked, because their metrics were not measured: {'; '.join(unchecked)}.")
    draw_folded("Edges of the symptoms", "symptom_edges", _edge_controls)


def _edge_controls() -> None:
    columns = st.columns(3)
    for place, (name, (title, help_text)) in enumerate(_EDGES.items()):
        with columns[place % 3]:
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
    for place, (cell, (_, _, title)) in enumerate(REFUSAL_CELLS.items()):
        with columns[place % 2]:
            label = f"{counts[cell]:,} · {capital(title)}"
            if st.button(label, key=f"refusal_{cell}", disabled=not counts[cell], width="stretch"):
                open_cases(cohort=f"refusal:{cell}")
    rates = markdown_text(refusal_rates_text(diagnosis))
    facts(
        f"n = {total:,} of {count(diagnosis.scored.n, 'case')}; for the others context or refusal "
        "is not known",
        *filter(None, [rates]),
    )


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


@kept
def _bubbles(diagnosis: Diagnosis) -> list[Bubble]:
    x = map_cells(diagnosis.features.known("context"))
    y = map_cells(diagnosis.features.known("faithfulness"))
    both = (x >= 0) & (y >= 0)
    metric = diagnosis.settings.context_metric or ""
    bubbles = []
    for cell in np.unique(10 * x[both] + y[both]):
        at_x, at_y = divmod(int(cell), 10)
        in_bubble = (x == at_x) & (y == at_y)
        counts = diagnosis.stage_counts(in_bubble)
        top = max(STAGES, key=lambda stage: counts[stage.key])
        stages = [stage.count(counts[stage.key]) for stage in STAGES if counts[stage.key]]
        n = int(in_bubble.sum())
        details = f"{count(n, 'case')}{': ' if stages else ', none bad'}{', '.join(stages)}"
        owner = top.owner if counts[top.key] else None
        bubbles.append(Bubble(at_x, at_y, n, owner, details, map_cell_key(metric, at_x, at_y)))
    return bubbles


def map_section(diagnosis: Diagnosis) -> None:
    """Draw the map; a bubble opens its cases."""
    bubbles = _bubbles(diagnosis) if diagnosis.context_metric else []
    if not bubbles:
        with st.container(height=MAP_HEIGHT, border=False):
            st.info("This map needs a context metric and faithfulness; the run does not have both.")
        return
    thresholds = diagnosis.settings.thresholds
    figure = case_bubbles(
        bubbles,
        (thresholds.context, thresholds.faithfulness),
        context_metric_text(diagnosis),
        THEMES[current_theme()],
    )
    alt = "Number of cases by context metric and faithfulness, with the thresholds"
    bubble = clicked(figure, "case_map", alt, theme=None)
    n = sum(each.n for each in bubbles)
    st.caption(
        f"n = {n:,} of {count(diagnosis.scored.n, 'case')} with both values; click a bubble for its cases"
    )
    if bubble is not None:
        open_cases(cohort=str(bubble[0]))


def threshold_controls(view: View, diagnosis: Diagnosis) -> None:
    """Draw the context metric and the case thresholds; they move the rows, never the gates."""
    left, right = st.columns(2, gap="medium")
    with left:
        slide("Context threshold", "context", "Below this, the context lacks what the question needs.")
        slide(
            "Answer relevancy threshold", "relevancy", "Below this, the answer does not address the question."
        )
    with right:
        slide(
            "Faithfulness threshold",
            "faithfulness",
            "Below this, the answer makes claims that its context does not support.",
        )
        _context_metric_picker(view)
    for sentence in unused_context_metrics(diagnosis):
        st.caption(f"⚠ {markdown_text(sentence)}")


def _context_metric_picker(view: View) -> None:
    scored = view.scored(view.run)
    metrics = context_metrics_of(scored)
    if not metrics:
        st.caption("Context metric: none recorded")
        return
    titles = {name: metric_title(name) for name in metrics}
    options = metrics
    if len(context_choice(scored).metrics) != 1:
        titles[""], options = "by what each question has", ["", *metrics]
    choose("Context metric", "context_metric", options, titles, shown=options[0])
