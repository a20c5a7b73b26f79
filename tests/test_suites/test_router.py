"""Two real routers through the product, against values computed elsewhere; hostile routes; costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import BUNDLED, FIXTURES

from ragtriage.dashboard.suites.router import VIEW
from ragtriage.dashboard.suites.view import tables_of
from ragtriage.data.api import add_file, add_run
from ragtriage.data.cases.cohorts import cohort_rows, cohort_title
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.router import ROUTER_SUITE, RouterFindings, RouterScores, route_cohort

SUITES = FIXTURES / "suites"


def _detail(scored: ScoredRun) -> RouterFindings:
    detail = ROUTER_SUITE.findings(scored)
    assert detail is not None
    return detail


def _imported(store: RunStore, path: Path) -> ScoredRun:
    (run,) = add_file(str(path), workspace=str(store.workspace.root))
    return store.scored(run)


def _expected(name: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((SUITES / name / "expected.json").read_text(encoding="utf-8"))
    return values


@pytest.fixture
def clinc(workspace: RunStore) -> ScoredRun:
    """The bundled rows of CLINC150 with a plain router's routes."""
    return _imported(workspace, BUNDLED / "clinc_router" / "tfidf_router.jsonl.gz")


def _named(detail: RouterFindings, name: str) -> RouterScores:
    return next(one for one in detail.scores if one.decisions.name == name)


def test_clinc_has_the_values_computed_elsewhere(clinc: ScoredRun) -> None:
    expected, detail = _expected("clinc_router"), _detail(clinc)
    main = detail.main
    assert main.decisions.name == "route"
    assert main.accuracy.mean == pytest.approx(expected["accuracy_all"], abs=1e-12)
    assert [main.accuracy.low, main.accuracy.high] == pytest.approx(expected["wilson95"], abs=1e-9)
    assert main.in_scope is not None
    assert main.out_of_scope is not None
    assert main.in_scope.mean == pytest.approx(expected["accuracy_in_scope"], abs=1e-12)
    assert main.out_of_scope.mean == pytest.approx(expected["oos_recall"], abs=1e-12)
    assert main.macro_f1[0] == pytest.approx(expected["macro_f1"], abs=1e-12)
    for code, route in enumerate(main.decisions.routes):
        published = expected["per_route"][route]
        assert main.scores.precision[code] == pytest.approx(published["precision"], abs=1e-12)
        assert main.scores.recall[code] == pytest.approx(published["recall"], abs=1e-12)
        assert main.scores.f1[code] == pytest.approx(published["f1"], abs=1e-12)
        assert main.scores.support[code] == published["support"]
    intents = _named(detail, "intent").in_scope
    assert intents is not None
    assert intents.mean == pytest.approx(expected["intent_accuracy_in_scope"], abs=1e-12)


def test_every_cell_of_clinc_opens_its_cases(clinc: ScoredRun) -> None:
    for route, row in _expected("clinc_router")["confusion"].items():
        for taken, n in row.items():
            assert int(cohort_rows(clinc, route_cohort(route, taken)).sum()) == n
    wrong = int(cohort_rows(clinc, "route:oos>").sum())
    assert wrong == 150 - 82


def test_mtbench_has_the_values_computed_elsewhere(workspace: RunStore) -> None:
    expected = _expected("routellm_mtbench")
    detail = _detail(_imported(workspace, SUITES / "routellm_mtbench" / "rows.jsonl"))
    main = detail.main
    routes = main.decisions.routes
    assert main.accuracy.mean == expected["router_accuracy"]
    assert dict(zip(routes, main.scores.constant.tolist(), strict=True)) == {
        "strong": expected["always_strong_accuracy"],
        "weak": expected["always_weak_accuracy"],
    }
    assert main.best_constant == ("weak", 0.66875)
    confusion = {
        f"{one}->{other}": int(main.decisions.confusion[row, column])
        for row, one in enumerate(routes)
        for column, other in enumerate(routes)
    }
    assert confusion == expected["confusion"]
    assert (main.wrong.refused, main.wrong.added, main.wrong.mixed_up) == (24, 51, 0)
    assert "fewer than the 67 % of always “weak”" in VIEW.statement(detail)


def test_mtbench_s_oracle_and_gap_recovered(workspace: RunStore) -> None:
    expected = _expected("routellm_mtbench")
    quality = _detail(_imported(workspace, SUITES / "routellm_mtbench" / "rows.jsonl")).quality
    assert quality is not None
    assert (quality.weak, quality.strong) == ("weak", "strong")
    assert quality.oracle == expected["oracle_share_strong"]
    assert quality.agrees == expected["router_accuracy"]
    assert quality.means["weak"].mean == pytest.approx(expected["weak"]["mean"])
    assert quality.means["strong"].mean == pytest.approx(expected["strong"]["mean"])
    recovered = quality.recovered["unify_score"]
    assert recovered == pytest.approx(expected["performance_gap_recovered_unify"], abs=1e-12)
    assert quality.recovered["martian_score"] < 0


def _routed(store: RunStore, routes: list[tuple[Any, Any]], **columns: list[float]) -> ScoredRun:
    records = []
    for at, (expected, actual) in enumerate(routes):
        check = {"name": "route", "kind": "router", "expected": expected, "actual": actual}
        figures = {name: values[at] for name, values in columns.items()}
        records.append(
            {"question_id": f"q{at}", "question": "?", "answer": "x", "checks": [check], **figures}
        )
    return store.scored(add_run(records, "run", "p", str(store.workspace.root)))


def test_offline_is_a_refusal_and_online_adds_latency_and_cost(workspace: RunStore) -> None:
    routes = (
        [("offline", "offline")] * 2
        + [("offline", "online")] * 2
        + [("online", "offline"), ("online", "online")]
    )
    scored = _routed(
        workspace,
        [*routes],
        latency_ms=[100, 120, 900, 1000, 110, 1100],
        cost_usd=[0, 0, 0.02, 0.02, 0, 0.02],
    )
    detail = _detail(scored)
    assert (detail.main.wrong.refused, detail.main.wrong.added) == (1, 2)
    assert detail.added["online"]["latency_ms"].mean == pytest.approx(1000 - 110)
    assert detail.added["online"]["cost_usd"].mean == pytest.approx(0.02)
    assert (detail.added["online"]["latency_ms"].n_costly, detail.added["online"]["latency_ms"].n_cheap) == (
        3,
        3,
    )
    (table,) = [one for one in tables_of(VIEW, detail) if one.title == "What wrong routes cost"]
    assert "1,780 ms in all" in str(table.rows[1]["What it means"])


def test_a_wrong_route_costs_what_the_route_taken_costs(workspace: RunStore) -> None:
    routes = [("none", "none")] * 2 + [("none", "offline")] * 2 + [("online", "online")] * 2
    scored = _routed(workspace, [*routes], latency_ms=[10, 10, 40, 60, 900, 900])
    detail = _detail(scored)
    assert list(detail.added) == ["offline"], "no question that is out of scope went online"
    assert detail.added["offline"]["latency_ms"].mean == pytest.approx(50 - 10)
    (table,) = [one for one in tables_of(VIEW, detail) if one.title == "What wrong routes cost"]
    assert table.rows[1]["Wrong route"] == "to “offline” instead of “none”"
    assert "80 ms in all" in str(table.rows[1]["What it means"])


def test_weights_change_the_cost_and_the_best_constant(workspace: RunStore) -> None:
    scored = _routed(workspace, [("offline", "online")] * 2 + [("online", "offline"), ("online", "online")])
    main = _detail(scored).main
    assert main.cost() == 3 / 4
    assert main.cost(refused=10, added=1) == (1 * 10 + 2 * 1) / 4
    offline, online = (main.decisions.routes.index(name) for name in ("offline", "online"))
    assert main.constant_cost(offline, refused=10) == 2 * 10 / 4
    assert main.constant_cost(online, refused=10) == 2 / 4


def test_routes_of_any_json_and_hostile_names(workspace: RunStore) -> None:
    hostile = "a>b/c: <script>%3E"
    scored = _routed(workspace, [(hostile, "ok"), (1, 2), (True, False), (["x"], ["x"])])
    detail = _detail(scored)
    assert np.flatnonzero(cohort_rows(scored, route_cohort(hostile, "ok"))).tolist() == [0]
    assert np.flatnonzero(cohort_rows(scored, route_cohort("1", "2"))).tolist() == [1]
    assert hostile in cohort_title(route_cohort(hostile, "ok"))
    json.dumps(detail.to_dict(), allow_nan=False)
    with pytest.raises(DataError, match="EXPECTED>TAKEN"):
        cohort_rows(scored, "route:nothing")


def test_a_route_too_long_for_an_address_opens_the_suite(workspace: RunStore) -> None:
    scored = _routed(workspace, [("é" * 300, "ok"), ("ok", "ok")])
    detail = _detail(scored)
    (table,) = [one for one in tables_of(VIEW, detail) if one.title == "Wrong routes"]
    assert table.cohorts == ("suite:router",)
    assert cohort_rows(scored, table.cohorts[0]).tolist() == [True, False]


def test_nothing_decided_has_no_detail(workspace: RunStore) -> None:
    assert ROUTER_SUITE.findings(_routed(workspace, [("a", None)])) is None
