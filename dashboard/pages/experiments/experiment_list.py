"""All experiments of a project on one scale, of which one is chosen, and what follows from them."""

from collections.abc import Mapping, Sequence
from math import isfinite

import streamlit as st

from ragtriage.dashboard.experiments.registry import effect_of, experiment_headline
from ragtriage.dashboard.experiments.view import ShownEffect
from ragtriage.dashboard.present.page_html.blocks import ScaleRow, Strip, scale_row
from ragtriage.dashboard.shell.session import keep
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.experiments.experiment import Experiment
from ragtriage.data.experiments.registry import KINDS, ExperimentSummary
from ragtriage.metrics.number_text import count, points

MOST_SHOWN, MOST_STEPS = 8, 4
NAME_WIDTH = 150
AGAIN = {"shown_metric": "", "tab": ""}


def experiment_list(
    listed: Sequence[Experiment], summaries: Mapping[str, ExperimentSummary], chosen: Experiment
) -> None:
    """Draw the experiments, the largest loss first, each a button; the chosen one is framed.

    Args:
        listed: of the project, the newest first.
        summaries: of those that are drawn, by their id.
        chosen: the one beside.
    """
    effects = {key: effect_of(summary) for key, summary in summaries.items()}
    drawn = [entry for entry in listed if entry.experiment_id in summaries]
    drawn.sort(key=lambda entry: _loss(effects[entry.experiment_id]))
    st.markdown(f"##### {count(len(drawn), 'experiment')}, by points lost")
    for entry in drawn:
        key = entry.experiment_id
        with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
            st.button(
                markdown_text(shorten(KINDS[entry.kind].title, 40)),
                key=f"experiment_{key}",
                type="secondary" if entry == chosen else "tertiary",
                width=NAME_WIDTH,
                help=markdown_text(title_of(entry)),
                on_click=keep,
                kwargs={**AGAIN, "experiment": key},
            )
            st.html(scale_row(_row(summaries[key], effects[key])))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("points, −100 to +50; dotted: no change; bar: 95 % interval; hollow: could be chance")
        others = [entry for entry in listed if entry.experiment_id not in summaries]
        if others:
            _older(others)


def _older(others: Sequence[Experiment]) -> None:
    with st.popover(f"{len(others)} older", type="tertiary"):
        for entry in others:
            st.button(
                markdown_text(title_of(entry)),
                key=f"experiment_{entry.experiment_id}",
                type="tertiary",
                on_click=keep,
                kwargs={**AGAIN, "experiment": entry.experiment_id},
            )


def _loss(effect: ShownEffect | None) -> float:
    return effect.difference if effect is not None and isfinite(effect.difference) else 2.0


def _row(summary: ExperimentSummary, effect: ShownEffect | None) -> ScaleRow:
    headline = experiment_headline(summary)
    if effect is None or not isfinite(effect.difference):
        return ScaleRow(headline.state, "", headline.statement, Strip(None), headline.detail)
    low, high = (end if isfinite(end) else None for end in (effect.low, effect.high))
    strip = Strip(
        effect.difference, low, high, state=headline.state, label=headline.statement, start=-1.0, end=0.5,
        zero=True, hollow=not effect.is_shown,
    )  # fmt: skip
    return ScaleRow(headline.state, points(effect.difference), effect.text, strip, headline.statement)


def title_of(entry: Experiment) -> str:
    """Return kind, questions, system and date of an experiment in a line."""
    state = "" if entry.state == "done" else ", unfinished"
    when = f"{entry.created_at:%Y-%m-%d}{state}"
    return f"{KINDS[entry.kind].title}: {entry.questions} on {entry.name or entry.system} ({when})"


def what_follows(summaries: Mapping[str, ExperimentSummary], chosen: Experiment) -> None:
    """List what to do next, by the experiments that show a loss or a gain; a step opens its experiment."""
    steps = [
        (effect, key)
        for key, summary in summaries.items()
        if (effect := effect_of(summary)) is not None and effect.follows
    ]
    steps.sort(key=lambda step: step[0].difference)
    st.markdown("##### What follows")
    if not steps:
        st.caption("Nothing: no experiment shows a loss so far.")
    for at, (effect, key) in enumerate(steps[:MOST_STEPS], 1):
        with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
            st.markdown(f"**{at}** {markdown_text(effect.follows)}", width="stretch")
            st.button(
                markdown_text(f"{points(effect.difference)}"),
                key=f"follow_{at}",
                type="tertiary",
                icon=":material/arrow_forward:",
                icon_position="right",
                disabled=key == chosen.experiment_id,
                on_click=keep,
                kwargs={**AGAIN, "experiment": key},
            )
