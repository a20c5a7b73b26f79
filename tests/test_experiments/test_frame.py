"""The frame of experiments end to end: the test finds what is there, and nothing where nothing is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reading_systems import ReadingSystem, even, forgets_the_middle, reads_late, write_questions

from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.experiments.experiment import delete_experiment, experiments, find_experiment
from ragtriage.data.experiments.plan import PlannedExperiment, estimate, plan_experiment
from ragtriage.data.experiments.position import PositionFindings
from ragtriage.data.experiments.questions import open_questions
from ragtriage.data.experiments.registry import ExperimentSummary, experiment_summary, kind_of
from ragtriage.data.experiments.run_experiment import kept_replies, run_experiment
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.systems.system import SystemLimits, SystemReply, SystemRequest

LIMITS = SystemLimits(concurrency=1)


def planned(store: RunStore, path: Path, system: ReadingSystem, **parameters: Any) -> PlannedExperiment:
    return plan_experiment(kind_of("position"), open_questions(store, str(path)), parameters, system)


def positions(store: RunStore, path: Path, system: ReadingSystem) -> ExperimentSummary:
    outcome = run_experiment(store, planned(store, path, system), system, LIMITS)
    assert outcome.experiment.state == "done"
    return experiment_summary(store, outcome.experiment)


def findings(summary: ExperimentSummary) -> PositionFindings:
    assert isinstance(summary.findings, PositionFindings)
    return summary.findings


def test_a_system_that_forgets_the_middle_is_found_out(workspace: RunStore, tmp_path: Path) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 80)
    found = findings(positions(workspace, path, ReadingSystem(forgets_the_middle)))
    assert found.effect.verdict == "middle"
    assert found.effect.ranks == (1, 3, 6, 8, 10)
    assert found.effect.test.p < 0.001
    assert found.effect.contrast.high < 0
    assert found.floor is not None
    assert found.floor.mean == 0
    assert found.ceiling is not None
    assert found.ceiling.mean > 0.9
    assert found.n_unknown == 80


def test_a_system_without_an_effect_is_told_to_have_none(workspace: RunStore, tmp_path: Path) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 80)
    found = findings(positions(workspace, path, ReadingSystem(even)))
    assert found.effect.verdict == "cannot tell"
    assert found.effect.gap > -0.1  # the lowest of three is chosen: above 0 by chance alone


def test_what_is_read_late_alone_is_not_called_lost_in_the_middle(
    workspace: RunStore, tmp_path: Path
) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 80)
    assert findings(positions(workspace, path, ReadingSystem(reads_late))).effect.verdict == "rises"


def test_arms_are_paired_runs_with_their_levels_as_settings(workspace: RunStore, tmp_path: Path) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 20)
    summary = positions(workspace, path, ReadingSystem(even))
    runs = [workspace.find(arm.arm.run_id) for arm in summary.arms]
    assert [run.config.get("gold_rank") for run in runs] == [None, None, 1, 3, 6, 8, 10]
    assert {run.config["experiment"] for run in runs} == {summary.experiment.experiment_id}
    ids = [tuple(workspace.scored(run).question_ids) for run in runs]
    assert len(set(ids)) == 1
    middle = workspace.scored(runs[3]).samples.read([0])[0]
    assert middle["retrieved"][2]["id"] == middle["relevant"][0]["id"]
    assert len(middle["retrieved"]) == 10
    oracle = workspace.scored(runs[1]).samples.read([0])[0]
    assert oracle["context_mode"] == "oracle"


class _KilledError(Exception):
    """Stands for a kill of the process in the middle of an experiment."""


def test_a_killed_experiment_goes_on_without_asking_anything_twice(
    workspace: RunStore, tmp_path: Path
) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 20)
    system = ReadingSystem(even)
    plan = planned(workspace, path, system)
    asked = 0

    def killed(_: object) -> None:
        nonlocal asked
        asked += 1
        if asked == 40:
            raise _KilledError

    with pytest.raises(_KilledError):
        run_experiment(workspace, plan, system, LIMITS, killed)
    kept = experiments(workspace.workspace)
    assert [(entry.state, entry.run_ids) for entry in kept] == [("unfinished", ())]
    before = list(system.asked)
    known = kept_replies(workspace, plan, system)
    left = estimate(plan, known, LIMITS)
    assert (left.requests, left.kept) == (140, len(known))
    assert left.seconds == pytest.approx(0.01 * left.remaining)
    outcome = run_experiment(workspace, plan, system, LIMITS)
    assert outcome.experiment.state == "done"
    twice = len(system.asked) - len(set(system.asked))
    assert twice <= 1  # at most what was in flight, and had no reply yet, at the kill
    assert len(before) < len(system.asked)
    again = run_experiment(workspace, plan, system, LIMITS)
    assert again.progress.asked == 0
    assert again.experiment.run_ids == outcome.experiment.run_ids


def test_a_limit_stops_between_questions_and_the_same_command_goes_on(
    workspace: RunStore, tmp_path: Path
) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 20)
    system = ReadingSystem(even)
    plan = planned(workspace, path, system)
    stopped = run_experiment(workspace, plan, system, replace(LIMITS, most_requests=30))
    assert "limit of 30 requests" in stopped.stopped
    assert stopped.experiment.state == "unfinished"
    assert experiment_summary(workspace, stopped.experiment).findings is None
    finished = run_experiment(workspace, plan, system, LIMITS)
    assert finished.progress.asked == 110
    assert finished.experiment.state == "done"


class _Broken(ReadingSystem):
    """Fails every fourth question."""

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:
        if int(request.question_id[1:]) % 4 == 0:
            return SystemReply("failed", {}, "it died <b>here</b>")
        return super().ask(request, limits)


def test_failures_are_samples_without_an_answer_and_are_counted(workspace: RunStore, tmp_path: Path) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 20)
    system = _Broken(even)
    outcome = run_experiment(workspace, planned(workspace, path, system), system, LIMITS)
    assert outcome.reasons == (("it died <b>here</b>", 35),)
    summary = experiment_summary(workspace, outcome.experiment)
    assert {(arm.n, arm.quality.n_scored) for arm in summary.arms} == {(20, 15)}
    assert findings(summary).effect.test.n == 15
    assert any(
        "5 of 20 samples have no answer" in note
        for note in workspace.find(outcome.experiment.run_ids[0]).notes
    )


def test_an_experiment_is_found_by_the_start_of_its_id_and_deleted(
    workspace: RunStore, tmp_path: Path
) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 12)
    experiment = positions(workspace, path, ReadingSystem(even)).experiment
    assert find_experiment(workspace.workspace, experiment.experiment_id[:5]).experiment_id == (
        experiment.experiment_id
    )
    workspace.workspace.delete_run(experiment.run_ids[0])
    assert find_experiment(workspace.workspace, experiment.experiment_id).state == "unfinished"
    delete_experiment(workspace.workspace, experiment.experiment_id)
    with pytest.raises(WorkspaceError, match="no experiment"):
        find_experiment(workspace.workspace, experiment.experiment_id)


def test_a_damaged_record_is_named_and_hides_no_other(workspace: RunStore, tmp_path: Path) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 12)
    experiment = positions(workspace, path, ReadingSystem(even)).experiment
    damaged = workspace.workspace.root / "experiments" / "0123456789ab"
    damaged.mkdir()
    (damaged / "experiment.json").write_text("{")
    assert experiments(workspace.workspace) == [experiment]
    with pytest.raises(WorkspaceError, match=r"experiment\.json: cannot be read"):
        find_experiment(workspace.workspace, "0123456789ab")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("created_at", "0001-01-01T00:00:00+23:59", "cannot be read"),
        ("created_at", "9999-12-31T23:59:59-23:59", "cannot be read"),
        ("parameters", {"documents": float("nan")}, "cannot be read"),
        ("parameters", {"documents": "many"}, "does not fit its kind 'position'"),
    ],
)
def test_a_record_with_odd_values_is_named_and_hides_no_other(
    workspace: RunStore, tmp_path: Path, field: str, value: Any, said: str
) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 12)
    kept = positions(workspace, path, ReadingSystem(even)).experiment
    damaged = positions(workspace, path, ReadingSystem(forgets_the_middle, "other")).experiment
    record = workspace.workspace.root / "experiments" / damaged.experiment_id / "experiment.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), field: value}))
    assert kept in experiments(workspace.workspace)
    with pytest.raises(DataError, match=said):
        experiment_summary(workspace, find_experiment(workspace.workspace, damaged.experiment_id))


def test_what_cannot_be_asked_is_one_sentence(workspace: RunStore, tmp_path: Path) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 12)
    with pytest.raises(DataError, match="3 or more"):
        planned(workspace, path, ReadingSystem(even), documents=2)
    with pytest.raises(DataError, match="no question has 49 distractors"):
        planned(workspace, path, ReadingSystem(even), documents=50)
    with pytest.raises(DataError, match="accepted: arms, position, noise"):
        kind_of("nothing")
    with pytest.raises(WorkspaceError, match="no file, question set or run"):
        open_questions(workspace, "nowhere")
