"""A car assistant whose checks are read as a careful person reads them: the leaks first, then the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import run as run_command
from places import FIXTURES

from ragtriage.data.api import add_file, add_run, open_store
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.suites.check_table import suite_summaries

CAR = FIXTURES / "situations" / "s_car_checks.jsonl.gz"
LEAKS = "Critical: 10 of 60 cases leak data of another account, 5 of them in the answer"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def car(workspace: RunStore) -> Path:
    add_file(str(CAR), workspace=str(workspace.workspace.root))
    return workspace.workspace.root


def test_an_import_says_that_a_run_leaks(workspace: RunStore, capsys: Capture) -> None:
    assert LEAKS in run_command(capsys, workspace.workspace.root, "import", str(CAR)).out


def test_a_leak_comes_first(car: Path, capsys: Capture) -> None:
    gate = run_command(capsys, car, "gate", "s_car_checks").out
    assert gate.startswith(f"s_car_checks: do not ship. {LEAKS}. 1 blocking gate fails")
    diagnosed = run_command(capsys, car, "diagnose", "s_car_checks").out
    assert diagnosed.startswith(f"{LEAKS}.")
    assert "Fix first: Isolation check failed" in diagnosed


def test_the_plan_never_ticks_what_fails(car: Path, capsys: Capture) -> None:
    plan = run_command(capsys, car, "advise", "--for", "regulated", "--json").json["steps"]
    assert (plan[0]["key"], plan[0]["done"]) == ("isolation", False)
    assert plan[0]["what"] == "Stop the leaks between accounts"
    assert plan[0]["why"].startswith("10 cases fail a check of isolation")
    assert [step["key"] for step in plan].count("isolation") == 1


def test_the_other_suites_follow(car: Path, capsys: Capture) -> None:
    checks = run_command(capsys, car, "checks", "s_car_checks").out
    assert checks.startswith("s_car_checks: 10 of 60 cases show another account’s data.")
    for told in (
        "8 of 15 empty results were answered with an item.",
        "Exactly the expected tools were called in 65 of 80 checks",
        "78 % of 120 questions take the right route",
    ):
        assert told in checks


def test_undecided_checks_are_counted_apart_with_the_bounds_of_the_rate(car: Path, capsys: Capture) -> None:
    store = open_store(str(car))
    (format_checks,) = [
        summary
        for summary in suite_summaries(store.scored(store.find("s_car_checks")))
        if summary.key == "format"
    ]
    assert (format_checks.n_passed, format_checks.n_decided, format_checks.n_not_measured) == (0, 15, 25)
    assert format_checks.bounds == (0.0, 25 / 40)
    out = run_command(capsys, car, "checks", "s_car_checks", "--suite", "format").out
    assert out.startswith("s_car_checks: 15 of 40 answers have the wrong format, 25 undecided.")
    assert "between 0 % and 62 % with the 25 undecided" in out


def test_a_check_names_its_suite(workspace: RunStore) -> None:
    check = {"name": "dose", "kind": "injection_pump_type", "expected": "a", "actual": "a"}
    records = [{"question": "?", "checks": [check, {**check, "name": "named", "suite": "Router"}]}]
    scored = workspace.scored(add_run(records, "run", "p", str(workspace.workspace.root)))
    assert {summary.key for summary in suite_summaries(scored)} == {"injection pump type", "router"}
