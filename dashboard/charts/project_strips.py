"""The pass rate of every run of a workspace: one row per project, one dot per run."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import BARE
from ragtriage.dashboard.charts.tokens import FONT, Tokens
from ragtriage.dashboard.wording.diagnosis import rate_name
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.diagnosis.run_digest import RunDigest
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.number_text import count, interval_text, percent

ROW, FRAME = 26, 44  # pixels
MANY_QUESTIONS = 30
LEVELS = 3  # dots of one place that are set above each other
LONGEST_NAME = 24


def strips_height(n_projects: int) -> int:
    """Return the height of the chart in pixels."""
    return FRAME + ROW * n_projects


def project_strips(
    runs: Sequence[Run], digests: Mapping[str, RunDigest], names: Mapping[str, str], tokens: Tokens
) -> go.Figure:
    """Draw the runs; the custom data of a dot is its run id."""
    projects = list(dict.fromkeys(run.project for run in reversed(runs)))
    figure = go.Figure()
    for at, _ in enumerate(projects):
        figure.add_shape(
            type="line", x0=0, x1=1, y0=at, y1=at, line={"color": tokens.track, "width": 3}, layer="below"
        )
    drawn = [run for run in runs if run.run_id in digests and digests[run.run_id].pass_rate is not None]
    places = _places([(run.project, digests[run.run_id].pass_rate or 0.0) for run in drawn])
    looks = []  # fill and outline of each dot: amber where a warning doubts it, hollow where few questions
    for digest in (digests[run.run_id] for run in drawn):
        colour = tokens.unclear.text if digest.warnings or digest.errors else tokens.primary
        looks.append((colour if digest.n_scored >= MANY_QUESTIONS else tokens.background, colour))
    figure.add_scatter(
        x=[digests[run.run_id].pass_rate for run in drawn],
        y=[projects.index(run.project) + place for run, place in zip(drawn, places, strict=True)],
        mode="markers",
        marker={
            "size": 10,
            "color": [fill for fill, _ in looks],
            "line": {"width": 2, "color": [line for _, line in looks]},
        },
        customdata=[[run.run_id] for run in drawn],
        hovertext=[_hover(run, digests[run.run_id], names) for run in drawn],
        hoverinfo="text",
        cliponaxis=False,
    )
    for at, project in enumerate(projects):
        own = [run for run in runs if run.project == project]
        missing = sum(digests[run.run_id].pass_rate is None for run in own if run.run_id in digests)
        text = count(len(own), "run") + (f", {missing:,} without pass rate" if missing else "")
        figure.add_annotation(
            x=1.03, y=at, xref="paper", yref="y", text=text, showarrow=False, xanchor="left",
            font={"color": tokens.muted, "size": 12},
        )  # fmt: skip
    figure.update_xaxes(
        range=[-0.01, 1.01], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".0%", fixedrange=True,
        gridcolor=tokens.track, zeroline=False, tickfont={"color": tokens.muted},
    )  # fmt: skip
    figure.update_yaxes(
        range=[len(projects) - 0.4, -0.6], tickvals=list(range(len(projects))), fixedrange=True,
        ticktext=[chart_text(shorten(project, LONGEST_NAME)) for project in projects], showgrid=False,
        ticklabelstandoff=10, zeroline=False, tickfont={"color": tokens.text, "size": 13},
    )  # fmt: skip
    figure.update_layout(
        height=strips_height(len(projects)),
        margin={"l": 170, "r": 210, "t": 8, "b": 28},
        font={"family": FONT, "size": 12},
        **BARE,
        clickmode="event+select",
    )
    return figure


def _hover(run: Run, digest: RunDigest, names: Mapping[str, str]) -> str:
    interval = interval_text(digest.low, digest.high)
    questions, rate = count(digest.n_scored, "question"), rate_name(digest.answers_checked).lower()
    warned = "<br>" + chart_text("; ".join((*digest.errors, *digest.warnings)[:3])) if digest.warnings else ""
    name = chart_text(shorten(names[run.run_id], 60))
    return f"<b>{name}</b><br>{rate} {percent(digest.pass_rate)} {interval}, {questions}{warned}"


def _places(values: Sequence[tuple[str, float]]) -> list[float]:
    """Return how far each dot is set off its row, so that dots of one place do not hide each other."""
    seen: dict[tuple[str, float], int] = {}
    places = []
    for project, value in values:
        key = (project, round(value, 2))
        level = seen.get(key, 0)
        seen[key] = level + 1
        step = (level % LEVELS + 1) // 2 * (1 if level % 2 else -1)
        places.append(0.28 * step)
    return places
