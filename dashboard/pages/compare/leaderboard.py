"""All versions of the project under one metric: a tab of the Compare page."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from ragtriage.dashboard.charts.comparison import leaderboard_chart, leaderboard_height
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.pages.compare.choices import MOST_VERSIONS, Compared, version_names
from ragtriage.dashboard.shell.blocks import current_theme
from ragtriage.dashboard.shell.components import CHART, export_menu, facts, metric_title
from ragtriage.dashboard.shell.kept_results import kept_with_spinner
from ragtriage.dashboard.shell.session import keep
from ragtriage.dashboard.tables.comparison import leaderboard_table
from ragtriage.dashboard.wording.directions import is_flipped, on_share_scale
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.comparison.leaderboard import Leaderboard, LeaderboardRow, leaderboard, rate_leaderboard
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.number_text import count, number
from ragtriage.metrics.result_table import text_rows

PAGE = 25


@kept_with_spinner("Ranking all versions")
def _leaderboard(scored_runs: list[ScoredRun], metric: str) -> Leaderboard:
    return leaderboard(scored_runs, metric)


@kept_with_spinner("Ranking all versions")
def _rate_leaderboard(
    scored_runs: list[ScoredRun], base: Diagnosis, settings: DiagnosisSettings, ledger: Ledger
) -> Leaderboard:
    diagnoses = [diagnose(scored, settings, ledger.labels(scored.run.run_id)) for scored in scored_runs]
    return rate_leaderboard(diagnoses, base)


def draw_leaderboard(compared: Compared) -> None:
    """Draw all versions of the project under the metric on display, the best on top."""
    view, metric = compared.view, compared.metric
    board = _board(compared)
    names = version_names(view, view.sampled)
    st.markdown(f"**{markdown_text(_conclusion(board, names))}**")
    if not board.rows:
        return
    pages = -(-len(board.rows) // PAGE)
    page = min(pages, int(st.session_state.get(f"board_page_{metric}", 1)))
    rows = board.rows[(page - 1) * PAGE : page * PAGE]
    with st.container(height=leaderboard_height(len(rows)) + 24, border=False):
        _chart(compared, board, rows, names)
    if pages > 1:
        st.pagination(pages, default=page, key=f"board_page_{metric}")
    table = leaderboard_table(board, names)
    export_menu(text_rows(table), table.title)
    facts(
        [
            "★ best, ● the paired test cannot tell it from the best, ○ below the best, × shares no question",
            f"{count(len(board.rows), 'version')} tested together by step-down max-T over shared questions",
            "intervals: 95 %, of each version by itself; two that overlap can still differ",
            f"not measured in {count(len(board.unmeasured), 'version')}" if board.unmeasured else "",
            f"left out, as their pass rate rests on other metrics: {count(len(board.apart), 'version')}"
            if board.apart
            else "",
            "the best is the best on these questions: its mean is a little too good",
            "click a version to compare it",
        ]
    )


def _board(compared: Compared) -> Leaderboard:
    view, metric = compared.view, compared.metric
    scored_runs = [view.scored(run) for run in view.sampled]
    if metric == GOOD_SHARE:
        base = view.diagnosis(compared.base)
        return _rate_leaderboard(scored_runs, base, view.selection.settings(), view.store.ledger)
    return _leaderboard(scored_runs, metric)


def _conclusion(board: Leaderboard, names: dict[str, str]) -> str:
    """Return which version is best, and how many cannot be told from it."""
    title, best = metric_title(board.metric), board.best
    if not board.rows:
        return f"{title}: not measured in any version"
    if best is None:
        return f"{title} has no direction: versions are listed by their mean"
    of_all = f"{names[best.run_id]} has the best {title[:1].lower()}{title[1:]}, {number(best.value.mean)}"
    alike, others = board.not_told_apart, len(board.rows) - 1
    if not others:
        return f"{of_all}; no other version has this metric"
    if not alike:
        return f"{of_all}; the other {'version is' if others == 1 else f'{others:,} versions are'} worse"
    return f"{of_all}; {alike:,} of {count(others, 'other version')} cannot be told from it"


def _chart(
    compared: Compared, board: Leaderboard, rows: tuple[LeaderboardRow, ...], names: dict[str, str]
) -> None:
    marked = {compared.base.run_id: "baseline"}
    if compared.view.run != compared.base:
        marked[compared.view.run.run_id] = "shown"
    st.plotly_chart(
        leaderboard_chart(rows, names, marked, _ends(board), THEMES[current_theme()]),
        theme=None,
        key="leaderboard",
        config=CHART,
        on_select=lambda: _compare_clicked(compared),
        selection_mode="points",
        alt=f"{metric_title(board.metric)} of every version with its interval; the table is in the export",
    )


def _ends(board: Leaderboard) -> tuple[float, float]:
    """Return the ends of the axis: of all intervals, within 0 and 1 on that scale, the better end right."""
    bounds = [bound for row in board.rows for bound in (row.value.low, row.value.mean, row.value.high)]
    known = [bound for bound in bounds if np.isfinite(bound)]
    low, high = min(known), max(known)
    padding = 0.04 * (high - low) or 0.05
    low, high = low - padding, high + padding
    if on_share_scale(board.metric):
        low, high = max(-0.01, low), min(1.01, high)
    return (high, low) if is_flipped(board.metric) else (low, high)


def _compare_clicked(compared: Compared) -> None:
    """Take a clicked version among those compared, in detail."""
    event: Any = st.session_state["leaderboard"]
    for point in event["selection"]["points"]:
        run_id = (point.get("customdata") or [""])[0]
        if run_id and run_id != compared.base.run_id:
            versions = dict.fromkeys([run_id, *compared.versions])
            keep(versions=tuple(versions)[:MOST_VERSIONS], other=run_id, case="")
