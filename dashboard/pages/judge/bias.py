"""What may bias the judge: order of the documents, length of the answer, answers of its own model."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.shell.components import facts, show_table
from ragtriage.dashboard.shell.kept_results import kept_with_spinner
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.tables.judge import length_table, order_table, position_table
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.judge.bias import JudgeBias, judge_bias
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count

STRONG = 0.3  # a rank correlation with length from which on it is pointed at


@kept_with_spinner("Looking for bias")
def _bias(scored: ScoredRun, ledger: Ledger) -> JudgeBias:
    return judge_bias(scored, ledger)


def bias_section(view: View) -> None:
    """Draw what is known of the biases of the judge of the run on display."""
    bias = _bias(view.scored(view.run), view.store.ledger)
    st.markdown("**Is the judge biased?**")
    if bias.own_model:
        st.warning(f"{markdown_text(bias.own_model[0].upper() + bias.own_model[1:])}.")
    elif not bias.generator:
        st.caption(
            "The run does not name the model that answered, so the judge may be judging its own answers."
        )
    _order(bias, view.run.run_id)
    _length(bias)


def _order(bias: JudgeBias, run_id: str) -> None:
    if not bias.order:
        st.caption(
            "Order of the documents: not measured. A share of the samples judged with their documents in "
            "another order shows whether the judge favours what it sees first:"
        )
        st.code(f"ragtriage judge {run_id} --shuffle 0.2", language="bash")
        return
    show_table(order_table(bias.order))
    show_table(position_table(bias.position))
    favoured = [effect.label for effect in bias.position if effect.low > 0]
    if favoured:
        st.warning(f"The judge favours documents that it sees earlier: {', '.join(favoured)}.")
    facts(
        [
            f"{count(bias.shuffled, 'sample')} judged in two orders by one judge",
            "95 % bootstrap intervals over questions or conversations",
            "the judge's own variation is part of these differences",
        ]
    )


def _length(bias: JudgeBias) -> None:
    if not bias.length:
        return
    show_table(length_table(bias.length))
    strong = [
        title_of(effect.metric)
        for effect in bias.length
        if abs(effect.judge.value) >= STRONG and not effect.judge.low <= 0 <= effect.judge.high
    ]
    if strong:
        st.caption(
            f"{', '.join(strong)} goes with length. Longer answers may be better or worse: the same "
            "correlation of human labels tells, where there are some."
        )
