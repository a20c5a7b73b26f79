"""Putting questions that went wrong into a dataset: which one, on which corpus, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from ragtriage.dashboard.shell.session import open_store
from ragtriage.dashboard.shell.user import attempt
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.datasets.dataset import Dataset, create_dataset, datasets
from ragtriage.data.datasets.regressions import Added, add_regressions, questions_of
from ragtriage.data.text.tokens import folded_question
from ragtriage.metrics.number_text import count

NEW = ""  # among the datasets: a new one
Samples = Callable[[], Sequence[Mapping[str, Any]]]


def into_dataset(key: str, questions: Sequence[str], project: str, source: str, samples: Samples) -> None:
    """Ask which dataset takes questions, and add them; what came of it is shown until `forget_said`.

    Args:
        key: of the widgets.
        questions: the different ones.
        project: that they are of, for the name of a new dataset.
        source: where they went wrong.
        samples: returns them in the native form, once the button was pressed.
    """
    sets = {each.dataset_id: each for each in datasets(open_store().workspace)}
    if not sets:
        st.write("There is no dataset yet, and so no corpus to look up gold in.")
        st.code("ragtriage dataset from-questions RUN CORPUS", language="bash")
        return
    name = {**{key: each.name for key, each in sets.items()}, NEW: "a new dataset"}
    into = str(st.selectbox("Into", [*sets, NEW], format_func=name.__getitem__, key=f"{key}_into"))
    new_name, corpus_of = "", None
    if into == NEW:
        new_name = st.text_input("Its name", f"regressions of {project}", key=f"{key}_name")
        chosen = st.selectbox(
            "On the corpus of", list(sets), format_func=name.__getitem__, key=f"{key}_corpus"
        )
        corpus_of = sets[str(chosen)]
    known = questions_of(sets[into]) if into in sets else set[str]()
    there = sum(folded_question(each) in known for each in questions)
    new = len(questions) - there
    if there:
        st.text(f"{there:,} of {count(len(questions), 'question')} are there already, {new:,} are new.")
    st.caption("Known gold is kept; otherwise search suggests it. All questions go to review.")

    def add() -> None:
        st.session_state[f"{key}_said"] = _add(sets.get(into), new_name, corpus_of, source, samples)

    label = f"Add {count(new, 'question')} to the review" if new else "No new question to add"
    st.button(label, key=f"{key}_add", type="primary", disabled=not new, on_click=attempt, args=(add,))
    if said := st.session_state.get(f"{key}_said"):
        st.success(said)


def forget_said(key: str) -> None:
    """Drop what came of adding questions: where they were asked for is closed."""
    st.session_state.pop(f"{key}_said", None)


def _add(dataset: Dataset | None, name: str, corpus_of: Dataset | None, source: str, samples: Samples) -> str:
    target = dataset or create_dataset(open_store().workspace, name)
    return added_text(target, add_regressions(target, samples(), source, corpus_of))


def added_text(dataset: Dataset, added: Added) -> str:
    """Return what came of adding, as Markdown."""
    name = markdown_text(dataset.name)
    known = f"; {added.known:,} are there already" if added.known else ""
    address = urlencode({"dataset": dataset.dataset_id, "part": "review"})
    return f"{count(added.added, 'question')} added to [{name}](datasets?{address}){known}."
