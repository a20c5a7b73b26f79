"""MultiWOZ's hotels and restaurants: a small system that filters, sorts and answers wrongly in known ways."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import FIXTURES

from ragtriage.dashboard.suites.items import FILTER_VIEW
from ragtriage.data.cases.cohorts import cohort_rows
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_source
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.suites.check_table import suite_summaries
from ragtriage.data.suites.filter import FILTER_SUITE
from ragtriage.data.suites.suite import suite_checks

FOLDER = FIXTURES / "multiwoz_db"
EXPECTED = json.loads((FOLDER / "expected.json").read_text("utf-8"))
QUERIES = [json.loads(line) for line in (FOLDER / "queries.jsonl").read_text("utf-8").splitlines()]
ITEMS = {
    domain: json.loads((FOLDER / f"{domain}s.json").read_text("utf-8")) for domain in ("hotel", "restaurant")
}
CENTRE = [52.2053, 0.1218]
EMPTY = [at for at, query in enumerate(QUERIES) if not query["expected_ids"]]
FILLED = [at for at, query in enumerate(QUERIES) if query["expected_ids"]]
LONG = [at for at, query in enumerate(QUERIES) if len(query["expected_ids"]) >= 2]
FABRICATED = EMPTY[:12]  # the system names a place although nothing is right
DENIED = FILLED[:5]  # it says that there is none
WRONG = FILLED[5:12]  # it adds a place that breaks a constraint
UNKNOWN = FILLED[12:15]  # it adds a place that does not exist


def _answered(at: int) -> list[str]:
    """Return what the system names for a query, by id."""
    ids: list[str] = list(QUERIES[at]["expected_ids"])
    others = [item["id"] for item in ITEMS[QUERIES[at]["domain"]] if item["id"] not in ids]
    if at in FABRICATED:
        return others[:1]
    if at in DENIED:
        return []
    if at in WRONG:
        return [*ids, others[0]]
    return [*ids, "the grand palace of nowhere"] if at in UNKNOWN else ids


def _record(at: int, by_name: bool = False) -> dict[str, Any]:
    query = QUERIES[at]
    items = ITEMS[query["domain"]]
    names = {item["id"]: item["name"] for item in items}
    answered = [names.get(one, one) for one in _answered(at)] if by_name else _answered(at)
    order = {"key": "stars", "descending": True}
    if query["order"] == "distance":
        order = {"key": "location", "origin": CENTRE}
    filters = {
        "name": "places",
        "kind": "filter",
        "expected": {"items": items, "constraints": query["filters"]},
    }
    checks = [{**filters, "actual": answered}]
    if not by_name:
        checks.append(
            {"name": "sorted", "kind": "order", "expected": {**order, "items": items}, "actual": answered}
        )
    return {
        "question_id": query["question_id"],
        "question": query["question"],
        "answer": ", ".join(answered) or "There are no such places.",
        "checks": checks,
    }


def _imported(store: RunStore, folder: Path, records: list[dict[str, Any]]) -> ScoredRun:
    path = folder / "run.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records), "utf-8")
    return store.scored(import_source(store, InputFile.from_path(path), Options(), "p")[0].run)


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> ScoredRun:
    folder = tmp_path_factory.mktemp("multiwoz")
    return _imported(
        RunStore(Workspace(folder / "workspace").create()),
        folder,
        [_record(at) for at in range(len(QUERIES))],
    )


def test_the_satisfying_items_are_those_of_the_source(scored: ScoredRun) -> None:
    details = suite_checks(scored, "filter").details
    assert len(details) == EXPECTED["n"] == 111
    assert sum(not detail["n_expected"] for detail in details) == EXPECTED["empty"] == 47
    assert sum(detail["n_expected"] for detail in details) == EXPECTED["total_expected"] == 172
    assert [detail["n_expected"] for detail in details] == [query["expected_count"] for query in QUERIES]


def test_empty_results_are_told_as_they_were_made(scored: ScoredRun) -> None:
    detail = FILTER_SUITE.findings(scored)
    assert detail is not None
    told = detail.to_dict()
    assert told["empty"] == {"fabricated": 12, "right empty": 35, "false empty": 5, "not empty": 59}
    assert "12 of 47 empty results were answered with an item" in FILTER_VIEW.statement(detail)
    assert "5 of 64 non-empty results were reported as empty" in FILTER_VIEW.statement(detail)
    assert np.flatnonzero(cohort_rows(scored, "part:filter/empty/fabricated")).tolist() == FABRICATED
    assert np.flatnonzero(cohort_rows(scored, "part:filter/empty/false%20empty")).tolist() == DENIED
    assert np.flatnonzero(cohort_rows(scored, "part:filter/invented/")).tolist() == UNKNOWN


def test_precision_and_recall_are_those_counted_by_hand(scored: ScoredRun) -> None:
    detail = FILTER_SUITE.findings(scored)
    assert detail is not None
    told = detail.to_dict()
    precision, recall = [], []
    for at, query in enumerate(QUERIES):
        found, right = set(_answered(at)), set(query["expected_ids"])
        precision += [len(found & right) / len(found)] if found else []
        recall += [len(found & right) / len(right)] if right else []
    assert told["filter_precision"]["rate"] == pytest.approx(np.mean(precision))
    assert told["filter_recall"]["rate"] == pytest.approx(np.mean(recall)) == pytest.approx(59 / 64)
    assert (told["filter_precision"]["n_questions"], told["filter_recall"]["n_questions"]) == (
        len(precision),
        64,
    )


def test_every_wrong_answer_fails_and_no_right_one(scored: ScoredRun) -> None:
    wrong = sorted([*FABRICATED, *DENIED, *WRONG, *UNKNOWN])
    assert np.flatnonzero(cohort_rows(scored, "suite:filter")).tolist() == wrong
    summary = next(each for each in suite_summaries(scored) if each.key == "filter")
    assert dict(summary.reasons) == {
        "names an item although none is right": 12,
        "says that there is none although items are right": 5,
        "an item breaks a constraint": 7,
        "names an item that is not in the list": 3,
    }


def test_the_order_of_the_source_is_right_by_stars_and_by_distance(scored: ScoredRun) -> None:
    """A place added at the end may fall out of order; no list as the source sorts it does."""
    failed = set(np.flatnonzero(cohort_rows(scored, "suite:order")).tolist())
    assert failed <= set(WRONG)
    parts = suite_checks(scored, "order")
    ordered = [at for at in LONG if at not in DENIED]
    assert {int(row) for row, passed in zip(parts.sample, parts.passed, strict=True) if passed >= 0} >= set(
        ordered
    )


def test_reversed_lists_are_out_of_order(workspace: RunStore, tmp_path: Path) -> None:
    records = [_record(at) for at in LONG]
    for record in records:
        record["checks"][1]["actual"] = record["checks"][1]["actual"][::-1]
    scored = _imported(workspace, tmp_path, records)
    parts = suite_checks(scored, "order")
    distances = [at for at, query in enumerate(QUERIES[at] for at in LONG) if query["order"] == "distance"]
    clean = [at for at in distances if LONG[at] not in (*DENIED, *WRONG, *UNKNOWN)]
    assert len(clean) > 5
    for at in clean:
        kilometres = QUERIES[LONG[at]]["distances_km"]
        pairs = len(kilometres) * (len(kilometres) - 1) // 2
        ties = sum(one == other for one, other in combinations(kilometres, 2))
        assert parts.passed[at] == (1 if ties == pairs else 0)
        assert ties == pairs or parts.details[at]["tau"] == pytest.approx(-(((pairs - ties) / pairs) ** 0.5))


def test_places_are_matched_by_name_as_by_id(workspace: RunStore, tmp_path: Path, scored: ScoredRun) -> None:
    named = _imported(workspace, tmp_path, [_record(at, by_name=True) for at in range(len(QUERIES))])
    by_id = suite_checks(scored, "filter")
    by_name = suite_checks(named, "filter")
    assert by_name.passed.tolist() == by_id.passed.tolist()


def test_names_are_read_from_the_answer_where_nothing_is_recorded(
    workspace: RunStore, tmp_path: Path
) -> None:
    records = [_record(at, by_name=True) for at in range(len(QUERIES))]
    for record in records:
        del record["checks"][0]["actual"]
    read = suite_checks(_imported(workspace, tmp_path, records), "filter")
    empty = [str(detail["empty"]) for detail in read.details]
    assert [at for at, found in enumerate(empty) if found == "fabricated"] == FABRICATED
    assert [at for at, found in enumerate(empty) if found == "false empty"] == DENIED
