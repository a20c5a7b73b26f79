"""The mean of a quantity over the run, corrected by labels that were drawn at random."""

from __future__ import annotations

import streamlit as st

from dashboard.access import may_write
from dashboard.calibration_charts import Mean, mean_rows
from dashboard.drawing import draw, facts
from dashboard.rounding import count, interval_text, number, signed
from dashboard.session import open_cases
from dashboard.text import markdown_text
from data.agreements import Cuts
from data.corrected_means import ADVISED_LABELS, FEW_LABELS, Corrected, corrected_mean
from data.held_metrics import Held
from data.human_values import PeopleValues
from data.tables import RunTable
from metrics.ppi import PpiMean

__all__ = ["mean_section"]

ADVICE = f"{ADVISED_LABELS[0]} to {ADVISED_LABELS[1]} labels drawn at random are advised"


@st.cache_resource(max_entries=64, show_spinner="Correcting the mean")
def _corrected(
    _table: RunTable,
    _people: PeopleValues,
    key: tuple[object, ...],  # noqa: ARG001 -- cache key
    held: Held,
    cuts: Cuts,
) -> Corrected:
    return corrected_mean(_table, _people, held, cuts)


def mean_section(
    table: RunTable, people: PeopleValues, held: Held | None, cuts: Cuts, stamp: tuple[object, ...]
) -> None:
    """Draw the corrected mean beside the metric's own, or say what it needs.

    Args:
        table: the run.
        people: what they said.
        held: the metric on all samples; None where there is none.
        cuts: cut-offs of people and of the metric.
        stamp: changes when scores or labels do.
    """
    st.markdown("**What the mean would be if people labelled everything**")
    found = None if held is None else _corrected(table, people, (stamp, people.key), held, cuts)
    if found is None or found.ppi is None or found.raw is None or held is None:
        _nothing_drawn(people, found)
        return
    ppi = found.ppi
    if ppi.n_labelled < FEW_LABELS:
        st.warning(
            f"{count(ppi.n_labelled, 'label')} drawn at random: fewer than {FEW_LABELS}, so the corrected "
            f"mean is uncertain; {ADVICE}."
        )
    draw(mean_rows(_means(found, held, people)), "calibration_mean", "Means with their 95 % intervals")
    facts([*_facts(ppi, found), "" if ppi.n_labelled < FEW_LABELS else _enough(ppi.n_labelled)])
    st.caption(_reading(found, held, people, cuts))


def _nothing_drawn(people: PeopleValues, found: Corrected | None) -> None:
    browsed = int(found.browsed) if found is not None else people.n
    out = 0 if people.imported else browsed
    left = f" Left out: {count(out, 'labelled case')} found by browsing." if out else ""
    why = (
        "scores that came in the file are no random sample of it that is known"
        if people.imported
        else "none is there"
    )
    if found is not None and people.n_drawn and found.unjudged:
        why = f"of the {people.n_drawn:,} there, none has a value of the metric on a scale"
    if found is not None and found.unrated:
        left = f" {_unrated(found)}.{left}"
    st.caption(f"Not measured: it needs labels drawn at random on the Cases page, and {why}.{left} {ADVICE}.")
    if may_write() and st.button("Label cases at random", key="calibration_draw"):
        open_cases()


def _means(found: Corrected, held: Held, people: PeopleValues) -> list[Mean]:
    ppi, raw = found.ppi, found.raw
    assert ppi is not None  # noqa: S101 -- the caller draws nothing without them
    assert raw is not None  # noqa: S101 -- likewise
    whole, labels = ppi.n_labelled + ppi.n_unlabelled, ppi.classical
    own = "the metric alone" if found.same else "the metric alone, another quantity"
    return [
        Mean(own, raw.mean, raw.low, raw.high, f"n = {whole:,}, {held.title}"),
        Mean("labels alone", labels.mean, labels.low, labels.high, f"n = {ppi.n_labelled:,}"),
        Mean(
            "corrected", ppi.estimate, ppi.low, ppi.high,
            f"{ppi.n_labelled:,} labels of {people.title} and {ppi.n_unlabelled:,} other samples", True,
        ),
    ]  # fmt: skip


def _facts(ppi: PpiMean, found: Corrected) -> list[str]:
    return [
        f"corrected **{number(ppi.estimate)}** {interval_text(ppi.low, ppi.high)}",
        f"{count(ppi.n_labelled, 'label')} drawn at random, {ppi.n_unlabelled:,} others by the metric alone",
        f"worth {number(ppi.effective_n, 0)} labels without it",
        f"the metric is off by {signed(ppi.bias)} where people labelled, its weight is {number(ppi.tuning)}",
        f"{count(found.browsed, 'case')} labelled while browsing left out" if found.browsed else "",
        f"{count(found.unjudged, 'labelled case')} without a value of the metric left out"
        if found.unjudged
        else "",
        _unrated(found),
        "prediction-powered inference, normal interval over questions or conversations, not cut to 0 to 1",
    ]


def _unrated(found: Corrected) -> str:
    return f"{count(found.unrated, 'drawn case')} could not be rated, left out" if found.unrated else ""


def _enough(labels: int) -> str:
    return "" if labels >= ADVISED_LABELS[0] else ADVICE


def _reading(found: Corrected, held: Held, people: PeopleValues, cuts: Cuts) -> str:
    metric, quantity = markdown_text(held.title), markdown_text(people.title)
    rated = " The mean is over what people can rate." if found.unrated else ""
    if people.binary:
        return f"A mean of yes or no: {metric} counts as yes from {cuts[1]:.2f} of its scale on.{rated}"
    if not found.same:
        return f"{metric} is another quantity: it only helps to narrow the mean of {quantity}.{rated}"
    return f"Both are on the scale of {quantity}, 0 to 1.{rated}"
