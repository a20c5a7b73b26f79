"""Sections from the diagnostic pages: retrieval, F1, context use, losses, chunking, experiments, suites."""

from collections.abc import Mapping
from dataclasses import replace

from ragtriage.dashboard.charts.causes import f1_bars, oracle_gap_bars
from ragtriage.dashboard.charts.chart import Chart
from ragtriage.dashboard.charts.context_use import rank_bars
from ragtriage.dashboard.charts.cutoff_curves import k_curves
from ragtriage.dashboard.charts.grid_maps import heatmap
from ragtriage.dashboard.experiments.registry import experiment_headline, experiment_parts
from ragtriage.dashboard.experiments.view import arm_chart, arm_table
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.story import RenderedSection, unmeasured
from ragtriage.dashboard.suites.headline import checks_headline, suite_table
from ragtriage.dashboard.suites.registry import shown_suite
from ragtriage.dashboard.tables.comparison import trial_table
from ragtriage.dashboard.tables.run import citation_table, f1_table, gap_table
from ragtriage.dashboard.wording.citations import NOT_CITED, citation_facts, citations_sentence
from ragtriage.dashboard.wording.diagnosis import BOUND_NOTE, expected_text, f1_sentence, left_out_text
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.data.analysis.alignment import by_rank, rate_of, sources_of_use
from ragtriage.data.analysis.citations import citations_of_run
from ragtriage.data.analysis.retrieval_curves import curves
from ragtriage.data.chunking.grids import grid_metrics, grids_of, rank_trials
from ragtriage.data.comparison.oracle_gap import oracle_gap, outcome_metrics_of, paired_runs_of
from ragtriage.data.comparison.published_results import band_scale
from ragtriage.data.diagnosis.diagnosis import diagnose
from ragtriage.data.diagnosis.f1_tree import f1_diagnosis
from ragtriage.data.errors import WorkspaceError
from ragtriage.data.experiments.experiment import Experiment, find_experiment
from ragtriage.data.experiments.registry import KINDS, experiment_summary
from ragtriage.data.experiments.run_experiment import EXPERIMENT
from ragtriage.data.scoring.context_use import ORIGINS, context_use_of
from ragtriage.data.scoring.ranked_lists import ranked_lists
from ragtriage.data.strategy.expected_gains import outlook_of
from ragtriage.data.suites.check_table import suite_summaries
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, interval_text, number, percent
from ragtriage.metrics.result_table import Number, ResultTable, ends_of
from ragtriage.metrics.schema.metric import whole_number

USUAL_K = 5


def retrieval_section(view: StoryView, chosen: Mapping[str, str]) -> RenderedSection:
    """Return the retrieval metrics over k; `chosen` may name the k in use."""
    lists = ranked_lists(view.scored)
    if lists is None:
        return unmeasured("The run names no gold documents, so retrieval was not measured.")
    k = whole_number(chosen.get("k", "")) or USUAL_K
    metric_curves = curves(view.scored, lists, k=k)
    values = ", ".join(
        f"{title_of(f'{curve.metric}@{k}')} {number(curve.at(k).mean)} "
        f"{interval_text(curve.at(k).low, curve.at(k).high)}"
        for curve in metric_curves
        if k <= len(curve.points)
    )
    n = metric_curves[0].points[0].n_scored if metric_curves else 0
    return RenderedSection(
        sentence=f"At k = {k}: {values} ({count(n, 'question')})." if values else "",
        chart=k_curves(metric_curves, [], k, ""),
        table=ResultTable(
            "Retrieval metrics over k",
            tuple(
                {
                    "Metric": capital(title_of(f"{curve.metric}@{at}")),
                    "Mean": Number(curve.at(at).mean),
                    "95 % interval": ends_of(curve.at(at)),
                }
                for curve in metric_curves
                for at in sorted({1, 3, k, 10})
                if at <= len(curve.points)
            ),
        ),
        facts=[count(n, "question"), "computed", "95 % intervals"],
        alt="Retrieval metrics over k",
    )


def f1_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return why F1 is low, the most that each part could give, and what the team expects."""
    diagnosis = f1_diagnosis(view.scored)
    tree = diagnosis.tree
    if tree is None:
        return unmeasured(f1_sentence(diagnosis))
    outlook = outlook_of(view.store, view.run, tree)
    assumed = expected_text(outlook)
    table = f1_table(tree, band_scale(view.store.workspace, "ragchecker"))
    return RenderedSection(
        sentence=f1_sentence(diagnosis),
        chart=f1_bars(tree),
        table=table.only(*(name for name in table.rows[0] if name != "If perfect")),
        facts=[
            BOUND_NOTE,
            left_out_text(diagnosis),
            f"source: {diagnosis.sources}",
            f"assumed by the team, not computed: {assumed}" if assumed else "",
            *outlook.cautions,
        ],
        alt="F1 that each perfect part would add, at most",
    )


def alignment_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return whether answers use what was ranked first."""
    use = context_use_of(view.scored)
    sources = [] if use is None else sources_of_use(use)
    if use is None or not sources:
        return unmeasured("Which documents the answers use was not recorded.")
    source = sources[0]
    rate = rate_of(view.scored, use, source).value
    return RenderedSection(
        sentence=f"{percent(rate.mean)} of answers ignore the top document "
        f"(95 % interval {percent(rate.low)} to {percent(rate.high)}, {count(rate.n_scored, 'question')}).",
        chart=rank_bars(by_rank(view.scored, use, source)),
        facts=[f"use of documents: {ORIGINS[source]}", "target: at most 30 %"],
        alt="Share of answers that use each rank",
    )


def citations_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return how many citations support their sentence, and what the rest does wrong."""
    citations = citations_of_run(view.scored)
    if citations is None:
        return unmeasured(NOT_CITED.partition(":")[0] + ".")
    return RenderedSection(
        sentence=citations_sentence(citations),
        table=citation_table(citations),
        facts=citation_facts(citations),
        alt="Shares of citations and sentences",
    )


def oracle_gap_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return how much is lost in retrieval and in generation, where there is an oracle-context run."""
    partners = paired_runs_of(view.run, view.store.runs(view.run.project), view.store.scored)
    if not partners.oracle:
        how = "add a run answered from gold documents to separate retrieval from generation errors"
        return unmeasured(f"Not measured: {how}.")
    oracle_run = partners.oracle[0]
    oracle = diagnose(view.store.scored(oracle_run), view.settings, [])
    metrics = outcome_metrics_of([view.diagnosis, oracle])
    if not metrics:
        return unmeasured("The two runs share no outcome metric.")
    gap = oracle_gap(view.diagnosis, oracle, metrics[0])
    return RenderedSection(
        chart=oracle_gap_bars(gap, {}, capital(title_of(metrics[0]))),
        table=gap_table(gap),
        facts=[f"outcome metric: {title_of(metrics[0])}", f"oracle run: {view.names[oracle_run.run_id]}"],
        alt="Losses to retrieval and to generation, with 95 % intervals",
    )


def grid_section(view: StoryView, chosen: Mapping[str, str]) -> RenderedSection:
    """Return the heatmap of a chunking grid of the project; `chosen` may name its metric."""
    grids = grids_of(view.store.runs(view.run.project))
    if not grids:
        return unmeasured("The project has no chunking grid.")
    grid = grids[0]
    scored = [view.store.scored(trial.run) for trial in grid.trials]
    metrics = grid_metrics(scored)
    metric = chosen.get("metric") or next((name for name in metrics if name.endswith("@5")), "")
    if metric not in metrics:
        return unmeasured("The configurations of the grid have no such metric in common.")
    ranking = rank_trials(grid, scored, metric)
    return RenderedSection(
        chart=heatmap(grid, ranking, capital(title_of(metric))),
        table=trial_table(metric, ranking.values).only(
            "Chunking", "", "Mean", "95 % interval", "To the best", "Corrected interval"
        ),
        facts=[
            count(ranking.n_questions, "question"),
            "95 % interval: of the mean alone; difference to the best, its interval and the ranking: paired "
            "on question and tested together (step-down max-T)",
        ],
        alt=f"{title_of(metric)} by chunk size and overlap",
    )


def experiment_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return what the experiment of the run shows."""
    experiment = _experiment_of(view)
    if experiment is None:
        return unmeasured("The run is not an arm of an experiment.")
    summary = experiment_summary(view.store, experiment)
    parts = experiment_parts(summary)
    table = next((part.table for part in parts if part.is_result and part.table), arm_table(summary))
    drawn = next((part for part in parts if isinstance(part.chart, Chart)), arm_chart(summary))
    return RenderedSection(
        heading=f"{KINDS[experiment.kind].title}: what did the experiment show?",
        sentence=experiment_headline(summary).text,
        chart=drawn.chart if isinstance(drawn.chart, Chart) else None,
        table=replace(table, note=""),
        facts=[
            count(experiment.n_questions, "question"),
            summary.source,
            "95 % intervals",
            *([table.note] if table.note else []),
            *experiment.notes,
        ],
        alt=drawn.alt,
    )


def _experiment_of(view: StoryView) -> Experiment | None:
    """Return the experiment of the run, where it is still kept and its kind is known."""
    wanted = view.run.config.get(EXPERIMENT)
    if not isinstance(wanted, str) or not wanted:
        return None
    try:
        experiment = find_experiment(view.store.workspace, wanted)
    except WorkspaceError:
        return None
    return experiment if experiment.kind in KINDS else None


def suite_section(view: StoryView, chosen: Mapping[str, str]) -> RenderedSection:
    """Return the check suites of the run; `chosen` may name one suite."""
    wanted = chosen.get("suite", "")
    summaries = [summary for summary in suite_summaries(view.scored) if wanted in ("", summary.key)]
    if not summaries:
        which = f"no check of the suite {wanted[:40]}" if wanted else "no checks"
        return unmeasured(f"The run records {which}.")
    headline = checks_headline(view.names[view.run.run_id], summaries)
    shown = {summary.title: shown_suite(view.scored, summary.key) for summary in summaries}
    sentences = [f"{title}: {suite.statement}" for title, suite in shown.items() if suite and suite.statement]
    drawn = next((suite.chart for suite in shown.values() if suite and suite.chart), None)
    return RenderedSection(
        sentence=" ".join([headline.text, *sentences]),
        chart=None if drawn is None else drawn.chart,
        table=suite_table(summaries),
        facts=[
            "pass rate: mean over questions, 95 % interval",
            "a check that is not measured is neither passed nor failed",
            "" if drawn is None else drawn.legend,
        ],
        alt="" if drawn is None else drawn.alt,
    )
