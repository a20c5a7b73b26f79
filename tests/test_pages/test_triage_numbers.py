"""The numbers of the Triage page: tiles and gate rows, also of values that no metric can have."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ragtriage.dashboard.pages.triage import lists
from ragtriage.dashboard.pages.triage.lists import gate_counts, gate_value
from ragtriage.dashboard.pages.triage.overview import triage_tiles
from ragtriage.dashboard.present.page_html.blocks import Tile
from ragtriage.dashboard.shell.session import View
from ragtriage.data.api import add_run, gate
from ragtriage.data.comparison.compare import compare
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.gates.report import GateReport
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.strategy.holdings import MOST_RUNS

DROP = '[[gate]]\nkind = "regression"\nmetric = "faithfulness"\nseverity = "block"\n'
RATE = '[[gate]]\nkind = "regression"\nmetric = "pass rate"\nseverity = "block"\n'
LEAST = '[[gate]]\nmetric = "faithfulness"\nat_least = 0.5\nseverity = "block"\n'


def _records(value: float, n: int = 10) -> list[dict[str, Any]]:
    scores = {"faithfulness": value, "answer_relevancy": 0.9}
    return [
        {"question_id": f"q{at}", "question": f"{at}?", "answer": "A.", "scores": scores} for at in range(n)
    ]


def _judged(store: RunStore, before: float, now: float, gates: str) -> tuple[GateReport, dict[str, Tile]]:
    root = store.workspace.root
    config = root / "own.toml"
    config.write_text(gates, encoding="utf-8")
    base, run = (
        add_run(_records(value), name, "p", str(root)) for name, value in (("V1", before), ("V2", now))
    )
    report = gate(run.run_id, base.run_id, str(config), str(root))
    ours, theirs = (diagnose(store.scored(each), DiagnosisSettings()) for each in (run, base))
    comparison = compare(theirs, ours, ["faithfulness", "answer_relevancy"])
    findings = check_run(store.scored(run))
    tiles = triage_tiles(ours, store.summary(run), findings, report, comparison, "V1")
    return report, {tile.title: tile for tile in tiles}


def test_values_near_the_largest_are_out_of_scale_and_have_a_short_form(workspace: RunStore) -> None:
    report, tiles = _judged(workspace, 1e308, -1e308, LEAST)
    assert (tiles["Faithfulness"].change, tiles["Faithfulness"].word) == ("", "not measured")
    assert tiles["Answer relevancy"].change == "0.00 vs V1"
    assert gate_value(replace(report.results[0], mean=-1e308)) == "−1e308"


def test_a_metric_with_a_relative_gate_alone_has_no_threshold(workspace: RunStore) -> None:
    _, tiles = _judged(workspace, 0.9, 0.8, DROP)
    assert (tiles["Faithfulness"].word, tiles["Answer relevancy"].word) == ("no threshold", "no gate")


def test_the_tile_of_the_pass_rate_has_the_text_of_its_gate(workspace: RunStore) -> None:
    report, tiles = _judged(workspace, 0.9, 0.95, RATE)
    (tile,) = (tile for title, tile in tiles.items() if "rate" in title or "fault" in title)
    assert "gate: drop < 5 points" in tile.foot
    assert any(result.sentence in tile.help for result in report.results)


@pytest.mark.parametrize(
    ("value", "gates", "told"),
    [
        (0.2, f"{LEAST.replace('block', 'warn')}{DROP}", "1 fails, 1 fails (warning only)"),
        (0.2, f"{LEAST}{DROP}", "2 fail"),
        (0.9, LEAST, "1 blocking holds"),
    ],
)
def test_the_gates_are_counted_by_what_becomes_of_them(
    workspace: RunStore, value: float, gates: str, told: str
) -> None:
    assert gate_counts(_judged(workspace, 0.89, value, gates)[0]) == told


def test_the_size_of_the_questions_rests_on_the_newest_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [SimpleNamespace(name=str(at), config={}, origin={}) for at in range(MOST_RUNS + 6)]
    asked: list[str] = []
    view = SimpleNamespace(
        sampled=runs, usual_diagnosis=lambda run: asked.append(run.name), run=SimpleNamespace(n_questions=48)
    )
    monkeypatch.setattr(lists, "_shown", lambda versions, questions: "")
    lists.question_link(cast(View, view))
    assert asked == [run.name for run in runs[-MOST_RUNS:]], "an older one is not diagnosed for it"
