"""Retrieval error and generation error, from an oracle-context run: a section of the Diagnosis page."""

from collections.abc import Sequence

import streamlit as st

from ragtriage.dashboard.charts.causes import oracle_gap_bars
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.shell.components import clicked, facts, metric_title, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, keep, open_cases
from ragtriage.dashboard.shell.widgets import choose, draw_folded
from ragtriage.dashboard.tables.run import gap_table
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.cases.comparison_cohorts import oracle_gap_cohort_key
from ragtriage.data.comparison.oracle_gap import (
    CLOSED_BOOK,
    ONE_PASSAGE,
    ORACLE,
    OWN_CONTEXT,
    GapEstimate,
    GapKind,
    OracleGap,
    PairedRuns,
    cautions,
    given_one,
    oracle_gap,
    original_of,
    outcome_metrics_of,
    paired_runs_of,
)
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.number_text import count, interval_text, number
from ragtriage.metrics.statistics.intervals import METHODS

TITLE = "Oracle gap: retrieval error and generation error"
GOLD_FIELDS = {"relevant", "relevant_spans"}


@kept
def _paired_runs(scored: ScoredRun, others: list[ScoredRun]) -> PairedRuns:
    by_id = {side.run.run_id: side for side in (scored, *others)}
    return paired_runs_of(scored.run, [other.run for other in others], lambda run: by_id[run.run_id])


_oracle_gap = kept(oracle_gap)


def oracle_gap_section(view: View) -> None:
    """Split the errors of a run into retrieval and generation error, given an oracle-context run."""
    others = [view.scored(run) for run in view.sampled if "context_mode" in run.fields and run != view.run]
    partners = _paired_runs(view.scored(view.run), others)
    if partners.mode == CLOSED_BOOK:
        _link_to_original(view, "The answers of this run were generated without documents")
    elif partners.mode == ORACLE:
        st.subheader(TITLE)
        _link_to_original(view, "The answers of this run come from given documents; nothing was retrieved")
        outcome_metric = _outcome_picker([view.diagnosis(view.run)])
        if outcome_metric is not None:
            _show_gap(view, None, view.run, None, outcome_metric)
    elif partners.oracle:
        _paired_section(view, partners)
    elif GOLD_FIELDS & set(view.run.fields):
        st.subheader(TITLE)
        st.info(
            "Separating retrieval errors from generation errors needs answers to the same questions from the "
            f"gold documents: `ragtriage generate {view.run.run_id} --context oracle` asks Claude for them; "
            "or import such a run with `context_mode` oracle."
        )
    else:
        st.caption(
            "Retrieval errors and generation errors cannot be separated: that needs a run of the same "
            "questions answered from the gold documents, and this run records no gold."
        )


def _link_to_original(view: View, reason: str) -> None:
    """Explain why a run has no oracle gap of its own, with a button that opens its original run."""
    original = original_of(view.run, view.sampled)
    if original is None:
        st.caption(f"{reason}; the oracle gap is shown for runs with retrieved documents.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{reason}; the oracle gap is shown for the run whose questions it answers.")
        st.button(
            f"Open {markdown_text(view.labels[original.run_id])}",
            key="open_original",
            on_click=lambda: keep(run=original.run_id, case=""),
        )


def _paired_section(view: View, partners: PairedRuns) -> None:
    """Show the oracle gap of a run that has one or more oracle-context runs."""
    st.subheader(TITLE)
    own = view.diagnosis(view.run)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by_id = {run.run_id: run for run in partners.oracle}
        oracle = partners.oracle[0]
        if len(by_id) > 1:
            labels = {run_id: view.labels[run_id] for run_id in by_id}
            oracle = by_id[choose("Oracle-context run", "other", list(by_id), labels, {}, width=380)]
        outcome_metric = _outcome_picker([own, view.diagnosis(oracle)])
    if outcome_metric is None:
        st.info(
            f"{markdown_text(view.labels[oracle.run_id])} has answers from the gold documents, but no "
            f"outcome metric is measured in both runs. `ragtriage judge {view.run.run_id}` and "
            f"`ragtriage judge {oracle.run_id}` measure both in the same way."
        )
        return
    closed_book = (
        run
        for run in partners.closed_book
        if outcome_metric in outcome_metrics_of([own, view.diagnosis(run)])
    )
    _show_gap(view, view.run, oracle, next(closed_book, None), outcome_metric)


def _outcome_picker(diagnoses: Sequence[Diagnosis]) -> str | None:
    names = outcome_metrics_of(diagnoses)
    if len(names) < 2:
        return names[0] if names else None
    return choose("Outcome metric", "outcome", names, metric_title, {}, width=260)


def _show_gap(
    view: View, original: Run | None, oracle: Run, closed_book: Run | None, outcome_metric: str
) -> None:
    gap = _oracle_gap(
        None if original is None else view.diagnosis(original),
        view.diagnosis(oracle),
        outcome_metric,
        None if closed_book is None else view.diagnosis(closed_book),
    )
    if not gap.gaps[0].n:
        st.info(f"{metric_title(outcome_metric)} is measured in both runs, but on no question in both.")
        return
    st.markdown(_summary(gap))
    cohorts: dict[GapKind, str] = {
        "retrieval": oracle_gap_cohort_key("retrieval", oracle.run_id, outcome_metric),
        "generation": oracle_gap_cohort_key("generation", oracle.run_id, outcome_metric),
    }
    figure = plotly_figure(oracle_gap_bars(gap, cohorts, metric_title(outcome_metric)))
    point = clicked(figure, "stage_losses", "Retrieval error and generation error with 95 % intervals")
    facts(*_gap_facts(view, gap, oracle, closed_book))
    _show_cautions(view, original, oracle, outcome_metric)
    _cohort_buttons(gap, cohorts)
    draw_folded("The numbers", "gap_numbers", lambda: show_table(gap_table(gap)))
    if point is not None and point[0]:
        open_cases(cohort=str(point[0]))


def _summary(gap: OracleGap) -> str:
    """Return the means and both errors with their intervals, as a sentence."""
    name = f"**{metric_title(gap.outcome_metric)}**"
    generation, retrieval = gap.gap("generation"), gap.gap("retrieval")
    generation_error = "" if generation is None else _estimate_text(generation)
    if retrieval is None:
        return (
            f"{name} is {number(gap.oracle)} of 1 with the documents given: the generation error is "
            f"**{generation_error}**."
        )
    caveat = ""
    if retrieval.high < 0:
        caveat = " The gold documents did worse than the retrieved ones: check whether the gold is complete."
    elif retrieval.low <= 0:
        caveat = " The interval of the retrieval error includes 0, so that error is not certain."
    return (
        f"{name} is {number(gap.retrieved)} as retrieved and {number(gap.oracle)} with the gold documents, "
        f"of 1 at best: the retrieval error is **{_estimate_text(retrieval)}**, the generation error "
        f"**{generation_error}**.{caveat}"
    )


def _estimate_text(estimate: GapEstimate) -> str:
    return f"{number(estimate.value)} {interval_text(estimate.low, estimate.high)}"


def _gap_facts(view: View, gap: OracleGap, oracle: Run, closed_book: Run | None) -> list[str]:
    names = ("this run", "gold documents", "no documents")
    sources = {name: ", ".join(of_run) for name, of_run in zip(names, gap.sources, strict=True) if of_run}
    same_source = len(set(sources.values())) == 1
    of_each = "; ".join(f"{name} {source}" for name, source in sources.items())
    sources_text = next(iter(sources.values())) if same_source else of_each
    interval_methods = dict.fromkeys(METHODS.get(estimate.method, estimate.method) for estimate in gap.gaps)
    return [
        f"n = {count(gap.gaps[0].n, 'question')}"
        + (" with both, repeats averaged" if gap.gap("retrieval") else ", repeats averaged"),
        f"left out, without a value from the gold documents: {count(gap.unpaired, 'question')}"
        if gap.unpaired
        else "",
        f"gold documents: {markdown_text(view.labels[oracle.run_id])}" if gap.gap("retrieval") else "",
        f"no documents: {markdown_text(view.labels[closed_book.run_id])}, {number(gap.closed_book)}"
        if closed_book is not None and gap.gap("context") is not None
        else "",
        f"{metric_title(gap.outcome_metric)}: {sources_text}",
        f"95 %: {', '.join(interval_methods)}",
        "few questions: only a hint" if any(estimate.too_few for estimate in gap.gaps) else "",
        "click a bar for its cases",
    ]


def _show_cautions(view: View, original: Run | None, oracle: Run, outcome_metric: str) -> None:
    """List what else could explain the gap besides the context."""
    if original is None:
        if given_one(view.scored(oracle)):
            st.caption(f"Interpret with care: {ONE_PASSAGE}.")
        return
    caveats = cautions(original, oracle, view.scored(oracle))
    if outcome_metric in OWN_CONTEXT:
        caveats.append(OWN_CONTEXT[outcome_metric])
    if not caveats:
        return
    remedy = ""
    if "generated_from" in oracle.config and "generated_from" not in original.config:
        remedy = (
            f"\n\n`ragtriage generate {original.run_id} --context retrieved` answers this run's questions "
            "from its own documents with the same generator and prompt; between that run and the oracle "
            "run, only the context differs."
        )
    lines = "\n".join(f"- {markdown_text(caveat)}" for caveat in caveats)
    st.warning(
        f"The errors can be read as the effect of the context only if nothing else differs.\n{lines}{remedy}"
    )


def _cohort_buttons(gap: OracleGap, cohorts: dict[GapKind, str]) -> None:
    retrieval_errors, generation_errors = gap.counts[(False, True)], gap.counts[(False, False)]
    worse = gap.counts[(True, False)]
    with st.container(horizontal=True, vertical_alignment="center"):
        if gap.gap("retrieval") and st.button(
            f"Right only with gold ({count(retrieval_errors, 'question')})",
            key="cases_retrieval",
            disabled=not retrieval_errors,
        ):
            open_cases(cohort=cohorts["retrieval"])
        if st.button(
            f"Wrong with gold too ({count(generation_errors, 'question')})",
            key="cases_generation",
            disabled=not generation_errors,
        ):
            open_cases(cohort=cohorts["generation"])
        more = f"; right as retrieved and wrong with gold: {count(worse, 'question')}" if worse else ""
        st.caption(f"an answer is right from {number(gap.right)}{more}")
