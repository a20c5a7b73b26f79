"""Labels of one side alone, and versions beside a pair, move nothing in its comparison."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.dashboard.headlines.compare import compare_headline, drawn_metrics
from ragtriage.data.api import add_run, gate
from ragtriage.data.comparison.compare import compare
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.labels.ratings import queue_state, start_queue
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.ledger import Verdict
from ragtriage.metrics.gates.wording import GOOD_SHARE


def _samples(failing: int) -> list[dict[str, Any]]:
    return [
        {
            "question_id": f"q{at:02d}",
            "question": f"Question {at}?",
            "answer": "An answer.",
            "scores": {"faithfulness": 0.95, "correctness": 0.0 if at < failing else 1.0},
        }
        for at in range(60)
    ]


@pytest.fixture
def ids(workspace: RunStore) -> list[str]:
    root = str(workspace.workspace.root)
    return [add_run(_samples(n), name, "p", root, {"v": name}).run_id for n, name in ((9, "V1"), (8, "V2"))]


def _sides(workspace: RunStore, ids: list[str]) -> tuple[Diagnosis, Diagnosis]:
    base, other = (
        diagnose(
            workspace.scored(workspace.find(run_id)), DiagnosisSettings(), workspace.ledger.labels(run_id)
        )
        for run_id in ids
    )
    return base, other


def _label(workspace: RunStore, run_id: str, verdict: str) -> None:
    for at in range(20, 30):
        workspace.ledger.add_label((run_id, f"q{at}", 0), "ann", verdict)  # type: ignore[arg-type] # a verdict


def test_ten_labels_on_one_side_move_no_comparison(workspace: RunStore, ids: list[str]) -> None:
    before = compare(*_sides(workspace, ids), ["faithfulness"])
    root = str(workspace.workspace.root)
    gated = gate(ids[1], ids[0], workspace=root)
    _label(workspace, ids[1], "fail")
    base, other = _sides(workspace, ids)
    assert other.pass_rate.mean == pytest.approx(42 / 60), "alone the run counts its labels"
    after = compare(base, other, ["faithfulness"])
    assert after.differences == before.differences
    assert "10 questions have human labels in one of the two runs only" in after.warnings[-1]
    again = gate(ids[1], ids[0], workspace=root)
    changes = [
        [result.mean for result in report.results if result.gate.kind in ("regression", "critical")]
        for report in (gated, again)
    ]
    assert changes[0] == changes[1]
    assert (gated.newly_failing, again.n_newly_failing) == ((), 0)


def test_labels_on_both_sides_count(workspace: RunStore, ids: list[str]) -> None:
    _label(workspace, ids[0], "pass")
    _label(workspace, ids[1], "fail")
    compared = compare(*_sides(workspace, ids), [])
    assert compared.primary.metric == GOOD_SHARE
    assert compared.primary.difference.difference == pytest.approx((1 - 10) / 60)
    assert not any("human labels" in warning for warning in compared.warnings)


def test_a_pair_reads_the_same_whatever_else_is_on_the_page(workspace: RunStore, ids: list[str]) -> None:
    root = str(workspace.workspace.root)
    more = [add_run(_samples(n), f"V{n}", "p", root, {"v": n}).run_id for n in (30, 45)]
    base, other = _sides(workspace, ids)
    first = compare(base, other, ["faithfulness", "correctness"])
    others = {
        run_id: compare(base, _sides(workspace, [run_id, run_id])[0], ["faithfulness"]) for run_id in more
    }
    names = {"v": "V2", **dict.fromkeys(more, "V")}
    alone = compare_headline("v", {"v": first}, names, "V1", drawn_metrics(first))
    beside = compare_headline("v", {"v": first, **others}, names, "V1", drawn_metrics(first))
    assert (alone.state, alone.statement) == (beside.state, beside.statement)
    assert beside.detail.startswith(alone.detail)
    assert "Of 2 other versions: 2 worse than V1" in beside.detail


@pytest.mark.parametrize(
    ("failing", "statement", "detail"),
    [
        (
            (9, 8),
            "V2 is at most 0.05 worse than V1: pass rate +2 points",
            "Pass rate +2 points, at most 0.02 worse (one-sided 95 %)",
        ),
        ((9, 9), "V2 equals V1 within 0.05: pass rate 0 points", "60 shared questions"),
        (
            (9, 13),
            "No significant difference between V2 and V1",
            "A loss of up to 0.13 may hide with 60 questions; about 62 questions would settle it, 2 more",
        ),
    ],
)
def test_what_a_comparison_leaves_open_is_held_against_the_margin(
    workspace: RunStore, failing: tuple[int, int], statement: str, detail: str
) -> None:
    root = str(workspace.workspace.root)
    ids = [add_run(_samples(n), f"V{at}", "p", root, {"v": at}).run_id for at, n in enumerate(failing, 1)]
    compared = compare(*_sides(workspace, ids), [])
    headline = compare_headline("v", {"v": compared}, {"v": "V2"}, "V1", drawn_metrics(compared))
    assert headline.statement == statement
    assert detail in headline.detail


def _draw(workspace: RunStore, run_id: str, n: int) -> None:
    """Label as many cases of a random queue; people pass one answer in five that the scores pass."""
    queue = start_queue(workspace.ledger, run_id, "pass", "ann")
    scored = workspace.scored(workspace.find(run_id))
    for row in queue_state(workspace.ledger, scored, queue).remaining[:n]:
        question = str(scored.question_ids[scored.question[row]])
        verdict: Verdict = "pass" if int(question[1:]) % 5 == 4 else "fail"
        workspace.ledger.add_label((run_id, question, 0), "ann", verdict, queue_id=queue.queue_id)


def test_a_mean_that_labels_correct_on_one_side_alone_is_not_compared(
    workspace: RunStore, ids: list[str]
) -> None:
    before = compare(*_sides(workspace, ids), [])
    _draw(workspace, ids[1], 40)
    base, other = _sides(workspace, ids)
    assert other.label_correction is not None
    after = compare(base, other, [])
    assert after.differences == before.differences
    assert "correct the pass rate of one of the two runs only" in after.warnings[-1]


def test_means_that_labels_correct_on_both_sides_are_compared(workspace: RunStore, ids: list[str]) -> None:
    for run_id in ids:
        _draw(workspace, run_id, 40)
    base, other = _sides(workspace, ids)
    compared = compare(base, other, [])
    assert compared.primary.base == pytest.approx(base.pass_rate.mean, abs=0.005)
    assert compared.primary.other == pytest.approx(other.pass_rate.mean, abs=0.005)
    assert compared.primary.base < 0.4
    assert "on both sides (raw 85 % and 87 %)" in compared.warnings[-1]
    report = gate(ids[1], ids[0], workspace=str(workspace.workspace.root))
    changes = [result for result in report.results if result.gate.kind == "regression"]
    of_rate = [result.mean for result in changes if result.gate.metric == GOOD_SHARE]
    assert of_rate == [pytest.approx(compared.primary.difference.difference)]
