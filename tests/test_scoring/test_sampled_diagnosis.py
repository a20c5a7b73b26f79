"""A weighted sample is diagnosed by what its calls stand for, and says so wherever cases are counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from sampled_calls import calls, written

from ragtriage.dashboard.headlines.triage import river_statement
from ragtriage.dashboard.tables.run import stage_table
from ragtriage.dashboard.wording.diagnosis import bad_cases_text, ownership
from ragtriage.dashboard.wording.formatting import sampling_text
from ragtriage.data.comparison.questions_asked import questions_asked
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.diagnosis.pipeline import pipeline_of
from ragtriage.data.gates.built_in import judge_questions
from ragtriage.data.gates.gate_kinds import judge_percentile_gate
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.scoring.summaries import summarise
from ragtriage.metrics.gates.gates import Gate


@pytest.fixture
def sample(workspace: RunStore, capsys: Any, tmp_path: Path) -> Diagnosis:
    """100 calls of 600, of which 275 are good: 12 of 20 that stand for 20 each, 6 of 30 for 5, 5 of 50."""
    records = ({**each, "scores": {"correctness": each["scores"]["correctness"]}} for each in calls())
    assert (
        run(capsys, workspace.workspace.root, "import", str(written(tmp_path / "live.jsonl", records))).code
        == 0
    )
    return diagnose(workspace.scored(workspace.find("live")), DiagnosisSettings())


def test_shares_and_sentences_are_of_all_calls(sample: Diagnosis) -> None:
    assert sample.pass_rate.mean == pytest.approx(275 / 600)
    assert sample.stand_for(sample.bad.bad) == 325
    assert sample.share_of_calls(sample.bad.bad) == pytest.approx(325 / 600)
    assert sampling_text(sample.scored) == "Sampled: 100 of about 600 calls, weighted by 1 / rate"
    assert bad_cases_text(sample) == "77 of 100 kept calls are bad (54 % of all calls)"
    assert river_statement(sample).startswith("77 of 100 kept calls fail (54 % of all calls)")
    (top,) = sample.fix_first
    assert (top.n_bad, top.share) == (77, 1.0)
    assert (top.pass_rate_now, top.pass_rate_if_perfect) == pytest.approx((275 / 600, 1.0))
    assert ownership(top, 77, weighted=True) == "accounts for 77 of 77 bad cases, 100 % by weight"
    assert "Share by weight" in stage_table(sample, ()).rows[0]


def test_the_river_counts_calls(sample: Diagnosis) -> None:
    river = pipeline_of(sample)
    assert (river.n, river.good, river.noun) == (600, 275, "call")
    assert sum(loss.n for loss in river.losses()) == 325


def test_calls_that_were_counted_are_not_estimated(sample: Diagnosis) -> None:
    run = replace(sample.scored.run, config={"live": {"calls": 660, "kept": 100}})
    counted = ScoredRun(sample.scored.workspace, run, sample.scored.scores_path)
    assert sampling_text(counted) == "Sampled: 100 of 660 calls, weighted by 1 / rate"
    river = pipeline_of(replace(sample, scored=counted))
    assert (river.n, river.good) == (660, 660 - round(660 * 325 / 600))


def test_errors_that_are_all_kept_are_few_of_the_calls(
    workspace: RunStore, capsys: Any, tmp_path: Path
) -> None:
    def records() -> Any:
        for at, each in enumerate(calls()):
            yield {**each, "answer": None, "scores": {}, "tags": {"error": "timeout"}} if at >= 60 else each

    run(capsys, workspace.workspace.root, "import", str(written(tmp_path / "live.jsonl", records())))
    diagnosis = diagnose(workspace.scored(workspace.find("live")), DiagnosisSettings())
    asked = questions_asked(diagnosis)
    assert (asked.answered, asked.of) == (560, 600)  # 40 of 100 kept calls ended in an error, at weight 1
    assert asked.with_missing <= asked.rate
    gate = judge_questions(diagnosis, asked)
    assert gate is not None
    assert gate.mean == pytest.approx(560 / 600)
    assert judge_questions(diagnosis, replace(asked, answered=590)) is None


def test_what_knows_no_weights_is_not_measured(sample: Diagnosis) -> None:
    gate = Gate("latency_ms", 500, True, "warn", "slow", kind="percentile", percentile=95)
    result = judge_percentile_gate(gate, sample)
    assert result.verdict == "UNMEASURED"
    assert "weighted" in result.why
    assert sample.all_worse_slices == []
    assert sample.concentration is None
    assert sample.label_correction is None


def test_the_mean_of_a_slice_weighs_too(sample: Diagnosis) -> None:
    scored = sample.scored
    group = next(group for group in scored.groups if group.name == "query_type")
    usual = group.codes == group.labels.index("usual")
    summary = summarise(scored, ["correctness"], usual)["correctness"]
    assert summary.mean == pytest.approx((20 * 12 + 5 * 6) / (20 * 20 + 5 * 30))
    assert summary.effective_n == pytest.approx(550**2 / (400 * 20 + 25 * 30))
