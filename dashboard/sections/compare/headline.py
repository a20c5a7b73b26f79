"""The headline of the Compare page from the runs on display."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.headlines.compare import compare_headline, drawn_metrics, drawn_versions, most_decisive
from dashboard.headlines.headline import Headline
from dashboard.shell.session import View
from data.comparison.compare import GOOD_SHARE, Comparison
from data.diagnosis.doubts import metric_doubts, pass_rate_doubts
from data.store.workspace import Run

__all__ = ["doubts_of", "page_headline", "short_names", "subject_of"]


def short_names(view: View, runs: Sequence[Run]) -> dict[str, str]:
    """Return run id -> the name of the run alone; its full label where two of the runs are named alike."""
    names = [run.name for run in runs]
    return {run.run_id: run.name if names.count(run.name) == 1 else view.labels[run.run_id] for run in runs}


def subject_of(view: View, versions: Sequence[Run], comparisons: Sequence[Comparison]) -> str:
    """Return the id of the version of the headline: the run on display, else the one that differs most."""
    by_id = {run.run_id: comparison for run, comparison in zip(versions, comparisons, strict=True)}
    return view.run.run_id if view.run.run_id in by_id else most_decisive(by_id)


def page_headline(
    view: View, base: Run, versions: Sequence[Run], comparisons: Sequence[Comparison]
) -> Headline:
    """Conclude what changed from the baseline to the version that the page is about."""
    by_id = {run.run_id: comparison for run, comparison in zip(versions, comparisons, strict=True)}
    subject = subject_of(view, versions, comparisons)
    metrics = drawn_metrics([by_id[key] for key in drawn_versions(by_id, subject)])
    run = next(run for run in versions if run.run_id == subject)
    names = short_names(view, [base, *versions])
    doubts = {metric: doubts_of(view, (base, run), metric, names) for metric in metrics}
    return compare_headline(subject, by_id, names, names[base.run_id], metrics, doubts)


def doubts_of(view: View, runs: Sequence[Run], metric: str, names: dict[str, str]) -> list[str]:
    """Return what the checks doubt about a metric in any of the runs, as clauses."""
    clauses = []
    for run in runs:
        found = (
            pass_rate_doubts(view.diagnosis(run), view.findings(run))
            if metric == GOOD_SHARE
            else metric_doubts(view.scored(run), view.findings(run), metric)
        )
        clauses += [f"{names[run.run_id]}: {finding.clause}" for finding in found]
    return clauses
