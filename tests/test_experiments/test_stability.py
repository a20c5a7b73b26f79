"""Stability: flips by hand, and a system that changes its mind where it is known to."""

import json
from pathlib import Path

import numpy as np
import pytest
from reading_systems import write_questions
from yielding_systems import FLIPS_ON_SHUFFLE, Changeable

from ragtriage.data.api import add_run
from ragtriage.data.errors import DataError
from ragtriage.data.experiments.plan import plan_experiment
from ragtriage.data.experiments.questions import open_questions
from ragtriage.data.experiments.registry import experiment_summary, kind_of
from ragtriage.data.experiments.run_experiment import run_experiment
from ragtriage.data.experiments.stability import StabilityFindings, repeat_flips, rewordings
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.systems.system import SystemLimits
from ragtriage.metrics.experiments.questions import flips

NAN = float("nan")


def test_a_question_with_a_pass_and_a_fail_flips() -> None:
    """Rows: all pass, one fails, all fail, one verdict alone, none: 1 flip of 3 compared."""
    found = flips(np.array([[1.0, 1, 1], [1, 0, 1], [0, 0, 0.4], [1, NAN, NAN], [NAN, NAN, NAN]]))
    assert found.flipped.tolist() == [False, True, False, False, False]
    assert (found.compared, found.always, found.never) == (3, 1, 1)
    assert found.rate.mean == pytest.approx(1 / 3)
    assert found.pass_rate.mean == pytest.approx((1 + 2 / 3 + 0) / 3)


def test_the_threshold_decides_what_passes() -> None:
    values = np.array([[0.6, 0.8]])
    assert flips(values, 0.5).rate.mean == 0.0
    assert flips(values, 0.7).rate.mean == 1.0
    assert flips(values, 0.6).rate.mean == 0.0


def test_plain_rewordings_keep_the_words() -> None:
    assert rewordings("What is it?") == [
        ("polite", "Could you tell me: What is it?"),
        ("lower case, no question mark", "what is it"),
        ("as a statement", "I need to know this: what is it."),
    ]


def stability(tmp_path: Path, **parameters: object) -> StabilityFindings:
    store = RunStore(Workspace(tmp_path / "ws").create())
    rows = write_questions(tmp_path / "codes.jsonl", 6)
    more = [{"id": "x1", "text": "None."}, {"id": "x2", "text": "Nor here."}]
    lines = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    lines = [{**line, "gold": [line["gold"], *more]} for line in lines]
    rows.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    planned = plan_experiment(
        kind_of("stability"), open_questions(store, str(rows)), parameters, Changeable()
    )
    outcome = run_experiment(store, planned, Changeable(), SystemLimits())
    findings = experiment_summary(store, outcome.experiment).findings
    assert isinstance(findings, StabilityFindings)
    return findings


def test_the_questions_that_flip_are_named_by_what_makes_them_flip(tmp_path: Path) -> None:
    findings = stability(tmp_path)
    flipped = {each.change: each.questions for each in findings.changes}
    assert flipped == {"repeated": (), "reworded": ("q002",), "shuffled": FLIPS_ON_SHUFFLE}
    assert {each.change: each.variants for each in findings.changes} == {
        "repeated": 3,
        "reworded": 4,
        "shuffled": 4,
    }
    assert findings.flipped == ("q001", "q002", "q004")
    assert findings.overall.rate.mean == 0.5
    assert (findings.verdict, findings.passes_from) == ("answer_match", 0.5)


def test_shuffles_are_seeded_and_leave_no_order_as_it_was(tmp_path: Path) -> None:
    store = RunStore(Workspace(tmp_path / "ws").create())
    questions = open_questions(store, str(write_questions(tmp_path / "codes.jsonl", 3)))
    with pytest.raises(DataError, match="accepted: 2 or more in all"):
        plan_experiment(kind_of("stability"), questions, {"repeats": 1, "shuffles": 0}, Changeable())
    planned = plan_experiment(kind_of("stability"), questions, {}, Changeable())
    assert "documents were not shuffled" in " ".join(planned.design.notes)
    assert "3 were reworded plainly" in " ".join(planned.design.notes)


def test_an_imported_run_with_repeats_shows_its_flips(tmp_path: Path) -> None:
    records = [
        {"question_id": name, "repeat": repeat, "question": name, "answer": "x", "scores": {"right": value}}
        for name, values in {"a": (1, 1, 0), "b": (1, 1, 1), "c": (0, 0, 0)}.items()
        for repeat, value in enumerate(values)
    ]
    run = add_run(records, "repeated", workspace=str(tmp_path / "ws"))
    store = RunStore(Workspace(tmp_path / "ws"))
    found = repeat_flips(store.scored(run), "right")
    assert (found.questions, found.flips.compared, found.variants) == (("a",), 3, 3)
    single = add_run(records[::3], "single", workspace=str(tmp_path / "ws"))
    with pytest.raises(DataError, match="no question was asked twice"):
        repeat_flips(store.scored(single), "right")
