"""The suite Tools on real sets, imported untouched: tau-bench's gpt-4o runs and cases of BFCL."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from places import REPOSITORY

from ragtriage.dashboard.suites.tool import VIEW
from ragtriage.dashboard.suites.view import tables_of
from ragtriage.data.api import add_run, open_store
from ragtriage.data.cases.cohorts import cohort_rows, cohort_title
from ragtriage.data.errors import DataError
from ragtriage.data.importers.detect import detect
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_source
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.check_table import suite_summaries
from ragtriage.data.suites.tool.findings import TOOL_SUITE, ToolFindings

TAU = REPOSITORY / "data" / "bundled" / "taubench" / "gpt-4o-airline.jsonl.gz"
BFCL = REPOSITORY / "tests" / "fixtures" / "bfcl"
Row = dict[str, Any]


def _imported(store: RunStore, path: Path) -> ScoredRun:
    (entry,) = import_source(store, InputFile.from_path(str(path)), Options(), "p")
    return store.scored(entry.run)


def _detail(scored: ScoredRun) -> ToolFindings:
    detail = TOOL_SUITE.findings(scored)
    assert detail is not None
    return detail


def _rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


@pytest.fixture(scope="module")
def tau(tmp_path_factory: pytest.TempPathFactory) -> ScoredRun:
    return _imported(open_store(str(tmp_path_factory.mktemp("tau")), create=True), TAU)


def _counts(detail: ToolFindings) -> dict[str, tuple[int, int]]:
    return {measure.key: (measure.hits, measure.total) for measure in detail.measures}


def test_taubench_is_recognised_by_its_content() -> None:
    assert detect(InputFile.from_path(str(TAU))) == "tau_bench"
    assert detect(InputFile.from_path(str(BFCL / "multiple.jsonl.gz"))) == "bfcl"


def test_the_published_pass_hat_k_of_taubench(tau: ScoredRun) -> None:
    rates = {(one.check, one.k): one.rate for one in _detail(tau).repeats}
    published = {1: 0.420, 2: 0.273, 3: 0.220, 4: 0.200}
    assert {k: round(rates["reward", k].mean, 3) for k in published} == published
    assert {rates["reward", k].n_scored for k in published} == {50}
    assert all(rates["reward", k].low < published[k] < rates["reward", k].high for k in published)


def test_writes_of_taubench_are_compared_and_reads_are_not(tau: ScoredRun) -> None:
    detail = _detail(tau)
    counts = _counts(detail)
    assert detail.only_writes
    assert counts["recall"] == (137, 224)
    assert counts["precision"] == (137, 250)
    assert counts["arguments"] == (88, 137)
    assert counts["selection"] == (93, 200)
    assert counts["results"] == (1164 - 73, 1164)
    assert counts["filled_results"] == (1164 - 120, 1164)


def test_exact_calls_and_reward_are_two_things(tau: ScoredRun) -> None:
    (agreement,) = _detail(tau).agreements
    assert agreement.both + agreement.calls_only == 77
    assert agreement.both + agreement.outcome_only == 84
    assert agreement.both == 74
    suites = {summary.key: summary.n_passed for summary in suite_summaries(tau)}
    assert suites == {"tool": 77, "task outcome": 84}


def test_four_identifiers_of_taubench_are_invented_and_reformatted_dates_are_not(tau: ScoredRun) -> None:
    detail = _detail(tau)
    assert detail.invented_identifiers == 4
    (table,) = (table for table in tables_of(VIEW, detail) if table.title == "Invented identifiers")
    assert {(row["Value"], row["Argument"], row["Calls"]) for row in table.rows} == {
        ("credit_card_7334", "payment_id", 2),
        ("credit_card_5634230", "payment_id", 2),
    }
    assert [cohort_rows(tau, cohort).sum() for cohort in table.cohorts] == [2, 2]
    found = cohort_rows(tau, "calls:invented").nonzero()[0].tolist()
    samples = tau.samples.read(found, ["question_id", "repeat"])
    assert [(sample["question_id"], sample["repeat"]) for sample in samples] == [
        ("26", 0),
        ("20", 1),
        ("26", 2),
        ("20", 3),
    ]


def test_each_row_of_a_table_opens_its_cases(tau: ScoredRun) -> None:
    for table in tables_of(VIEW, _detail(tau)):
        assert len(table.cohorts) in (0, len(table.rows)), table.title
        for row, cohort in zip(table.rows, table.cohorts, strict=False):
            if "Cases" in row:
                assert cohort_rows(tau, cohort).sum() == row["Cases"], cohort
            assert cohort_title(cohort)


def test_the_numbers_are_json(tau: ScoredRun) -> None:
    numbers = json.loads(json.dumps(_detail(tau).to_dict(), allow_nan=False))
    assert numbers["invented_identifiers"] == 4
    assert numbers["outcomes"][0]["both"] == 74
    assert {measure["measure"] for measure in numbers["measures"]} >= {"selection", "arguments", "results"}


@pytest.mark.parametrize("name", ["simple_python", "multiple", "irrelevance", "live_relevance"])
def test_a_suite_of_bfcl_without_calls_is_not_measured(workspace: RunStore, name: str) -> None:
    scored = _imported(workspace, BFCL / f"{name}.jsonl.gz")
    (summary,) = suite_summaries(scored)
    assert (summary.key, summary.n_decided) == ("tool", 0)
    assert summary.not_measured == (("no actual calls are recorded", summary.n_checks),)
    assert "no calls are recorded" in " ".join(scored.run.notes)


def _answered(tmp_path: Path, name: str, calls: Any) -> Path:
    path = tmp_path / f"{name}.jsonl"
    rows = [row | {"actual_calls": calls(row)} for row in _rows(BFCL / f"{name}.jsonl.gz")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _first_accepted(row: Row) -> list[Row]:
    """Return each expected call with the first accepted value of each argument, left out where that is ""."""
    return [
        {
            "name": name,
            "arguments": {key: _plain(options[0]) for key, options in given.items() if options[0] != ""},
        }
        for call in row["expected_calls"]
        for name, given in call.items()
    ]


def _plain(option: Any) -> Any:
    """Return an accepted value with the first of the accepted values of each of its keys."""
    if isinstance(option, dict):
        return {key: _plain(options[0]) for key, options in option.items() if options[0] != ""}
    return [_plain(one) for one in option] if isinstance(option, list) else option


@pytest.mark.parametrize("name", ["simple_python", "multiple"])
def test_the_first_accepted_values_of_bfcl_score_one(workspace: RunStore, tmp_path: Path, name: str) -> None:
    scored = _imported(workspace, _answered(tmp_path, name, _first_accepted))
    (summary,) = suite_summaries(scored)
    assert (summary.n_decided, summary.n_passed, summary.rate.mean) == (60, 60, 1.0)
    assert _counts(_detail(scored))["arguments"] == (60, 60)


@pytest.mark.parametrize(("name", "passed"), [("irrelevance", 0), ("live_relevance", 16)])
def test_always_calling_fails_irrelevance_and_passes_relevance(
    workspace: RunStore, tmp_path: Path, name: str, passed: int
) -> None:
    path = _answered(tmp_path, name, lambda row: [{row["tools"][0]["name"]: {}}])
    (summary,) = suite_summaries(_imported(workspace, path))
    assert summary.n_passed == passed
    assert summary.n_not_measured == 0


def test_no_call_passes_irrelevance(workspace: RunStore, tmp_path: Path) -> None:
    scored = _imported(workspace, _answered(tmp_path, "irrelevance", lambda _: []))
    assert _counts(_detail(scored))["irrelevance"] == (60, 60)


def test_rows_as_bfcl_publishes_them(workspace: RunStore, tmp_path: Path) -> None:
    schema = {"name": "f", "parameters": {"type": "dict", "properties": {"x": {"type": "integer"}}}}
    base: Row = {"question": [[{"role": "user", "content": "Call f with 3."}]], "function": [schema]}
    rows = [
        base | {"id": "simple_0", "ground_truth": [{"f": {"x": [3]}}], "result": [{"f": '{"x": 3}'}]},
        base | {"id": "irrelevance_0", "result": "I cannot do that."},
    ]
    path = tmp_path / "published.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (summary,) = suite_summaries(_imported(workspace, path))
    assert (summary.n_passed, summary.n_checks) == (2, 2)


CALL: Row = {"name": "book", "arguments": {"room": "A"}}


def _run(store: RunStore, checks: list[Row], **more: Any) -> ScoredRun:
    rows = [
        {"question_id": f"q{at}", "question": "?", "checks": [check], **more}
        for at, check in enumerate(checks)
    ]
    return store.scored(add_run(rows, "run", "p", str(store.workspace.root)))


def test_counts_by_error_and_by_tool(workspace: RunStore) -> None:
    wrong = [{"name": "book", "arguments": {"room": "B", "day": 1}}, {"name": "find"}]
    scored = _run(
        workspace,
        [
            {"name": "c", "kind": "tool", "expected": [CALL], "actual": wrong},
            {"name": "c", "kind": "tool", "expected": [CALL], "actual": []},
            {"name": "c", "kind": "tool", "expected": [CALL], "actual": [CALL]},
        ],
    )
    tables = {table.title: table for table in tables_of(VIEW, _detail(scored))}
    assert [(row["Error"], row["Argument"]) for row in tables["Errors of arguments"].rows] == [
        ("wrong value", "room"),
        ("unexpected", "day"),
    ]
    assert [tuple(row.values()) for row in tables["Missing and needless calls"].rows] == [
        ("book", 1, 0, 1),
        ("find", 0, 1, 1),
    ]
    assert cohort_rows(scored, "calls:missing/book").tolist() == [False, True, False]
    assert cohort_rows(scored, "calls:arguments/unexpected").tolist() == [True, False, False]


def test_hostile_names_and_values_stay_text(workspace: RunStore) -> None:
    hostile = "<img src=x>/%2F\u202e"
    call = {"name": hostile, "arguments": {"<b>id": f"{hostile}12345"}}
    scored = _run(workspace, [{"name": "c", "kind": "tool", "expected": [CALL], "actual": [call]}])
    for table in tables_of(VIEW, _detail(scored)):
        for cohort in table.cohorts:
            assert cohort_rows(scored, cohort).sum() <= 1
            assert cohort_title(cohort)
    (table,) = (
        table for table in tables_of(VIEW, _detail(scored)) if table.title == "Missing and needless calls"
    )
    assert cohort_rows(scored, table.cohorts[1]).sum() == 1


def test_a_malformed_call_is_listed_with_its_sample(workspace: RunStore) -> None:
    scored = _run(
        workspace, [{"name": "c", "kind": "tool", "expected": [CALL], "actual": [CALL, {"args": {}}]}]
    )
    (table,) = (table for table in tables_of(VIEW, _detail(scored)) if table.title == "Not readable")
    assert str(table.rows[0]["What is wrong"]).startswith("Sample q0: actual call 2 has no name")


def test_a_cohort_of_calls_that_is_none_is_refused(workspace: RunStore) -> None:
    scored = _run(workspace, [{"name": "c", "kind": "tool", "expected": [CALL], "actual": [CALL]}])
    with pytest.raises(DataError, match="accepted: one of"):
        cohort_rows(scored, "calls:nothing")
