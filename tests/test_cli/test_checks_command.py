"""`ragtriage checks`: suites, failing checks by page, JSON, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import run

from ragtriage.data.api import add_run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A run of ten questions, three of them wrongly routed, one without an actual route."""
    folder = tmp_path / "workspace"
    routes = ["offline"] * 6 + ["online"] * 3 + [None]
    records = [
        {
            "question_id": f"q{at}",
            "question": "Is it open?",
            "checks": [{"name": "route", "kind": "router", "expected": "offline", "actual": route}],
        }
        for at, route in enumerate(routes)
    ]
    add_run(records, "shop", "p", str(folder))
    add_run([{"question": "?"}], "bare", "p", str(folder))
    return folder


def test_the_suites_of_a_run(root: Path, capsys: Capture) -> None:
    answer = run(capsys, root, "checks", "shop")
    assert answer.code == 0
    assert answer.out.startswith("shop: 3 of 10 questions took the wrong route, 1 undecided.")
    assert "6 of 9" in answer.out
    assert "no actual value is recorded" in answer.out


def test_failing_checks_by_page(root: Path, capsys: Capture) -> None:
    answer = run(capsys, root, "checks", "shop", "--failing", "--limit", "2", "--page", "2", "--json")
    listed = answer.json["failing"]
    assert (listed["total"], listed["page"], listed["pages"]) == (3, 2, 2)
    assert [check["question_id"] for check in listed["checks"]] == ["q8"]
    assert listed["checks"][0]["actual"] == '"online"'


def test_json_has_counts_and_an_interval(root: Path, capsys: Capture) -> None:
    (suite,) = run(capsys, root, "checks", "shop", "--suite", "router", "--json").json["suites"]
    assert (suite["n_checks"], suite["n_decided"], suite["n_passed"]) == (10, 9, 6)
    assert suite["n_not_measured"] == 1
    assert suite["rate"] == pytest.approx(6 / 9)
    assert suite["low"] < suite["rate"] < suite["high"]


def test_weights_of_wrong_routes(root: Path, capsys: Capture) -> None:
    costs = run(capsys, root, "checks", "shop", "--json", "--route-cost", "added=6").json["route_costs"][
        "route"
    ]
    assert costs["router"] == pytest.approx(3 * 6 / 9)  # three of nine went past “offline”
    assert (costs["constant"], costs["always"]) == ("offline", 0.0)
    for wrong in ("added", "added=-1", "added=nan", "other=1"):
        answer = run(capsys, root, "checks", "shop", "--route-cost", wrong)
        assert answer.code == 2
        assert "accepted: KIND=WEIGHT" in answer.err


def test_a_suite_that_is_not_there_is_refused_with_those_that_are(root: Path, capsys: Capture) -> None:
    answer = run(capsys, root, "checks", "shop", "--suite", "safety")
    assert answer.code == 2
    assert answer.err.strip().endswith("accepted: router")


def test_a_run_without_checks_says_so(root: Path, capsys: Capture) -> None:
    answer = run(capsys, root, "checks", "bare")
    assert answer.code == 0
    assert answer.out.startswith("bare records no checks.")
    assert run(capsys, root, "checks", "bare", "--json").json["suites"] == []
