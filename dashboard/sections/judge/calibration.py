"""How far the judge, and every other metric, can be trusted: held against what people said."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from dashboard.charts.judge import Mean, confusion_matrix, mean_rows, ranking_dots
from dashboard.shell.components import clicked, draw, facts, show_table
from dashboard.shell.session import View, current_selection, keep, open_cases
from dashboard.shell.user import may_write
from dashboard.shell.widgets import choose, slide
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import METHODS, count, interval_text, number, signed
from data.cases.agreement_cohorts import confusion_cohort, disagreement_cohort
from data.labels.agreement import CELLS, Alpha, Calibration, Thresholds, alpha_of, calibrate, ranking
from data.labels.evaluated_metric import EvaluatedMetric, evaluated_metrics
from data.labels.human_ratings import (
    DEGREES,
    HumanRatings,
    answer_words,
    dimension_title,
    human_ratings,
    rated_dimensions,
)
from data.labels.ppi_estimate import ADVISED_LABELS, FEW_LABELS, PpiEstimate, ppi_estimate
from data.scoring.scored_run import ScoredRun
from data.store.ledger import Ledger
from metrics.statistics.agreement import Agreement
from metrics.statistics.ppi import PpiMean

__all__ = [
    "calibration_section",
    "mean_section",
]

ADVICE = f"{ADVISED_LABELS[0]} to {ADVISED_LABELS[1]} labels drawn at random are advised"


@st.cache_resource(max_entries=64, show_spinner="Correcting the mean")
def _corrected(
    _scored: ScoredRun,
    _people: HumanRatings,
    key: tuple[object, ...],  # noqa: ARG001 -- cache key
    held: EvaluatedMetric,
    cuts: Thresholds,
) -> PpiEstimate:
    return ppi_estimate(_scored, _people, held, cuts)


def mean_section(
    scored: ScoredRun,
    people: HumanRatings,
    held: EvaluatedMetric | None,
    cuts: Thresholds,
    stamp: tuple[object, ...],
) -> None:
    """Draw the corrected mean beside the metric's own, or say what it needs.

    Args:
        scored: the run.
        people: what they said.
        held: the metric on all samples; None where there is none.
        cuts: cut-offs of people and of the metric.
        stamp: changes when scores or labels do.
    """
    st.markdown("**What the mean would be if people labelled everything**")
    found = None if held is None else _corrected(scored, people, (stamp, people.key), held, cuts)
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


def _nothing_drawn(people: HumanRatings, found: PpiEstimate | None) -> None:
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


def _means(found: PpiEstimate, held: EvaluatedMetric, people: HumanRatings) -> list[Mean]:
    ppi, raw = found.ppi, found.raw
    assert ppi is not None  # noqa: S101 -- the caller draws nothing without them
    assert raw is not None  # noqa: S101 -- likewise
    whole, labels = ppi.n_labelled + ppi.n_unlabelled, ppi.classical
    own = "the metric alone" if found.same_dimension else "the metric alone, another quantity"
    return [
        Mean(own, raw.mean, raw.low, raw.high, f"n = {whole:,}, {held.title}"),
        Mean("labels alone", labels.mean, labels.low, labels.high, f"n = {ppi.n_labelled:,}"),
        Mean(
            "corrected", ppi.estimate, ppi.low, ppi.high,
            f"{ppi.n_labelled:,} labels of {people.title} and {ppi.n_unlabelled:,} other samples", True,
        ),
    ]  # fmt: skip


def _facts(ppi: PpiMean, found: PpiEstimate) -> list[str]:
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


def _unrated(found: PpiEstimate) -> str:
    return f"{count(found.unrated, 'drawn case')} could not be rated, left out" if found.unrated else ""


def _enough(labels: int) -> str:
    return "" if labels >= ADVISED_LABELS[0] else ADVICE


def _reading(found: PpiEstimate, held: EvaluatedMetric, people: HumanRatings, cuts: Thresholds) -> str:
    metric, quantity = markdown_text(held.title), markdown_text(people.title)
    rated = " The mean is over what people can rate." if found.unrated else ""
    if people.binary:
        return f"A mean of yes or no: {metric} counts as yes from {cuts[1]:.2f} of its scale on.{rated}"
    if not found.same_dimension:
        return f"{metric} is another quantity: it only helps to narrow the mean of {quantity}.{rated}"
    return f"Both are on the scale of {quantity}, 0 to 1.{rated}"


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
def _quantities(_scored: ScoredRun, _ledger: Ledger, key: Key) -> list[str]:  # noqa: ARG001 -- cache key
    return rated_dimensions(_scored, _ledger)


@st.cache_resource(max_entries=64, show_spinner=False)
def _people(_scored: ScoredRun, _ledger: Ledger, key: Key, quantity: str) -> HumanRatings:  # noqa: ARG001 -- key
    return human_ratings(_scored, _ledger, quantity)


@st.cache_resource(max_entries=64, show_spinner=False)
def _options(_scored: ScoredRun, _people: HumanRatings, key: Key) -> list[EvaluatedMetric]:  # noqa: ARG001 -- cache key
    return evaluated_metrics(_scored, _people)


@st.cache_resource(max_entries=64, show_spinner="Comparing with people")
def _calibration(
    _scored: ScoredRun,
    _people: HumanRatings,
    key: Key,  # noqa: ARG001 -- cache key
    held: EvaluatedMetric,
    cuts: Thresholds,
) -> Calibration:
    return calibrate(_scored, _people, held, cuts)


@st.cache_resource(max_entries=64, show_spinner="Comparing every metric with people")
def _ranking(_scored: ScoredRun, _people: HumanRatings, key: Key) -> list[tuple[EvaluatedMetric, Agreement]]:  # noqa: ARG001 -- key
    return ranking(_scored, _people)


@st.cache_resource(max_entries=64, show_spinner="Comparing people with each other")
def _alpha(_scored: ScoredRun, _ledger: Ledger, key: Key, quantity: str) -> Alpha:  # noqa: ARG001 -- cache key
    return alpha_of(_scored, _ledger, quantity)


def calibration_section(view: View) -> None:
    """Draw how far the metrics of the run agree with people, and the mean that their labels correct."""
    st.subheader("Do people agree with the numbers?")
    scored, ledger = view.scored(view.run), view.store.ledger
    stamp = (scored.scores_path.as_posix(), ledger.version())
    keys = _quantities(scored, ledger, stamp)
    if not keys:
        _nobody()
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        quantity = choose("What people said", "dimension", keys, _offered, {"evaluated": ""}, width=280)
        people, key = _people(scored, ledger, stamp, quantity), (*stamp, quantity)
        held = _held_picker(_options(scored, people, key))
        cuts = _cut_sliders(people)
    if held is None:
        st.info("No metric of this run has a value for the cases that people spoke of. Judge the run first.")
    else:
        _agreement(people, held, cuts, _calibration(scored, people, key, held, cuts))
        _ranked(_ranking(scored, people, key), held)
    _between(people, _alpha(scored, ledger, stamp, quantity))
    mean_section(scored, people, held, cuts, key)


def _nobody() -> None:
    st.info(
        "Nobody has labelled a case of this run yet, and no score of a person came with its file. Label "
        f"cases at random on the Cases page: {ADVISED_LABELS[0]} to {ADVISED_LABELS[1]} labels are advised, "
        "and with them this page tells how far each metric can be trusted."
    )
    if may_write() and st.button("Label cases at random", key="calibration_label"):
        open_cases()


def _offered(key: str) -> str:
    return f"{dimension_title(key)} ({'from the file' if key.startswith('imported:') else 'labelled here'})"


def _held_picker(options: Sequence[EvaluatedMetric]) -> EvaluatedMetric | None:
    if not options:
        return None
    by_key = {one.key: one for one in options}
    titles = {key: one.title for key, one in by_key.items()}
    return by_key[choose("Metric compared with it", "evaluated", [*by_key], titles, {}, width=300)]


def _cut_sliders(people: HumanRatings) -> Thresholds:
    with st.popover("Cut-offs"):
        st.caption("Where high begins, as a share of each scale.")
        if not people.binary:
            slide("Human threshold", "human_threshold", "At or above it, what people said counts as high.")
        slide("Metric threshold", "metric_threshold", "At or above it, the metric counts as high.")
    return current_selection().human_threshold, current_selection().metric_threshold


def _agreement(people: HumanRatings, held: EvaluatedMetric, cuts: Thresholds, found: Calibration) -> None:
    missing = [f"{n:,} {status}" for status, n in found.labels.missing.items()]
    lacking = f" ({', '.join(missing)} by the metric)" if missing else ""
    both = int(found.labels.paired.sum())
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
    marks = [confusion_cohort(cell, people.key, held, cuts) for cell in CELLS]
    with matrix:
        figure = confusion_matrix(
            found.confusion,
            (answer_words(people.key), DEGREES),
            (f"people: {people.title}", held.title),
            marks,
            st.context.theme.type == "dark",
        )
        hit = clicked(figure, "calibration_matrix", _alt(found))
    with numbers:
        show_table([_row(one, people) for one in (found.spearman, *found.rates)], "Agreement with people")
        _case_buttons(people, held, cuts, found)
    if hit is not None:
        open_cases(cohort=str(hit[0]))


def _methods(rows: Sequence[Agreement]) -> str:
    known = dict.fromkeys(METHODS[one.method] for one in rows if one.method in METHODS)
    return f"95 %: {', '.join(known)}" if known else ""


def _cut_text(people: HumanRatings, cuts: Thresholds) -> str:
    if people.binary:
        return f"metric high from {cuts[1]:.2f}"
    return f"people high from {cuts[0]:.2f}, metric high from {cuts[1]:.2f} of the scale"


def _alt(found: Calibration) -> str:
    counts = found.confusion
    return "" if counts is None else f"{counts.tp + counts.tn} of {counts.n} cases with the same verdict"


def _row(one: Agreement, people: HumanRatings) -> dict[str, str]:
    yes, no = answer_words(people.key)
    return {
        "Agreement": _TITLES[one.name],
        "Value": number(one.value),
        "95 %": interval_text(one.low, one.high),
        "n": f"{one.n:,}",
        "What it says": _MEANINGS[one.name].format(yes=yes, no=no),
    }


def _case_buttons(people: HumanRatings, held: EvaluatedMetric, cuts: Thresholds, found: Calibration) -> None:
    apart = len(found.rows)
    with st.container(horizontal=True, vertical_alignment="center"):
        if apart and st.button(
            f"Open the {count(apart, 'case')} where they disagree", key="calibration_disagree", type="primary"
        ):
            open_cases(cohort=disagreement_cohort(people.key, held, cuts))
        if not apart:
            st.caption("They disagree on no case.")
        with st.popover("Open cases by cell"):
            for cell in CELLS:
                _cell_button(people, held, cuts, found, cell)


def _cell_button(
    people: HumanRatings, held: EvaluatedMetric, cuts: Thresholds, found: Calibration, cell: str
) -> None:
    known = next(one for one in CELLS if one == cell)
    said, other = cell.split("-")
    title = f"people: {answer_words(people.key)[said == 'no']}, metric: {DEGREES[other == 'no']}"
    cases = int(found.labels.cell(known).sum())
    if st.button(f"{title} ({cases:,})", key=f"cell_{cell}", disabled=not cases, width="stretch"):
        open_cases(cohort=confusion_cohort(known, people.key, held, cuts))


def _ranked(found: Sequence[tuple[EvaluatedMetric, Agreement]], held: EvaluatedMetric) -> None:
    if len([one for _, one in found if np.isfinite(one.value)]) < 2:
        return
    st.markdown("**Which metric follows people best?**")
    hit = clicked(ranking_dots(found, held), f"calibration_ranking_{held.key}", "Rank correlation by metric")
    facts([METHODS["bootstrap"], "click a point to hold that metric against people"])
    if hit is not None and hit[0] != held.key:
        keep(evaluated=str(hit[0]))
        st.rerun()


def _between(people: HumanRatings, alpha: Alpha) -> None:
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
            f"n = {count(alpha.n, 'case')} with two people or more, {alpha.annotators:,} people in all",
            f"{markdown_text(people.title)}, values compared {_COMPARED[alpha.level]}",
            METHODS["bootstrap"] if np.isfinite(alpha.low) else "",
            "" if people.n >= FEW_LABELS else f"fewer than {FEW_LABELS} labels",
        ]
    )


def _between_ends(alpha: Alpha) -> str:
    return interval_text(alpha.low, alpha.high) if np.isfinite(alpha.low) else "(too few for an interval)"
