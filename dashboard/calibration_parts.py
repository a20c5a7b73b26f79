"""How far the judge, and every other metric, can be trusted: held against what people said."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from dashboard.access import may_write
from dashboard.alignment_words import METHODS
from dashboard.calibration_charts import confusion_matrix, ranking_dots
from dashboard.calibration_mean import mean_section
from dashboard.controls import choose, slide
from dashboard.drawing import clicked, facts, show_table
from dashboard.rounding import count, interval_text, number
from dashboard.session import View, current_selection, keep, open_cases
from dashboard.text import markdown_text
from data.agreement_marks import cell_mark, disagree_mark
from data.agreements import CELLS, Alpha, Calibration, Cuts, alpha_of, calibrate, ranking
from data.corrected_means import ADVISED_LABELS, FEW_LABELS
from data.held_metrics import Held, held_options
from data.human_values import (
    DEGREES,
    PeopleValues,
    people_quantities,
    people_values,
    quantity_title,
    words_of,
)
from data.ledger import Ledger
from data.tables import RunTable
from metrics.agreement import Agreement

__all__ = ["calibration_section"]

Key = tuple[object, ...]  # where the scores lie, the state of the ledger, and the quantity
_TITLES = {
    "spearman": "Spearman's rank correlation",
    "true_positive_rate": "True positive rate",
    "true_negative_rate": "True negative rate",
    "kappa": "Cohen's kappa",
    "accuracy": "Same verdict",
}
_MEANINGS = {
    "spearman": "same order of cases: 1",
    "true_positive_rate": "people {yes}: metric high",
    "true_negative_rate": "people {no}: metric low",
    "kappa": "beyond chance: 1, as chance: 0",
    "accuracy": "the same side of both cut-offs",
}
_COMPARED = {"nominal": "same or not", "ordinal": "by their order", "interval": "by their distance"}


@st.cache_resource(max_entries=32, show_spinner=False)
def _quantities(_table: RunTable, _ledger: Ledger, key: Key) -> list[str]:  # noqa: ARG001 -- cache key
    return people_quantities(_table, _ledger)


@st.cache_resource(max_entries=64, show_spinner=False)
def _people(_table: RunTable, _ledger: Ledger, key: Key, quantity: str) -> PeopleValues:  # noqa: ARG001 -- key
    return people_values(_table, _ledger, quantity)


@st.cache_resource(max_entries=64, show_spinner=False)
def _options(_table: RunTable, _people: PeopleValues, key: Key) -> list[Held]:  # noqa: ARG001 -- cache key
    return held_options(_table, _people)


@st.cache_resource(max_entries=64, show_spinner="Comparing with people")
def _calibration(
    _table: RunTable,
    _people: PeopleValues,
    key: Key,  # noqa: ARG001 -- cache key
    held: Held,
    cuts: Cuts,
) -> Calibration:
    return calibrate(_table, _people, held, cuts)


@st.cache_resource(max_entries=64, show_spinner="Comparing every metric with people")
def _ranking(_table: RunTable, _people: PeopleValues, key: Key) -> list[tuple[Held, Agreement]]:  # noqa: ARG001 -- key
    return ranking(_table, _people)


@st.cache_resource(max_entries=64, show_spinner="Comparing people with each other")
def _alpha(_table: RunTable, _ledger: Ledger, key: Key, quantity: str) -> Alpha:  # noqa: ARG001 -- cache key
    return alpha_of(_table, _ledger, quantity)


def calibration_section(view: View) -> None:
    """Draw how far the metrics of the run agree with people, and the mean that their labels correct."""
    st.subheader("Do people agree with the numbers?")
    table, ledger = view.table(view.run), view.catalogue.ledger
    stamp = (table.scores_path.as_posix(), ledger.stamp())
    keys = _quantities(table, ledger, stamp)
    if not keys:
        _nobody()
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        quantity = choose("What people said", "quantity", keys, _offered, {"held": ""}, width=280)
        people, key = _people(table, ledger, stamp, quantity), (*stamp, quantity)
        held = _held_picker(_options(table, people, key))
        cuts = _cut_sliders(people)
    if held is None:
        st.info("No metric of this run has a value for the cases that people spoke of. Judge the run first.")
    else:
        _agreement(people, held, cuts, _calibration(table, people, key, held, cuts))
        _ranked(_ranking(table, people, key), held)
    _between(people, _alpha(table, ledger, stamp, quantity))
    mean_section(table, people, held, cuts, key)


def _nobody() -> None:
    st.info(
        "Nobody has labelled a case of this run yet, and no score of a person came with its file. Label "
        f"cases at random on the Cases page: {ADVISED_LABELS[0]} to {ADVISED_LABELS[1]} labels are advised, "
        "and with them this page tells how far each metric can be trusted."
    )
    if may_write() and st.button("Label cases at random", key="calibration_label"):
        open_cases()


def _offered(key: str) -> str:
    return f"{quantity_title(key)} ({'from the file' if key.startswith('imported:') else 'labelled here'})"


def _held_picker(options: Sequence[Held]) -> Held | None:
    if not options:
        return None
    by_key = {one.key: one for one in options}
    titles = {key: one.title for key, one in by_key.items()}
    return by_key[choose("Held against it", "held", [*by_key], titles, {}, width=300)]


def _cut_sliders(people: PeopleValues) -> Cuts:
    with st.popover("Cut-offs"):
        st.caption("Where high begins, as a share of each scale.")
        if not people.binary:
            slide("People", "people_cut", "At or above it, what people said counts as high.")
        slide("Metric", "held_cut", "At or above it, the metric counts as high.")
    return current_selection().people_cut, current_selection().held_cut


def _agreement(people: PeopleValues, held: Held, cuts: Cuts, found: Calibration) -> None:
    missing = [f"{n:,} {status}" for status, n in found.verdicts.missing.items()]
    lacking = f" ({', '.join(missing)} by the metric)" if missing else ""
    both = int(found.verdicts.known.sum())
    facts(
        [
            f"n = {both:,} of {count(people.n, 'case')} that people spoke of{lacking}",
            people.how,
            _cut_text(people, cuts),
            _methods((found.spearman, *found.rates)),
        ]
    )
    if found.confusion is None:
        show_table([_row(found.spearman, people)], "Agreement with people")
        st.caption("This metric declares no scale, so there is no cut-off and no confusion matrix.")
        return
    matrix, numbers = st.columns([2, 3], gap="medium", vertical_alignment="center")
    marks = [cell_mark(cell, people.key, held, cuts) for cell in CELLS]
    with matrix:
        figure = confusion_matrix(
            found.confusion,
            (words_of(people.key), DEGREES),
            (f"people: {people.title}", held.title),
            marks,
            st.context.theme.type == "dark",
        )
        hit = clicked(figure, "calibration_matrix", _alt(found))
    with numbers:
        show_table([_row(one, people) for one in (found.spearman, *found.rates)], "Agreement with people")
        _case_buttons(people, held, cuts, found)
    if hit is not None:
        open_cases(mark=str(hit[0]))


def _methods(rows: Sequence[Agreement]) -> str:
    known = dict.fromkeys(METHODS[one.method] for one in rows if one.method in METHODS)
    return f"95 %: {', '.join(known)}" if known else ""


def _cut_text(people: PeopleValues, cuts: Cuts) -> str:
    if people.binary:
        return f"metric high from {cuts[1]:.2f}"
    return f"people high from {cuts[0]:.2f}, metric high from {cuts[1]:.2f} of the scale"


def _alt(found: Calibration) -> str:
    counts = found.confusion
    return "" if counts is None else f"{counts.tp + counts.tn} of {counts.n} cases with the same verdict"


def _row(one: Agreement, people: PeopleValues) -> dict[str, str]:
    yes, no = words_of(people.key)
    return {
        "Agreement": _TITLES[one.name],
        "Value": number(one.value),
        "95 %": interval_text(one.low, one.high),
        "n": f"{one.n:,}",
        "What it says": _MEANINGS[one.name].format(yes=yes, no=no),
    }


def _case_buttons(people: PeopleValues, held: Held, cuts: Cuts, found: Calibration) -> None:
    apart = len(found.rows)
    with st.container(horizontal=True, vertical_alignment="center"):
        if apart and st.button(
            f"Open the {count(apart, 'case')} where they disagree", key="calibration_disagree", type="primary"
        ):
            open_cases(mark=disagree_mark(people.key, held, cuts))
        if not apart:
            st.caption("They disagree on no case.")
        with st.popover("Open cases by cell"):
            for cell in CELLS:
                _cell_button(people, held, cuts, found, cell)


def _cell_button(people: PeopleValues, held: Held, cuts: Cuts, found: Calibration, cell: str) -> None:
    known = next(one for one in CELLS if one == cell)
    said, other = cell.split("-")
    title = f"people: {words_of(people.key)[said == 'no']}, metric: {DEGREES[other == 'no']}"
    cases = int(found.verdicts.cell(known).sum())
    if st.button(f"{title} ({cases:,})", key=f"cell_{cell}", disabled=not cases, width="stretch"):
        open_cases(mark=cell_mark(known, people.key, held, cuts))


def _ranked(found: Sequence[tuple[Held, Agreement]], held: Held) -> None:
    if len([one for _, one in found if np.isfinite(one.value)]) < 2:
        return
    st.markdown("**Which metric follows people best?**")
    hit = clicked(ranking_dots(found, held), f"calibration_ranking_{held.key}", "Rank correlation by metric")
    facts([METHODS["bootstrap"], "click a point to hold that metric against people"])
    if hit is not None and hit[0] != held.key:
        keep(held=str(hit[0]))
        st.rerun()


def _between(people: PeopleValues, alpha: Alpha) -> None:
    st.markdown("**Do people agree with each other?**")
    if np.isnan(alpha.value):
        why = "no case was labelled by two people" if not alpha.n else "their values do not vary"
        st.caption(f"Krippendorff's alpha: not measured; {why}.")
        return
    st.markdown(
        f"Krippendorff's alpha **{number(alpha.value)}** {_between_ends(alpha)}: 1 where "
        "they always agree, 0 where they agree as by chance; conclusions are usually drawn from 0.67 on."
    )
    facts(
        [
            f"n = {count(alpha.n, 'case')} with two people or more, {alpha.people:,} people in all",
            f"{markdown_text(people.title)}, values compared {_COMPARED[alpha.level]}",
            METHODS["bootstrap"] if np.isfinite(alpha.low) else "",
            "" if people.n >= FEW_LABELS else f"fewer than {FEW_LABELS} labels",
        ]
    )


def _between_ends(alpha: Alpha) -> str:
    return interval_text(alpha.low, alpha.high) if np.isfinite(alpha.low) else "(too few for an interval)"
