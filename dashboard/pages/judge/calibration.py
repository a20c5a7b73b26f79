"""How far the judge, and every other metric, agrees with human labels, and the mean that they correct."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from ragtriage.dashboard.charts.agreement import (
    Mean,
    confusion_matrix,
    mean_rows,
    ranking_dots,
    trust_height,
    trust_strips,
)
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.shell.components import WITHOUT_BAR, clicked, current_theme, draw, facts, show_table
from ragtriage.dashboard.shell.kept_results import kept, kept_with_spinner
from ragtriage.dashboard.shell.session import View, current_selection, keep, open_cases
from ragtriage.dashboard.shell.user import may_write
from ragtriage.dashboard.shell.widgets import choose, draw_folded, slide
from ragtriage.dashboard.tables.judged import agreement_table
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.cases.judge_cohorts import confusion_cohort, disagreement_cohort
from ragtriage.data.errors import DataError
from ragtriage.data.labels.agreement import (
    CELLS,
    Alpha,
    Calibration,
    EvaluatedMetric,
    Thresholds,
    alpha_of,
    calibrate,
    evaluated_metrics,
    ranking,
)
from ragtriage.data.labels.agreement_report import MetricAgreement, agreement_rows
from ragtriage.data.labels.corrected_means import (
    ADVISED_LABELS,
    FEW_LABELS,
    PpiEstimate,
    advised_labels,
    ppi_estimate,
)
from ragtriage.data.labels.human_ratings import (
    DEGREES,
    IMPORTED,
    OF_USERS,
    UNANSWERABLE,
    HumanRatings,
    answer_words,
    dimension_title,
    human_ratings,
    rated_dimensions,
)
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.metrics.number_text import count, interval_text, number, signed
from ragtriage.metrics.schema.scores import Source
from ragtriage.metrics.statistics.agreement import Agreement
from ragtriage.metrics.statistics.intervals import METHODS

_COMPARED = {"nominal": "same or not", "ordinal": "by their order", "interval": "by their distance"}
_dimensions = kept(rated_dimensions)
_ratings = kept(human_ratings)


@kept
def _metrics(scored: ScoredRun, ledger: Ledger, dimension: str) -> list[EvaluatedMetric]:
    return evaluated_metrics(scored, _ratings(scored, ledger, dimension))


@kept_with_spinner("Comparing with human labels")
def _calibration(
    scored: ScoredRun, ledger: Ledger, dimension: str, metric: EvaluatedMetric, thresholds: Thresholds
) -> Calibration:
    return calibrate(scored, _ratings(scored, ledger, dimension), metric, thresholds)


@kept_with_spinner("Comparing every metric with human labels")
def _ranking(scored: ScoredRun, ledger: Ledger, dimension: str) -> list[tuple[EvaluatedMetric, Agreement]]:
    return ranking(scored, _ratings(scored, ledger, dimension))


_alpha = kept_with_spinner("Comparing annotators with each other")(alpha_of)


@kept_with_spinner("Correcting the mean")
def _estimate(
    scored: ScoredRun, ledger: Ledger, dimension: str, metric: EvaluatedMetric, thresholds: Thresholds
) -> PpiEstimate:
    return ppi_estimate(scored, _ratings(scored, ledger, dimension), metric, thresholds)


def calibration_section(view: View) -> None:
    """Draw how far the metrics of the run agree with human labels, and the mean that the labels correct."""
    st.subheader("Do the metrics agree with human labels?")
    scored, ledger = view.scored(view.run), view.store.ledger
    dimensions = _dimensions(scored, ledger)
    if not dimensions:
        st.info(
            "No case of this run has a human label, and no human score came with its file. Label "
            f"{advised_labels(scored.n)} on the Cases page: this page then shows how far each metric can be "
            "trusted."
        )
        if may_write() and st.button("Label cases at random", key="calibration_label"):
            open_cases()
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        dimension = choose("Human labels", "dimension", dimensions, _offered, {"evaluated": ""}, width=280)
        ratings = _ratings(scored, ledger, dimension)
        metric = _metric_picker(_metrics(scored, ledger, dimension))
        with st.popover("Thresholds"):
            st.caption("Where good begins, as a share of each scale.")
            if not ratings.binary:
                slide("Human threshold", "human_threshold", "At or above it, a human rating counts as good.")
            slide("Metric threshold", "metric_threshold", "At or above it, the metric counts as good.")
        thresholds = current_selection().human_threshold, current_selection().metric_threshold
    if metric is None:
        st.info("No metric of this run has a value for the labelled cases. Judge the run first.")
    else:
        calibration = _calibration(scored, ledger, dimension, metric, thresholds)
        _agreement(ratings, metric, thresholds, calibration)
        draw_folded(
            "Which metric agrees best with human labels?",
            "judge_ranking",
            lambda: _draw_ranking(_ranking(scored, ledger, dimension), metric),
        )
    _annotator_agreement(ratings, _alpha(scored, ledger, dimension))
    st.markdown("**The mean if everything were labelled**")
    estimate = None if metric is None else _estimate(scored, ledger, dimension, metric, thresholds)
    if scored.question_weights is not None:
        st.caption("Not corrected: labels are drawn without regard to weights, and these calls are weighted.")
    elif metric is None or estimate is None or estimate.ppi is None:
        _no_random_labels(ratings, estimate, scored.n)
    else:
        _draw_estimate(estimate, metric, ratings, thresholds)


def _offered(key: str) -> str:
    if key == UNANSWERABLE:
        return f"{dimension_title(key)} (declared by the test set)"
    if key.removeprefix(IMPORTED) in OF_USERS:
        return f"{dimension_title(key)} (their own feedback)"
    return f"{dimension_title(key)} ({'from the file' if key.startswith(IMPORTED) else 'labelled here'})"


def _metric_picker(metrics: Sequence[EvaluatedMetric]) -> EvaluatedMetric | None:
    if not metrics:
        return None
    by_key = {metric.key: metric for metric in metrics}
    titles = {key: metric.title for key, metric in by_key.items()}
    return by_key[choose("Metric compared with them", "evaluated", [*by_key], titles, {}, width=300)]


def _agreement(
    ratings: HumanRatings, metric: EvaluatedMetric, thresholds: Thresholds, calibration: Calibration
) -> None:
    missing = [f"{n:,} {status}" for status, n in calibration.labels.missing.items()]
    without = f" ({', '.join(missing)} by the metric)" if missing else ""
    rows = (calibration.spearman, *calibration.rates)
    methods = dict.fromkeys(METHODS[row.method] for row in rows if row.method in METHODS)
    metric_good = f"metric good from {thresholds[1]:.2f}"
    rated = "user-rated case" if ratings.by == "users" else "labelled case"
    facts(
        f"n = {int(calibration.labels.paired.sum()):,} of {count(ratings.n, rated)}{without}",
        ratings.how,
        "users answered as they chose" if metric.metric in OF_USERS else "",
        metric_good if ratings.binary else f"human good from {thresholds[0]:.2f}, {metric_good} of the scale",
        f"95 %: {', '.join(methods)}" if methods else "",
    )
    if calibration.confusion is None:
        show_table(agreement_table([calibration.spearman], ratings))
        st.caption("This metric declares no scale, so there is no threshold and no confusion matrix.")
        return
    matrix, numbers = st.columns([2, 3], gap="medium", vertical_alignment="center")
    counts = calibration.confusion
    with matrix:
        figure = confusion_matrix(
            counts,
            (answer_words(ratings.key), DEGREES),
            (f"{ratings.by}: {ratings.title}", metric.title),
            [confusion_cohort(cell, ratings.key, metric, thresholds) for cell in CELLS],
            st.context.theme.type == "dark",
        )
        same = f"{counts.tp + counts.tn} of {counts.n} cases with the same label"
        hit = clicked(figure, "calibration_matrix", same)
    with numbers:
        show_table(agreement_table(rows, ratings))
        _case_buttons(ratings, metric, thresholds, calibration)
    if hit is not None:
        open_cases(cohort=str(hit[0]))


def _case_buttons(
    ratings: HumanRatings, metric: EvaluatedMetric, thresholds: Thresholds, calibration: Calibration
) -> None:
    differing = len(calibration.rows)
    with st.container(horizontal=True, vertical_alignment="center"):
        title = f"Open the {count(differing, 'case')} where they disagree"
        if differing and st.button(title, key="calibration_disagree"):
            open_cases(cohort=disagreement_cohort(ratings.key, metric, thresholds))
        if not differing:
            st.caption("They disagree on no case.")
        with st.popover("Open cases by cell"):
            for cell in CELLS:
                by_human, by_metric = cell.split("-")
                label, degree = answer_words(ratings.key)[by_human == "no"], DEGREES[by_metric == "no"]
                cases = int(calibration.labels.cell(cell).sum())
                title = f"{ratings.by}: {label}, metric: {degree} ({cases:,})"
                if st.button(title, key=f"cell_{cell}", disabled=not cases, width="stretch"):
                    open_cases(cohort=confusion_cohort(cell, ratings.key, metric, thresholds))


def _draw_ranking(correlations: Sequence[tuple[EvaluatedMetric, Agreement]], metric: EvaluatedMetric) -> None:
    if sum(bool(np.isfinite(agreement.value)) for _, agreement in correlations) < 2:
        st.caption("Fewer than two metrics have a rank correlation with these labels.")
        return
    figure = ranking_dots(correlations, metric)
    hit = clicked(figure, f"calibration_ranking_{metric.key}", "Rank correlation by metric")
    facts(METHODS["bootstrap"], "click a point to compare that metric with human labels")
    if hit is not None and hit[0] != metric.key:
        keep(evaluated=str(hit[0]))
        st.rerun()


def _annotator_agreement(ratings: HumanRatings, alpha: Alpha) -> None:
    st.markdown("**Do annotators agree with each other?**")
    if np.isnan(alpha.value):
        why = "no case was labelled by two annotators" if not alpha.n else "their values do not vary"
        st.caption(f"Krippendorff's alpha: not measured; {why}.")
        return
    has_interval = np.isfinite(alpha.low)
    bounds = interval_text(alpha.low, alpha.high) if has_interval else "(too few for an interval)"
    st.markdown(
        f"Krippendorff's alpha **{number(alpha.value)}** {bounds}: 1 where "
        "they always agree, 0 where they agree as by chance; conclusions are usually drawn from 0.67 on."
    )
    facts(
        f"n = {count(alpha.n, 'case')} with two annotators or more, "
        f"{count(alpha.annotators, 'annotator')} in all",
        f"{markdown_text(ratings.title)}, values compared {_COMPARED[alpha.level]}",
        METHODS["bootstrap"] if has_interval else "",
        "" if ratings.n >= FEW_LABELS else f"fewer than {FEW_LABELS} labels",
    )


def _no_random_labels(ratings: HumanRatings, estimate: PpiEstimate | None, n: int) -> None:
    """Write why there is no corrected mean, and offer to label at random."""
    browsed = ratings.n if estimate is None else estimate.browsed
    why = "there is none"
    if ratings.imported:
        why = "scores that came with the file are not known to be a random sample"
    if estimate is not None and ratings.n_drawn and estimate.unjudged:
        why = f"of the {ratings.n_drawn:,} there, none has a value of the metric on a scale"
    left_out = ""
    if browsed and not ratings.imported:
        left_out = f" Left out: {count(browsed, 'labelled case')} found by browsing."
    if estimate is not None and estimate.unrated:
        left_out = f" {_unrated(estimate)}.{left_out}"
    st.caption(
        f"Not measured: it needs labels drawn at random on the Cases page, and {why}.{left_out} "
        f"Label {advised_labels(n)}."
    )
    if may_write() and st.button("Label cases at random", key="calibration_draw"):
        open_cases()


def _draw_estimate(
    estimate: PpiEstimate, metric: EvaluatedMetric, ratings: HumanRatings, thresholds: Thresholds
) -> None:
    """Draw the corrected mean beside the metric's own and that of the labels."""
    ppi, raw = estimate.ppi, estimate.raw
    if ppi is None or raw is None:
        return
    if ppi.n_labelled < FEW_LABELS:
        st.warning(
            f"{count(ppi.n_labelled, 'label')} drawn at random: fewer than {FEW_LABELS}, so the corrected "
            f"mean is uncertain; label {advised_labels(ppi.n_labelled + ppi.n_unlabelled)}."
        )
    samples, labels = ppi.n_labelled + ppi.n_unlabelled, ppi.classical
    own = "the metric alone" if estimate.same_dimension else "the metric alone, another dimension"
    corrected_n = f"{ppi.n_labelled:,} labels of {ratings.title} and {ppi.n_unlabelled:,} other questions"
    means = [
        Mean(own, raw.mean, raw.low, raw.high, f"n = {samples:,}, {metric.title}"),
        Mean("labels alone", labels.mean, labels.low, labels.high, f"n = {ppi.n_labelled:,}"),
        Mean("corrected", ppi.estimate, ppi.low, ppi.high, corrected_n, True),
    ]
    draw(mean_rows(means), "calibration_mean", "Means with their 95 % intervals")
    browsed, unjudged = estimate.browsed, estimate.unjudged
    facts(
        f"corrected **{number(ppi.estimate)}** {interval_text(ppi.low, ppi.high)}",
        f"{count(ppi.n_labelled, 'question')} labelled at random, {ppi.n_unlabelled:,} others by metric",
        f"worth {number(ppi.effective_n, 0)} labels without it",
        f"the metric is off by {signed(ppi.bias)} on labelled cases, its weight is {number(ppi.tuning)}",
        f"{count(browsed, 'case')} labelled while browsing left out" if browsed else "",
        f"{count(unjudged, 'labelled case')} without a value of the metric left out" if unjudged else "",
        _unrated(estimate),
        "prediction-powered inference, normal interval over questions or conversations, not clipped",
        f"label {advised_labels(samples)}"
        if ppi.n_unlabelled and FEW_LABELS <= ppi.n_labelled < ADVISED_LABELS[0]
        else "",
    )
    title, dimension = markdown_text(metric.title), markdown_text(ratings.title)
    if ratings.binary:
        note = f"A mean of yes or no: {title} counts as yes from {thresholds[1]:.2f} of its scale on."
    elif not estimate.same_dimension:
        note = f"{title} measures another dimension: it only helps to narrow the mean of {dimension}."
    else:
        note = f"Both are on the scale of {dimension}, 0 to 1."
    rated = " The mean is over what annotators can rate." if estimate.unrated else ""
    st.caption(f"{note}{rated}")


def _unrated(estimate: PpiEstimate) -> str:
    return f"{count(estimate.unrated, 'drawn case')} could not be rated, left out" if estimate.unrated else ""


def judged_agreements(view: View) -> list[MetricAgreement]:
    """Return how far each judged metric agrees with the human labels of its quantity; one row a quantity."""
    return _agreements(view.store, view.scored(view.run), view.store.ledger)


@kept_with_spinner("Comparing the judge with people")
def _agreements(store: RunStore, scored: ScoredRun, ledger: Ledger) -> list[MetricAgreement]:
    rated = _by_people(scored, ledger)
    if not rated or not _judged(scored):
        return []
    try:
        rows = agreement_rows(store, scored.run, rated)
    except DataError:  # nothing judged of what was rated
        return []
    first = {row.dimension: row for row in reversed(rows) if row.metric.source == Source.JUDGED}
    return [row for row in rows if first.get(row.dimension) is row]


def _by_people(scored: ScoredRun, ledger: Ledger) -> list[str]:
    """List what people rated; neither what the test set declares, nor what users say of their own calls."""
    no_label = {UNANSWERABLE, *(f"{IMPORTED}{name}" for name in OF_USERS)}
    return [dimension for dimension in rated_dimensions(scored, ledger) if dimension not in no_label]


def judged_cases(view: View) -> int:
    """Count the cases with a judged score."""
    scored = view.scored(view.run)
    judged = _judged(scored)
    values = np.array([scored.values(name) for name in judged])
    return int(np.isfinite(values).any(axis=0).sum()) if judged else 0


def _judged(scored: ScoredRun) -> list[str]:
    return [name for name, sources in scored.sources.items() if Source.JUDGED in sources]


def rated_cases(view: View) -> int:
    """Count the cases with a human rating, labelled here or from the file."""
    return _rated(view.scored(view.run), view.store.ledger)


@kept
def _rated(scored: ScoredRun, ledger: Ledger) -> int:
    return max((human_ratings(scored, ledger, metric).n for metric in _by_people(scored, ledger)), default=0)


def trust_section(agreements: list[MetricAgreement]) -> None:
    """Draw the judge and one person on the same ruler, a row a quantity."""
    if not agreements:
        return
    st.markdown("### How far to trust the judge")
    draw(
        trust_strips(agreements, THEMES[current_theme()]),
        "judge_trust",
        f"Rank correlation of the judge with people on {len(agreements)} rated quantities",
        theme=None,
        height=trust_height(len(agreements)),
        config=WITHOUT_BAR,
    )
    st.caption(
        "Spearman's rank correlation with the mean of the annotators, 95 % bootstrap over questions or "
        "conversations. ◇ one annotator against the mean of the others. Filled: above 0 beyond chance."
    )
