"""The picture of the pipeline: bars for what survives each step, and what each failure stage loses below."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import BARE, HOVER
from ragtriage.dashboard.charts.tokens import FONT, Tokens
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.pipeline import NOT_JUDGED, Loss, Pipeline, PipelineStep, pipeline_of
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.number_text import MINUS, count, percent

RIVER_HEIGHT = 218
TOP = 38  # pixels for the titles of the steps
BOTTOMS = (14, 31, 48)  # pixels below the bars: as many as their labels need
HALF = 0.15  # of the width of a bar, in steps
ROOM = 1.2  # steps to the right of the last bar, for its labels
LINE = 17  # pixels of a label
LETTER, STEP = 6.6, 100.0  # pixels of a letter and of a step, about: for labels that must not overlap
PALE = 0.38  # opacity of what flows into a loss
LEAST_TURNED = 84  # pixels that "not checked" needs when written upwards
INFERRED = " (inferred)"  # the end of a short name, drawn small


@dataclass(frozen=True)
class _Frame:
    """The size of the picture: cases from top to bottom, and pixels below them."""

    n: int
    bottom: int

    @property
    def pixels(self) -> float:
        return RIVER_HEIGHT - TOP - self.bottom

    def cases(self, pixels: float) -> float:
        return pixels * self.n / self.pixels

    def place(self, cases: float) -> float:
        return cases * self.pixels / self.n


def river(
    pipeline: Pipeline,
    tokens: Tokens,
    base: Pipeline | None = None,
    base_name: str = "",
    doubted: Collection[str] = (),
) -> go.Figure:
    """Draw the steps of a pipeline; a loss carries the key of its failure stage.

    Args:
        pipeline: of the run.
        tokens: colours.
        base: of the baseline, whose survivors are dashed lines; None for none.
        base_name: what the baseline is called.
        doubted: keys of stages that rest on what the checks doubt.
    """
    frames = [_Frame(max(pipeline.n, 1), bottom) for bottom in BOTTOMS]
    frame, figure = next((frame for frame in frames if _fits(pipeline, frame)), frames[-1]), go.Figure()
    _add_flows(figure, pipeline, tokens)
    _add_survivors(figure, pipeline, frame, tokens)
    _add_losses(figure, pipeline, tokens)
    labels = _Labels(frame)
    if base is not None:
        _add_baseline(figure, pipeline, base, base_name, labels, tokens)
    _add_labels(figure, pipeline, labels, doubted, tokens)
    last = len(pipeline.steps) - 1
    figure.update_xaxes(visible=False, range=[-HALF, last + ROOM], fixedrange=True)
    figure.update_yaxes(visible=False, range=[frame.n + frame.cases(frame.bottom), 0], fixedrange=True)
    return figure.update_layout(
        height=RIVER_HEIGHT,
        margin={"l": 0, "r": 0, "t": TOP, "b": 0},
        **BARE,
        font={"family": FONT, "size": 13, "color": tokens.text},
        hoverlabel={"font": {"family": FONT, "size": 13}},
        barmode="overlay",
        bargap=0,
        hovermode="closest",
        clickmode="event+select",
    )


def river_of(
    diagnosis: Diagnosis,
    doubted: Mapping[str, int],
    tokens: Tokens,
    base: Diagnosis | None = None,
    base_name: str = "",
) -> go.Figure:
    """Draw the pipeline of a run, beside that of a baseline.

    Of the doubted losses (failure stage -> cases) some are marked; where all are, nothing would stand out.
    """
    all_doubted = sum(doubted.values()) == int(diagnosis.bad.bad.sum())
    compared = None if base is None else pipeline_of(base)
    return river(pipeline_of(diagnosis), tokens, compared, base_name, () if all_doubted else doubted)


def river_alt(pipeline: Pipeline) -> str:
    """Return the picture in words, for people who cannot see it."""
    steps = ", ".join(f"{step.title.lower()} {_left(step)}" for step in pipeline.steps[1:])
    lost = "; ".join(f"{loss.n:,} {_name(loss).lower()}" for loss in pipeline.losses())
    return f"{count(pipeline.n, pipeline.noun)} through the pipeline: {steps}. Failed: {lost or 'none'}."


def _left(step: PipelineStep) -> str:
    """Return how many cases survive a step; no number where the run records nothing that decides it."""
    return step.basis if step.basis == "not recorded" else f"{step.survivors:,}"


def _colour(loss: Loss, tokens: Tokens) -> str:
    if loss.key == NOT_JUDGED:
        return tokens.track
    return tokens.stages[STAGES[stage_code(loss.key)].owner]


def _name(loss: Loss) -> str:
    return "Not judged" if loss.key == NOT_JUDGED else STAGES[stage_code(loss.key)].title


def _add_flows(figure: go.Figure, pipeline: Pipeline, tokens: Tokens) -> None:
    """Draw what flows from each step to the next: survivors on top, each loss below in its colour."""
    for at, step in enumerate(pipeline.steps[1:], 1):
        bands = [(0.0, float(step.survivors), tokens.flow, 1.0)]
        top = float(step.survivors)
        for loss in step.losses:
            bands.append((top, top + loss.n, _colour(loss, tokens), PALE))
            top += loss.n
        for start, end, colour, opacity in bands:
            if end > start:
                figure.add_shape(
                    type="rect", x0=at - 1 + HALF, x1=at - HALF, y0=start, y1=end, layer="below",
                    fillcolor=colour, opacity=opacity, line_width=0,
                )  # fmt: skip


def _add_survivors(figure: go.Figure, pipeline: Pipeline, frame: _Frame, tokens: Tokens) -> None:
    steps, last = pipeline.steps, len(pipeline.steps) - 1
    unknown = [step.basis in ("not recorded", "not checked") for step in steps]
    figure.add_bar(
        x=list(range(len(steps))),
        y=[step.survivors for step in steps],
        width=2 * HALF,
        marker={
            "color": [
                tokens.good_mark if at == last and not unknown[at] else tokens.alive
                for at in range(len(steps))
            ],
            "line": {"width": 0},
            "pattern": {
                "shape": ["/" if missing else "" for missing in unknown],
                "fillmode": "replace",  # lines in the colour of the bar
                "size": 6,
                "solidity": 0.4,
            },
        },
        hovertext=[_hover(step, pipeline.noun) for step in steps],
        hovertemplate=HOVER,
        unselected={"marker": {"opacity": 1}},
    )
    for at, step in enumerate(steps):
        number = f"{step.survivors:,} {pipeline.noun}s" if at == 0 else _left(step)
        is_good = at == last and step.survivors and not unknown[at]
        colour = tokens.good.text if is_good else tokens.text
        figure.add_annotation(
            x=at if at else -HALF, y=1, yref="paper", xanchor="center" if at else "left", yanchor="bottom",
            showarrow=False, yshift=2, align="center" if at else "left",
            text=f"<span style='color:{tokens.muted}'>{step.title}</span><br><b>{number}</b>",
            font={"size": 13, "color": colour},
        )  # fmt: skip
        if step.basis == "not checked" and frame.place(step.survivors) >= LEAST_TURNED:
            figure.add_annotation(
                x=at, y=step.survivors / 2, text=step.basis, textangle=-90, showarrow=False,
                font={"size": 12, "color": tokens.muted}, bgcolor=tokens.background, borderpad=1,
            )  # fmt: skip


def _hover(step: PipelineStep, noun: str) -> str:
    """Return what a step rests on, for the pointer."""
    if step.basis == "not recorded":
        return f"{step.title}: not recorded, so no case can fail here"
    basis = {
        "measured": "",
        "inferred": "<br>inferred: no gold is recorded, decided by the context metric",
        "not checked": "<br>not checked: too few answers were checked against a reference, a label or a rule",
    }[step.basis]
    return f"{step.title}: {count(step.survivors, noun)} left{basis}"


def _add_losses(figure: go.Figure, pipeline: Pipeline, tokens: Tokens) -> None:
    """Draw each loss under the survivors of its step; a click on it gives the key of its stage."""
    x, heights, tops, colours, patterns, keys, hover = [], [], [], [], [], [], []
    for at, step in enumerate(pipeline.steps):
        top = step.survivors
        for loss in step.losses:
            if loss.key == NOT_JUDGED:
                figure.add_shape(
                    type="rect", x0=at - HALF, x1=at + HALF, y0=top, y1=top + loss.n,
                    line={"width": 1, "dash": "dash", "color": tokens.muted},
                )  # fmt: skip
            else:
                x.append(at)
                heights.append(loss.n)
                tops.append(top)
                colours.append(_colour(loss, tokens))
                patterns.append("/" if loss.n_inferred else "")
                keys.append([loss.key])
                hover.append(
                    f"{count(loss.n, pipeline.noun)}: {STAGES[stage_code(loss.key)].title}<br>click: open"
                )
            top += loss.n
    figure.add_bar(
        x=x,
        y=heights,
        base=tops,
        width=2 * HALF,
        marker={
            "color": colours,
            "line": {"width": 1, "color": tokens.background},
            "pattern": {"shape": patterns, "fgcolor": tokens.background, "fillmode": "overlay", "size": 6},
        },
        customdata=keys,
        hovertext=hover,
        hovertemplate=HOVER,
        unselected={"marker": {"opacity": 1}},
    )


class _Labels:
    """Places for labels to the right of their bars, pushed down where they would overlap."""

    def __init__(self, frame: _Frame) -> None:
        self.frame = frame
        self._taken: list[tuple[float, float, float, float]] = []  # left, right, middle, half of the height

    def place(self, step: int, cases: float, text: str, lines: int = 1) -> float:
        """Return at how many cases from the top the middle of a label stands."""
        start, half = step * STEP, lines * LINE / 2
        end, middle = start + LETTER * len(text) + 24, max(self.frame.place(cases), half)
        neighbours = sorted(
            (y, other) for left, right, y, other in self._taken if left < end and start < right
        )
        for y, other in neighbours:
            if abs(y - middle) < half + other:
                middle = y + half + other
        self._taken.append((start, end, middle, half))
        return self.frame.cases(middle)

    @property
    def lowest(self) -> float:
        """Pixels from the top to the end of the lowest label."""
        return max((middle + half for _, _, middle, half in self._taken), default=0.0)


def _fits(pipeline: Pipeline, frame: _Frame) -> bool:
    """Return whether the labels of all losses end above the lower edge."""
    labels = _Labels(frame)
    for at, step in enumerate(pipeline.steps):
        for loss, middle in _middles(step, frame):
            labels.place(at, middle, _text(loss))
    return labels.lowest <= frame.pixels + frame.bottom


def _middles(step: PipelineStep, frame: _Frame) -> list[tuple[Loss, float]]:
    """Return each loss of a step with the place of its label: beside its bar, clear of what flows on."""
    top, below, middles = step.survivors, step.survivors + frame.cases(LINE / 2 + 1), []
    for loss in step.losses:
        middles.append((loss, max(top + loss.n / 2, below)))
        top += loss.n
    return middles


def _text(loss: Loss, doubt: str = "") -> str:
    return f"{MINUS}{loss.n:,} {_name(loss).replace(INFERRED, ' inferred')}{doubt}"


def _add_labels(
    figure: go.Figure, pipeline: Pipeline, labels: _Labels, doubted: Collection[str], tokens: Tokens
) -> None:
    """Write the name of each loss beside its bar; the name can be clicked as well."""
    x, y, keys = [], [], []
    for at, step in enumerate(pipeline.steps):
        for loss, centre in _middles(step, labels.frame):
            name = _name(loss)
            small = " inferred" if name.endswith(INFERRED) else ""
            doubt = " doubted" if loss.key in doubted else ""
            middle = labels.place(at, centre, _text(loss, doubt))
            marks = f"<span style='font-size:12px;color:{tokens.muted}'>{small}</span>"
            marks += f"<span style='font-size:12px;color:{tokens.unclear.text}'>{doubt}</span>"
            figure.add_annotation(
                x=at + HALF, y=middle, xanchor="left", xshift=5, showarrow=False, align="left",
                text=f"<b>{MINUS}{loss.n:,}</b> {chart_text(name.removesuffix(INFERRED))}{marks}",
                font={"size": 13}, captureevents=False, bgcolor=tokens.background, borderpad=0,
            )  # fmt: skip
            if loss.key != NOT_JUDGED:
                marked = [at + HALF + 0.1 + 0.16 * place for place in range(5)]
                x += marked
                y += [middle] * len(marked)
                keys += [[loss.key]] * len(marked)
    figure.add_scatter(
        x=x,
        y=y,
        mode="markers",
        marker={"size": LINE, "symbol": "square", "opacity": 0},
        customdata=keys,
        hovertemplate="click: open these cases<extra></extra>",
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
    )


def _add_baseline(
    figure: go.Figure, pipeline: Pipeline, base: Pipeline, name: str, labels: _Labels, tokens: Tokens
) -> None:
    """Mark the baseline's survivors as dashed lines, as shares where it has another number of cases."""
    for at, step in enumerate(pipeline.steps[1:], 1):
        share = base.share(step.key)
        if share is not None:
            figure.add_shape(
                type="line", x0=at - HALF - 0.05, x1=at + HALF + 0.05, y0=share * pipeline.n,
                y1=share * pipeline.n, line={"width": 2, "dash": "dot", "color": tokens.text},
            )  # fmt: skip
    good = base.share("good") or 0.0
    value = f"{base.good:,}" if base.n == pipeline.n else percent(good)
    named = shorten(name, 13)
    last = len(pipeline.steps) - 1
    middle = labels.place(last, good * pipeline.n, f"{value} good in", lines=2)
    figure.add_annotation(
        x=last + HALF, y=middle, xanchor="left", xshift=9, showarrow=False, align="left",
        text=f"<b>{value}</b> good in<br>{chart_text(named)}", font={"size": 12.5, "color": tokens.muted},
    )  # fmt: skip
