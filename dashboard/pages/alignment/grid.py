"""Which ranks the answers use, on one picture: the hero of the Alignment page."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.charts.stages.use_grid import MOST_COLUMNS, use_columns, use_heat
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.pages.alignment.context_use import (
    cohort_source,
    context_use_in,
    ranks_used,
    with_source,
)
from ragtriage.dashboard.shell.blocks import current_theme
from ragtriage.dashboard.shell.components import CHART, facts
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import open_cases
from ragtriage.dashboard.wording.formatting import methods
from ragtriage.data.analysis.use_grid import GOLD_GROUPS, UseGrid, use_grid
from ragtriage.data.scoring.context_use import ORIGINS, RunContextUse
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.number_text import count


@kept
def _grid(scored: ScoredRun, source: str) -> UseGrid | None:
    context_use = context_use_in(scored)
    return None if context_use is None else use_grid(scored, context_use, source)


def grid_section(scored: ScoredRun, context_use: RunContextUse, source: str) -> None:
    """Draw a column for each answer, or shares by group where they are many; a mark opens its case.

    Args:
        scored: the run.
        context_use: which documents its answers use.
        source: of the use.
    """
    grid = _grid(scored, source)
    if grid is None:
        return
    narrowed, by_rank = cohort_source(context_use, source), ranks_used(scored, source)
    groups = list(GOLD_GROUPS)
    many = len(grid.rows) > MOST_COLUMNS
    names = [f"{scored.question_ids[scored.question[row]]}~{scored.repeats[row]}" for row in grid.rows]

    def of_answer(column: int, rank: int) -> list[str]:
        if column < 0:
            return [with_source(f"used_rank:{rank}", narrowed), ""]
        use = "used_rank" if grid.used[column, rank - 1] else "unused_rank"
        return [with_source(f"{use}:{rank}", narrowed), names[column]]

    def of_group(group: int, rank: int) -> list[str]:
        name = f"used_rank:{rank}" if group < 0 else f"used_by_gold:{groups[group]}:{rank}"
        return [with_source(name, narrowed), ""]

    tokens = THEMES[current_theme()]
    if many:
        figure = use_heat(grid, by_rank, of_group, tokens)
    else:
        figure = use_columns(grid, by_rank, names, of_answer, tokens)
    event = st.plotly_chart(
        figure,
        key="use_grid",
        theme=None,
        config=CHART,
        alt="Which ranks the answers use, by where their gold is ranked; the tab “By rank” has the numbers",
        on_select="rerun",
        selection_mode="points",
    )
    legend = "shade: share of the group that uses the rank" if many else LEGEND
    facts(
        [
            legend,
            f"{count(len(grid.rows), 'answer')}, refusals left out",
            ORIGINS[source],
            methods([group.value for group in by_rank]),
            "click a cell for its cases" if many else "click a mark for its case",
        ]
    )
    for point in event["selection"]["points"]:
        if point.get("customdata"):
            cohort, case = (str(part) for part in point["customdata"][:2])
            open_cases(cohort=cohort, case=case)


LEGEND = (
    "green: used, gold · blue: used, not gold · green outline: gold, not used · dot: not used · "
    "✕: ignores the top document"
)
