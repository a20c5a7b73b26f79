"""Points of a story from the diagnostic views: retrieval, alignment, losses, chunking."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.charts.alignment import rank_bars
from dashboard.charts.chunking import heatmap
from dashboard.charts.oracle_gap import oracle_gap_bars
from dashboard.charts.retrieval import k_curves
from dashboard.stories.context import StoryView
from dashboard.stories.story import RenderedSection
from dashboard.wording.escaping import capital
from dashboard.wording.formatting import count, interval_text, number, percent
from data.analysis.alignment import by_rank, rate_of, sources_of_use
from data.analysis.retrieval_curves import curves
from data.chunking.grids import grids_of
from data.chunking.ranking import grid_metrics, rank_trials
from data.comparison.oracle_gap import oracle_gap, outcome_metrics_of, paired_runs_of
from data.diagnosis.diagnosis import diagnose
from data.scoring.context_use import context_use_of
from data.scoring.ranked_lists import ranked_lists
from metrics.metric_registry import title_of

__all__ = ["alignment_section", "grid_section", "oracle_gap_section", "retrieval_section"]

USUAL_K = 5


def retrieval_section(view: StoryView, chosen: Mapping[str, str]) -> RenderedSection:
    """Give the retrieval metrics over k; `k` of the choices is the one in use."""
    heading = "How good is retrieval?"
    lists = ranked_lists(view.scored)
    if lists is None:
        return RenderedSection(
            "retrieval", heading, "The run names no gold documents, so retrieval was not measured."
        )
    k = int(chosen["k"]) if chosen.get("k", "").isdecimal() else USUAL_K
    found = curves(view.scored, lists, k=k)
    said = ", ".join(
        f"{title_of(f'{one.metric}@{k}')} {number(one.at(k).mean)} "
        f"{interval_text(one.at(k).low, one.at(k).high)}"
        for one in found
        if k <= len(one.points)
    )
    n = found[0].points[0].n_scored if found else 0
    return RenderedSection(
        "retrieval",
        heading,
        f"At k = {k}: {said} ({count(n, 'question')})." if said else "",
        chart=k_curves(found, [], k, ""),
        rows=[
            {
                "Metric": capital(title_of(f"{one.metric}@{at}")),
                "Mean": number(one.at(at).mean, 3),
                "95 % interval": interval_text(one.at(at).low, one.at(at).high, 3),
            }
            for one in found
            for at in sorted({1, 3, k, 10})
            if at <= len(one.points)
        ],
        facts=[count(n, "question"), "computed", "95 % intervals"],
        alt="Retrieval metrics over the cut-off k",
    )


def alignment_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Say whether answers draw on what was ranked first."""
    heading = "Does the answer draw on what was ranked first?"
    use = context_use_of(view.scored)
    origins = [] if use is None else sources_of_use(use)
    if use is None or not origins:
        return RenderedSection("alignment", heading, "Which documents answers draw on was not measured.")
    origin = origins[0]
    rate = rate_of(view.scored, use, origin).value
    return RenderedSection(
        "alignment",
        heading,
        f"{percent(rate.mean)} of answers pass over the first document "
        f"(95 % interval {percent(rate.low)} to {percent(rate.high)}, {count(rate.n_scored, 'question')}).",
        chart=rank_bars(by_rank(view.scored, use, origin)),
        facts=[f"use of documents: {origin}", "the alert line is 30 %"],
        alt="How often each rank is drawn on",
    )


def oracle_gap_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Part what is lost in retrieval from what is lost in generation, where there is an oracle run."""
    heading = "Lost in retrieval or in generation?"
    partners = paired_runs_of(view.run, view.store.runs(view.run.project), view.store.scored)
    if not partners.oracle:
        return RenderedSection(
            "losses",
            heading,
            "No run answers these questions from the gold documents, so this was not measured.",
        )
    oracle = diagnose(view.store.scored(partners.oracle[0]), view.settings, [])
    qualities = outcome_metrics_of([view.diagnosis, oracle])
    if not qualities:
        return RenderedSection("losses", heading, "The two runs share no quality metric.")
    found = oracle_gap(view.diagnosis, oracle, qualities[0])
    return RenderedSection(
        "losses",
        heading,
        chart=oracle_gap_bars(found, {}, capital(title_of(qualities[0]))),
        rows=[
            {
                "Lost in": one.key,
                "Loss": number(one.value),
                "95 % interval": interval_text(one.low, one.high),
                "n": one.n,
            }
            for one in found.gaps
        ],
        facts=[f"quality: {title_of(qualities[0])}", f"oracle run: {view.names[partners.oracle[0].run_id]}"],
        alt="What is lost in retrieval and in generation, with 95 % intervals",
    )


def grid_section(view: StoryView, chosen: Mapping[str, str]) -> RenderedSection:
    """Give the heatmap of a chunking grid of the project; `metric` of the choices is what it shows."""
    heading = "Which chunking is best?"
    grids = grids_of(view.store.runs(view.run.project))
    if not grids:
        return RenderedSection("chunking", heading, "The project has no grid of chunkings.")
    scored_runs = [view.store.scored(cell.run) for cell in grids[0].trials]
    measured = grid_metrics(scored_runs)
    metric = chosen.get("metric") or next((one for one in measured if one.endswith("@5")), "")
    if metric not in measured:
        return RenderedSection("chunking", heading, "The cells of the grid share no such metric.")
    found = rank_trials(grids[0], scored_runs, metric)
    return RenderedSection(
        "chunking",
        heading,
        chart=heatmap(grids[0], found, capital(title_of(metric))),
        rows=[
            {
                "Chunking": one.trial.run.name,
                "Mean": number(one.value.mean if one.value else None, 3),
                "95 % interval": interval_text(one.value.low, one.value.high, 3) if one.value else "–",
                "Place": one.outcome,
            }
            for one in found.values
        ],
        facts=[
            count(found.n_questions, "question"),
            "best: paired test against the best cell, Holm-corrected",
        ],
        alt=f"{title_of(metric)} by chunk size and overlap",
    )
