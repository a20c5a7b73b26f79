"""The leaderboard: many versions under one metric, the best and what a paired test cannot tell from it."""

from __future__ import annotations

import numpy as np

from ragtriage.data.api import add_run
from ragtriage.data.comparison.leaderboard import Leaderboard, leaderboard, rate_leaderboard
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.scoring.run_store import RunStore

N = 24
SPREAD = np.random.default_rng(1).uniform(0.2, 0.6, N)  # questions differ far more than versions do


def _board(store: RunStore, levels: dict[str, float | None], metric: str = "faithfulness") -> Leaderboard:
    scored = []
    for name, level in levels.items():
        noise = np.random.default_rng(sum(map(ord, name))).normal(0, 0.005, N)
        records = [
            {
                "question_id": f"q{at}",
                "question": f"{at}?",
                "answer": "a",
                "scores": {}
                if level is None
                else {metric: float(np.clip(SPREAD[at] + level + noise[at], 0, 1))},
            }
            for at in range(N)
        ]
        scored.append(store.scored(add_run(records, name, "p", str(store.workspace.root))))
    return leaderboard(scored, metric)


def _standings(store: RunStore, board: Leaderboard) -> list[tuple[str, str]]:
    names = {run.run_id: run.name for run in store.runs("p")}
    return [(names[row.run_id], row.standing) for row in board.rows]


def test_overlapping_intervals_do_not_hide_a_paired_difference(workspace: RunStore) -> None:
    board = _board(workspace, {"a": 0.10, "b": 0.05, "c": -0.1})
    assert _standings(workspace, board) == [("a", "best"), ("b", "worse"), ("c", "worse")]
    best, second = board.rows[:2]
    assert second.value.high > best.value.low, "their intervals overlap"
    assert second.test is not None
    assert second.test.high < 0


def test_what_the_test_cannot_tell_from_the_best_stands_with_it(workspace: RunStore) -> None:
    board = _board(workspace, {"a": 0.1, "bb": 0.1, "c": -0.1, "none": None})
    standings = dict(_standings(workspace, board))
    assert sorted(standings.values()) == ["best", "same", "worse"]
    assert standings["c"] == "worse"
    assert board.not_told_apart == 1
    assert len(board.unmeasured) == 1


def test_lower_is_better_ranks_from_the_lowest(workspace: RunStore) -> None:
    board = _board(workspace, {"a": 0.1, "b": 0.3}, "hallucination")
    assert _standings(workspace, board) == [("a", "best"), ("b", "worse")]


def test_a_version_on_few_or_on_other_questions_is_not_the_best(workspace: RunStore) -> None:
    root = str(workspace.workspace.root)
    full = [{"question_id": f"q{at}", "question": "?", "scores": {"faithfulness": 0.5}} for at in range(10)]
    few = [{"question_id": f"q{at}", "question": "?", "scores": {"faithfulness": 0.9}} for at in range(3)]
    away = [{"question_id": f"x{at}", "question": "?", "scores": {"faithfulness": 0.8}} for at in range(4)]
    runs = [
        add_run(records, name, "p", root) for records, name in ((full, "full"), (few, "few"), (away, "away"))
    ]
    board = leaderboard([workspace.scored(run) for run in runs], "faithfulness")
    assert dict(_standings(workspace, board)) == {"few": "same", "away": "not compared", "full": "best"}


def test_a_metric_without_a_direction_has_no_best(workspace: RunStore) -> None:
    board = _board(workspace, {"a": 0.1, "b": 0.3}, "self_knowledge")
    assert {row.standing for row in board.rows} == {"no direction"}
    assert board.best is None


def test_pass_rates_are_ranked_over_all_versions_together(workspace: RunStore) -> None:
    """Of 167 versions that differ by chance alone, nearly all stay with the best."""
    generator = np.random.default_rng(3)
    scored = []
    for version in range(167):
        records = [
            {
                "question_id": f"q{at}",
                "question": "?",
                "answer": "a",
                "scores": {"faithfulness": float(generator.random() < 0.7)},
            }
            for at in range(12)
        ]
        scored.append(workspace.scored(add_run(records, f"v{version}", "p", str(workspace.workspace.root))))
    diagnoses = [diagnose(one, DiagnosisSettings(), []) for one in scored]
    board = rate_leaderboard(diagnoses, diagnoses[0])
    assert len(board.rows) == 167
    assert board.best is not None
    assert board.not_told_apart >= 160
    means = [row.value.mean for row in board.rows]
    assert means == sorted(means, reverse=True)


def test_a_pass_rate_that_rests_on_other_metrics_is_left_out(workspace: RunStore) -> None:
    diagnoses = []
    for name, metric in (("a", "faithfulness"), ("b", "faithfulness"), ("c", "context_recall")):
        records = [
            {"question_id": f"q{at}", "question": "?", "answer": "a", "scores": {metric: at / 10}}
            for at in range(10)
        ]
        run = add_run(records, name, "p", str(workspace.workspace.root))
        diagnoses.append(diagnose(workspace.scored(run), DiagnosisSettings(), []))
    board = rate_leaderboard(diagnoses, diagnoses[0])
    assert len(board.rows) == 2
    assert board.apart == (diagnoses[2].scored.run.run_id,)
