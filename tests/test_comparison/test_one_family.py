"""The metrics that a pair of runs is compared on, and every number, are the same on pages and in commands."""

from __future__ import annotations

import pytest
from command_line import run as command

from ragtriage.dashboard.pages.compare.compared import compared_versions, page_headline
from ragtriage.dashboard.pages.trend.versions import compared_with
from ragtriage.dashboard.pages.triage.run_tabs import compared_with_baseline
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.shell.session import View
from ragtriage.data.comparison.compare import Comparison, compare
from ragtriage.data.comparison.guardrails import guardrails
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.gates.wording import GOOD_SHARE

PROJECTS = ("handbook", "clapnq", "musique", "memory", "iris")


def _numbers(comparison: Comparison) -> dict[str, tuple[float, ...]]:
    return {
        row.metric: (row.difference.difference, row.adjusted_p, row.low, row.high)
        for row in comparison.differences
        if row.difference.n_pairs
    }


@pytest.mark.parametrize("project", PROJECTS)
def test_a_pair_has_one_family_and_one_set_of_numbers(
    demo: RunStore, capsys: pytest.CaptureFixture[str], project: str
) -> None:
    base, *others = [run for run in demo.runs(project) if not run.means and not run.config.get("grid")][:4]
    run = others[-1]
    view = View.of(demo, Selection(project=project, run=run.run_id, baseline=base.run_id))
    assert view is not None
    several = tuple(other.run_id for other in others)
    crowded = View.of(
        demo, Selection(project=project, run=run.run_id, baseline=base.run_id, versions=several)
    )
    assert crowded is not None
    answer = command(capsys, demo.workspace.root, "compare", base.run_id, run.run_id, "--json").json
    printed = {
        name: (row["difference"], row["adjusted_p"], row["verdict_low"], row["verdict_high"])
        for name, row in answer["comparisons"][0]["metrics"].items()
        if row["n_pairs"]
    }
    comparisons = {
        "Compare": compared_versions(view, base).comparisons[run.run_id],
        "Compare, several versions": compared_versions(crowded, base).comparisons[run.run_id],
        "Triage": compared_with_baseline(view),
        "Trend": compared_with(view, base, run),
        "deck": StoryView(demo, run, base).comparison,
    }
    for where, comparison in comparisons.items():
        assert comparison is not None
        shown = _numbers(comparison)
        assert shown.keys() == printed.keys(), where
        for name, numbers in shown.items():
            assert numbers == pytest.approx(printed[name], nan_ok=True), f"{where}: {name}"
    told = command(capsys, demo.workspace.root, "compare", base.run_id, run.run_id).out
    assert page_headline(compared_versions(view, base)).statement in " ".join(told.split())


def test_a_trial_without_answers_has_no_pass_rate_to_compare(demo: RunStore) -> None:
    runs = {run.name: run for run in demo.runs("handbook")}
    answers, trial = (
        diagnose(demo.scored(runs[name]), DiagnosisSettings(), [])
        for name in ("V3 strict prompt", "256 / 48 tokens")
    )
    comparison = compare(answers, trial, ["span_recall@5"])
    rows = {row.metric: row for row in comparison.differences}
    assert rows[GOOD_SHARE].difference.n_pairs == 0
    assert rows["span_recall@5"].difference.n_pairs == 42
    assert not comparison.slices
    assert "The pass rates are not compared: the other run has no answers" in " ".join(comparison.warnings)
    names = [each.name for each in guardrails(answers, trial, comparison.matched)]
    assert "wrong refusals" not in names
