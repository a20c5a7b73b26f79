"""What a decision of a router costs, under weights that the reader sets."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.shell.components import facts
from ragtriage.dashboard.shell.session import current_selection, keep
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.suites.router import RouterScores
from ragtriage.metrics.number_text import number

WEIGHTS = {  # kind of wrong route -> title of the box for its cost
    "refused": "Cost of a wrong “%s”",
    "added": "Cost of a missed “%s”",
    "mixed_up": "Cost of another mix-up",
}
HIGHEST = 1000.0


def expected_cost(main: RouterScores) -> None:
    """Draw a box for the weight of each kind of wrong route, and what a decision costs under them."""
    fallback = main.decisions.fallback
    if fallback is None:
        return
    name, weights = main.decisions.routes[fallback][:24], current_selection().route_weights
    chosen: dict[str, float] = {}
    with st.container(horizontal=True):
        for key, label in WEIGHTS.items():
            if key == "mixed_up" and len(main.decisions.routes) < 3:
                continue
            chosen[key] = st.number_input(
                markdown_text(label.replace("%s", name)),
                0.0,
                HIGHEST,
                _weight(weights.get(key, "1")),
                key=f"weight_{key}",
                width=220,
                on_change=_keep_weight,
                args=(key,),
            )
    costs = [main.constant_cost(code, **chosen) for code in range(len(main.decisions.routes))]
    best = min(range(len(costs)), key=costs.__getitem__)
    constant = markdown_text(main.decisions.routes[best])
    facts(
        [
            f"a decision of this router costs {number(main.cost(**chosen), 3)}",
            f"always “{constant}”, the best constant router, {number(costs[best], 3)}",
            f"n = {int(main.scores.support.sum()):,}",
            "your weights, an assumption",
        ]
    )


def _weight(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 1.0
    return value if 0 <= value <= HIGHEST else 1.0


def _keep_weight(key: str) -> None:
    weights = {**current_selection().route_weights, key: f"{st.session_state[f'weight_{key}']:g}"}
    keep(route_weights=weights)
