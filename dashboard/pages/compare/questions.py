"""Every question in every version as a matrix of cells, and one question in two runs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from ragtriage.dashboard.charts.comparison import cell_colours
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.pages.compare.compared import Compared, direction, metric_switch
from ragtriage.dashboard.present.case_html.compared_case import ComparedSide, compared_cases_html
from ragtriage.dashboard.shell.components import current_theme, export_menu, facts, metric_title
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import current_selection, keep
from ragtriage.dashboard.wording.comparisons import is_flipped, on_share_scale
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.cases.cases import page_of, read_case
from ragtriage.data.comparison.question_changes import ORDERS, Order, QuestionMatrix, question_matrix
from ragtriage.data.text.shown_case import cuts_told, shown_case
from ragtriage.metrics.number_text import NOT_MEASURED, count, number
from ragtriage.metrics.schema.scores import FloatArray, IntArray

PAGE, ROW = 11, 32
PASS, FAIL = "✓", "✗"
HEIGHT = ROW * (PAGE + 1) + 2  # pixels of the matrix, and of the answers beside it
QUESTION = 90  # characters
MATRIX, LEAST_QUESTION, CELL = 350, 140, 58  # pixels where the page is narrow; a wider one stretches them
WIDEST_CELL, WIDEST_CELLS = 64, 190  # of a column, and of all of them where each has more than CELL
NARROWEST = 350  # pixels of matrix and answers; a narrower page puts them below each other
_matrix = kept(question_matrix)


def draw_questions(compared: Compared) -> None:
    """Draw the matrix of questions and versions beside the answers of the open question."""
    with st.container(horizontal=True, vertical_alignment="center"):
        metric = metric_switch(compared)
        order: Order = st.selectbox(
            "Order of the questions",
            list(ORDERS),
            format_func=ORDERS.__getitem__,
            key="compare_order",
            label_visibility="collapsed",
            width=240,
        )
    view = compared.view
    others = [view.diagnosis(run) for run in compared.versions.values()]
    matrix = _matrix(view.diagnosis(compared.base), others, metric)
    if not len(matrix.question_ids):
        st.info("The baseline has no question.")
        return
    column = 1 + list(compared.versions).index(compared.other)
    ordered = matrix.ordered(order, column, direction(metric))
    # the place of the open question in the order; 0 where none is open
    case = current_selection().case
    position = matrix.find(case)
    if position is None:
        position = matrix.find(case.rpartition("~")[0])  # opened on Cases, which adds the repeat
    at = 0 if position is None else int(np.flatnonzero(ordered == position)[0])
    grid = st.grid(2, min_column_width=NARROWEST, gap="medium")
    with grid.container():
        _page(compared, matrix, ordered, at // PAGE, metric, order)
    with grid.container(), st.container(height=HEIGHT, border=False, key="compared_case"):
        _pair(compared, matrix, int(ordered[at]), column)


def _page(
    compared: Compared, matrix: QuestionMatrix, ordered: IntArray, page: int, metric: str, order: Order
) -> None:
    shown = ordered[page * PAGE : (page + 1) * PAGE]
    texts = page_of(compared.view.scored(compared.base), matrix.rows[shown, 0], 1, PAGE).cases
    runs = [compared.base.run_id, *compared.versions]
    columns = [compared.names[run_id] for run_id in runs]
    marked = _is_marked(matrix, metric)
    values = matrix.values[shown]
    frame = pd.DataFrame(_marks(values) if marked else values, columns=columns)
    cell = min(WIDEST_CELL, max(CELL, WIDEST_CELLS // len(runs)))
    frame.insert(0, "Question", [shorten(text["question"], QUESTION) for text in texts])
    ids = [str(matrix.question_ids[position]) for position in shown]
    key = f"matrix_{metric}_{order}_{page}"
    st.dataframe(
        frame.style.apply(_painted, axis=None, metric=metric, matrix=matrix, values=values, marked=marked),
        hide_index=True,
        key=key,
        on_select=lambda: _open_cell(key, ids, dict(zip(columns, runs, strict=True))),
        selection_mode="single-cell",
        height=ROW * (len(frame) + 1) + 2,
        row_height=ROW,
        column_config={
            "Question": st.column_config.TextColumn(
                width=max(LEAST_QUESTION, MATRIX - cell * len(runs)),
                pinned=LEAST_QUESTION + cell * len(runs) > MATRIX,
            ),
            **{
                name: st.column_config.TextColumn(width=cell, help=markdown_text(name))
                if marked
                else st.column_config.NumberColumn(format="%.2f", width=cell, help=markdown_text(name))
                for name in columns
            },
        },
        placeholder="",
        alt=f"{metric_title(metric)} of every question in every version; a cell opens both answers",
    )
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        pages = -(-len(ordered) // PAGE)
        if pages > 1:
            pager = f"pager_{key}"
            st.pagination(
                pages,
                default=page + 1,
                key=pager,
                on_change=lambda: keep(
                    case=str(matrix.question_ids[ordered[(st.session_state[pager] - 1) * PAGE]])
                ),
            )
        export_menu(_records(frame), f"Questions by version, page {page + 1}")
    colours = "orange = high, green = low" if is_flipped(metric) else "orange = low, green = high"
    facts(
        count(len(ordered), "question"),
        "click a cell to read both answers, a header to sort the page",
        "✓ pass, ✗ fail, blank = not measured"
        if marked
        else f"{'by size' if direction(metric) is None else colours}, blank = not measured",
    )


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in record.items()} for record in frame.to_dict("records")]


def _is_marked(matrix: QuestionMatrix, metric: str) -> bool:
    """Return whether every value is a pass or a fail, as of a pass rate without repeats."""
    known = matrix.values[np.isfinite(matrix.values)]
    return direction(metric) is not None and on_share_scale(metric) and bool(np.isin(known, (0, 1)).all())


def _marks(values: FloatArray) -> list[list[str | None]]:
    return [
        [None if not np.isfinite(value) else PASS if value else FAIL for value in line] for line in values
    ]


def _painted(
    frame: pd.DataFrame, metric: str, matrix: QuestionMatrix, values: FloatArray, marked: bool
) -> pd.DataFrame:
    """Return the style of each cell: its colour by the value, its text by what reads on the colour."""
    tokens = THEMES[current_theme()]
    higher = direction(metric)
    scale = tokens.sequential if higher is None else tokens.diverging
    low, high = (0.0, 1.0) if on_share_scale(metric) else _ends(matrix.values)
    styles = pd.DataFrame("", index=frame.index, columns=frame.columns)
    for row, line in enumerate(values):
        for column, value in enumerate(line, 1):
            if not np.isfinite(value):
                continue
            if marked:
                good = bool(value) == (higher is not False)
                state = tokens.good if good else tokens.bad
                styles.iat[row, column] = f"background-color: {state.tint}; color: {state.text}"
            else:
                share = min(1.0, max(0.0, (value - low) / (high - low)))
                colour, text = cell_colours(1 - share if higher is False else share, scale, tokens)
                styles.iat[row, column] = f"background-color: {colour}; color: {text}"
    return styles


def _ends(values: FloatArray) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if not len(known) or known.min() == known.max():
        return 0.0, 1.0
    return float(known.min()), float(known.max())


def _open_cell(key: str, ids: Sequence[str], runs: dict[str, str]) -> None:
    """Open the question of a clicked cell, in the version of its column."""
    event: Any = st.session_state[key]
    for row, column in event["selection"]["cells"]:
        if row < len(ids):
            other = runs.get(column, "")
            keep(case=ids[row], **({"other": other} if other and column != next(iter(runs)) else {}))


def _pair(compared: Compared, matrix: QuestionMatrix, position: int, column: int) -> None:
    """Show one question in the baseline and in the version in detail."""
    runs = (compared.base, compared.versions[compared.other])
    samples: list[dict[str, Any] | None] = []
    for run, at in zip(runs, (0, column), strict=True):
        row = int(matrix.rows[position, at])
        samples.append(shown_case(read_case(compared.view.scored(run), row)) if row >= 0 else None)
    values = matrix.values[position]
    marked = _is_marked(matrix, compared.metric)
    texts = _marks(values[None])[0] if marked else [number(value) for value in values]
    sides = [
        ComparedSide(compared.names[run.run_id], texts[at] or NOT_MEASURED, sample)
        for run, at, sample in zip(runs, (0, column), samples, strict=True)
    ]
    question = next((sample["question"] for sample in samples if sample is not None), "")
    st.html(compared_cases_html(question, *sides))
    for cuts in filter(None, [cuts_told(sample) for sample in samples if sample is not None]):
        facts(cuts)
