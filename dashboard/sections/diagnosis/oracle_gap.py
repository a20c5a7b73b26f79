"""What is lost in retrieval and what in generation: a section of the Diagnosis page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard.charts.oracle_gap import PARTS, oracle_gap_bars
from dashboard.charts.plotly_figure import plotly_figure
from dashboard.shell.caching import HASH_FUNCS
from dashboard.shell.components import clicked, facts, metric_title, show_table
from dashboard.shell.session import View, keep, open_cases
from dashboard.shell.widgets import choose
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import METHODS, count, interval_text, number, signed
from data.cases.comparison_cohorts import oracle_gap_cohort_key
from data.comparison.oracle_gap import (
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
from data.diagnosis.diagnosis import Diagnosis
from data.scoring.scored_run import ScoredRun
from data.store.workspace import Run

__all__ = ["oracle_gap_section"]

TITLE = "Lost in retrieval, or in generation?"
GOLD_FIELDS = {"relevant", "relevant_spans"}


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=HASH_FUNCS)
def _paired_runs(scored: ScoredRun, others: list[ScoredRun]) -> PairedRuns:
    by_id = {side.run.run_id: side for side in (scored, *others)}
    return paired_runs_of(scored.run, [other.run for other in others], lambda run: by_id[run.run_id])


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=HASH_FUNCS)
def _oracle_gap(
    original: Diagnosis | None, oracle: Diagnosis, outcome: str, closed_book: Diagnosis | None
) -> OracleGap:
    return oracle_gap(original, oracle, outcome, closed_book)


def oracle_gap_section(view: View) -> None:
    """Part what a run loses between retrieval and generation, where runs with other contexts allow it."""
    others = [view.scored(run) for run in view.sampled if "context_mode" in run.fields and run != view.run]
    partners = _paired_runs(view.scored(view.run), others)
    if partners.mode == CLOSED_BOOK:
        _lead_back(view, "The answers of this run were given without documents")
    elif partners.mode == ORACLE:
        _oracle_run(view)
    elif partners.oracle:
        _pair(view, partners)
    elif GOLD_FIELDS & set(view.run.fields):
        st.subheader(TITLE)
        st.info(
            "Two bars would part what this run loses, retrieval from generation. They need answers to the "
            "same questions from the gold documents: "
            f"`ragtriage generate {view.run.run_id} --context oracle` asks Claude for them; or import such a "
            "run with `context_mode` oracle."
        )
    else:
        st.caption(
            "Losses of retrieval and of generation are not told apart: that needs a run of the same "
            "questions answered from the gold documents, and this run names no gold."
        )


def _lead_back(view: View, told: str) -> None:
    """Say that a run stands beside another one, and lead there."""
    original = original_of(view.run, view.sampled)
    if original is None:
        st.caption(f"{told}; losses of retrieval are told on a run that retrieved.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{told}; what its stages lose is told on the run whose questions it answers.")
        st.button(
            f"Open {markdown_text(view.labels[original.run_id])}",
            key="open_original",
            on_click=lambda: keep(run=original.run_id, case=""),
        )


def _oracle_run(view: View) -> None:
    """Show what a run that was given the gold documents loses, which is generation alone."""
    st.subheader(TITLE)
    _lead_back(view, "The answers of this run were given their documents, none was retrieved")
    quality = _quality_picker([view.diagnosis(view.run)])
    if quality is not None:
        _show(view, None, view.run, None, quality)


def _pair(view: View, partners: PairedRuns) -> None:
    st.subheader(TITLE)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        oracle = _oracle_picker(view, partners.oracle)
        quality = _quality_picker([view.diagnosis(view.run), view.diagnosis(oracle)])
    if quality is None:
        st.info(
            f"{markdown_text(view.labels[oracle.run_id])} has answers from the gold documents, and no "
            f"quality of the answers is measured in both runs. `ragtriage judge {view.run.run_id}` and "
            f"`ragtriage judge {oracle.run_id}` measure them alike."
        )
        return
    _show(view, view.run, oracle, _closed_book(view, partners.closed_book, quality), quality)


def _closed_book(view: View, runs: Sequence[Run], quality: str) -> Run | None:
    """Pick the nearest run without documents that has the quality as well."""
    mine = view.diagnosis(view.run)
    return next((run for run in runs if quality in outcome_metrics_of([mine, view.diagnosis(run)])), None)


def _oracle_picker(view: View, runs: Sequence[Run]) -> Run:
    """Let a person choose among several runs with the gold documents."""
    by_id = {run.run_id: run for run in runs}
    if len(by_id) < 2:
        return runs[0]
    named = {run_id: view.labels[run_id] for run_id in by_id}
    return by_id[choose("Answers from the gold documents", "other", list(by_id), named, {}, width=380)]


def _quality_picker(sides: Sequence[Diagnosis]) -> str | None:
    names = outcome_metrics_of(sides)
    if len(names) < 2:
        return names[0] if names else None
    return choose("Quality", "outcome", names, metric_title, {}, width=260)


def _show(view: View, original: Run | None, oracle: Run, closed: Run | None, quality: str) -> None:
    found = _oracle_gap(
        None if original is None else view.diagnosis(original),
        view.diagnosis(oracle),
        quality,
        None if closed is None else view.diagnosis(closed),
    )
    if not found.gaps[0].n:
        st.info(f"{metric_title(quality)} is measured in both runs, and on no question in both.")
        return
    st.markdown(_sentence(found))
    marks: dict[GapKind, str] = {
        "retrieval": oracle_gap_cohort_key("retrieval", oracle.run_id, quality),
        "generation": oracle_gap_cohort_key("generation", oracle.run_id, quality),
    }
    alt = "What is lost in retrieval and in generation, with 95 % intervals"
    hit = clicked(plotly_figure(oracle_gap_bars(found, marks, metric_title(quality))), "stage_losses", alt)
    facts(_facts(view, found, oracle, closed))
    _cautions(view, original, oracle, quality)
    _buttons(found, marks)
    with st.expander("The numbers"):
        show_table(_rows(found), "Losses by stage with intervals")
    if hit is not None and hit[0]:
        open_cases(cohort=str(hit[0]))


def _sentence(found: OracleGap) -> str:
    name = f"**{metric_title(found.outcome_metric)}**"
    generation, retrieval = found.gap("generation"), found.gap("retrieval")
    lost = "" if generation is None else f"{number(generation.value)} {_ends(generation)}"
    if retrieval is None:
        return f"{name} is {number(found.oracle)} with the documents given: **{lost}** is lost in generation."
    return (
        f"{name} is {number(found.retrieved)} as retrieved and {number(found.oracle)} with the gold "
        f"documents, of 1 at best: **{_minus(retrieval.value)} {_ends(retrieval)}** is lost in retrieval, "
        f"**{lost}** in generation.{_certain(retrieval)}"
    )


def _certain(retrieval: GapEstimate) -> str:
    if retrieval.high < 0:
        return " The gold documents did worse than the retrieved ones: see whether the gold is all there is."
    return " The first interval includes 0, so it is not certain." if retrieval.low <= 0 else ""


def _minus(value: float) -> str:
    return number(value).replace("-", "−")


def _ends(one: GapEstimate) -> str:
    return interval_text(one.low, one.high).replace("-", "−")


def _facts(view: View, found: OracleGap, oracle: Run, closed: Run | None) -> list[str]:
    names = ("this run", "gold documents", "no documents")
    told = {name: ", ".join(of) for name, of in zip(names, found.sources, strict=True) if of}
    alike = len(set(told.values())) == 1
    by = next(iter(told.values())) if alike else "; ".join(f"{name} {of}" for name, of in told.items())
    beside = None if found.gap("context") is None or closed is None else closed
    return [
        f"n = {count(found.gaps[0].n, 'question')}"
        + (" with both, repeats averaged" if found.gap("retrieval") else ", repeats averaged"),
        f"{count(found.unpaired, 'question')} measured here without a value from the gold documents, so in "
        "neither bar"
        if found.unpaired
        else "",
        f"gold documents: {markdown_text(view.labels[oracle.run_id])}" if found.gap("retrieval") else "",
        f"no documents: {markdown_text(view.labels[beside.run_id])}, {number(found.closed_book)}"
        if beside
        else "",
        f"{metric_title(found.outcome_metric)}: {by}",
        _methods(found),
        "few questions: take it as a hint" if any(one.too_few for one in found.gaps) else "",
        "click a bar for its cases",
    ]


def _methods(found: OracleGap) -> str:
    return "95 %: " + ", ".join(dict.fromkeys(METHODS.get(one.method, one.method) for one in found.gaps))


def _cautions(view: View, original: Run | None, oracle: Run, quality: str) -> None:
    """Say what keeps the bars from meaning what they say."""
    if original is None:
        if given_one(view.scored(oracle)):
            st.caption(f"Read with care: {ONE_PASSAGE}.")
        return
    told = cautions(original, oracle, view.scored(oracle))
    told += [OWN_CONTEXT[quality]] if quality in OWN_CONTEXT else []
    if not told:
        return
    lines = "\n".join(f"- {markdown_text(one)}" for one in told)
    remedy = ""
    if "generated_from" in oracle.config and "generated_from" not in original.config:
        remedy = (
            f"\n\n`ragtriage generate {original.run_id} --context retrieved` puts this run's questions and "
            "documents to the same generator and prompt; the bars of that run are those of the context alone."
        )
    st.warning(f"The bars speak of the context alone only where nothing else differs.\n{lines}{remedy}")


def _buttons(found: OracleGap, marks: dict[GapKind, str]) -> None:
    lost, wrong = found.counts[(False, True)], found.counts[(False, False)]
    worse = found.counts[(True, False)]
    with st.container(horizontal=True, vertical_alignment="center"):
        if found.gap("retrieval") and st.button(
            f"Cases lost in retrieval ({count(lost, 'question')})", key="cases_retrieval", disabled=not lost
        ):
            open_cases(cohort=marks["retrieval"])
        if st.button(
            f"Cases wrong with gold too ({count(wrong, 'question')})",
            key="cases_generation",
            disabled=not wrong,
        ):
            open_cases(cohort=marks["generation"])
        more = f"; right as retrieved and wrong with gold: {count(worse, 'question')}" if worse else ""
        st.caption(f"right from {number(found.right)}{more}")


def _rows(found: OracleGap) -> list[dict[str, str]]:
    return [
        {
            "Part": PARTS[one.key],
            f"{metric_title(found.outcome_metric)}": signed(one.value)
            if one.key == "context"
            else number(one.value),
            "95 % interval": interval_text(one.low, one.high),
            "Interval by": f"{one.method}, few questions" if one.too_few else one.method,
            "n": f"{one.n:,}",
        }
        for one in found.gaps
    ]
