"""What a judge said becomes scores, evidence and cases; people's word stands; versions say who judged."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from judge_server import JudgeServer, Script, plain_reply
from judged_runs import judged, made, records

from ragtriage.dashboard.present.case_html.report_case import case_html
from ragtriage.data.api import add_run
from ragtriage.data.cases.cases import read_case
from ragtriage.data.cases.export import native_record
from ragtriage.data.comparison.compare import compare
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.judge.bias import judge_variance
from ragtriage.data.judge.evaluation import EvaluationTask
from ragtriage.data.judge.job_spec import JobSpec
from ragtriage.data.judge.requests import ClientSettings, read_prices
from ragtriage.data.judge.run_job import run_task
from ragtriage.data.scoring.context_use import context_use_of
from ragtriage.data.scoring.judged_scores import averaged, judged_rounds
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.judge_results import current_results, judge_of, judge_results_of
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.schema.scores import Scores, Source, Status


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")


def test_a_judged_case_carries_the_judges_labels(tmp_path: Path) -> None:
    store, run = made(tmp_path, 3)
    before = read_case(store.scored(run), 1)
    assert before["claims"] is None
    with JudgeServer() as server:
        judged(store, run, server, rows=range(2))
    case = read_case(store.scored(run), 1)
    assert [one["text"] for one in case["claims"]] == [
        "Turtle number 1 lives eighty years.",
        "Turtle number 1 eats concrete.",
    ]
    assert [one["supported_by"] for one in case["claims"]] == [[1], []]
    assert (case["used_source"], [one["rank"] for one in case["used"]]) == ("judge", [1])
    assert case["judged"]["addresses"] == "fully"
    assert read_case(store.scored(run), 2)["claims"] is None


def test_use_by_the_judge_stands_before_the_estimate(tmp_path: Path) -> None:
    store, run = made(tmp_path, 3)
    with JudgeServer() as server:
        judged(store, run, server, rows=range(2))
    found = context_use_of(store.scored(run))
    assert found is not None
    assert found.source.tolist() == ["judge", "judge", "lexical"]
    column = store.scored(run).column("ignored_top_ranked")
    assert column is not None
    assert column.source.tolist() == [Source.JUDGED, Source.JUDGED, Source.ESTIMATED]


def test_the_claims_of_a_judge_support_citations(tmp_path: Path) -> None:
    """The judge finds document 1 behind the first sentence and none behind the second."""
    answer = "Turtle number {at} lives eighty years [1]. Turtle number {at} eats concrete [2]."
    samples = [{**one, "answer": answer.format(at=at)} for at, one in enumerate(records(3))]
    run = add_run(samples, "cites", "zoo", str(tmp_path))
    store = RunStore(Workspace(tmp_path))
    with JudgeServer() as server:
        judged(store, run, server, rows=range(2))
    scored = store.scored(run)
    for name in ("citation_precision", "citation_recall", "alce_citation_recall"):
        column = scored.column(name, Source.JUDGED)
        assert column is not None
        assert column.values[:2].tolist() == [0.5, 0.5], name
        assert np.isnan(column.values[2])
    assert scored.sources["citation_format"] == (Source.COMPUTED,)


def test_a_persons_word_on_a_refusal_stays(tmp_path: Path) -> None:
    one = {"question": "q", "answer": "I cannot say.", "retrieved": [{"id": "a", "text": "A fact."}]}
    samples: list[dict[str, Any]] = [
        {**one, "question_id": "people", "refused": False, "refused_source": "human"},
        {**one, "question_id": "nobody"},
    ]
    run = add_run(samples, "r", "p", str(tmp_path))
    store = RunStore(Workspace(tmp_path))
    with JudgeServer() as server:
        judged(store, run, server)
    assert store.scored(run).stage_features["refused"].tolist() == [0.0, 1.0]
    assert store.scored(run).stage_features["refused_source"].tolist() == [Source.HUMAN, Source.JUDGED]


def test_recorded_labels_keep_their_own_column_beside_the_judges(tmp_path: Path) -> None:
    samples = [
        {
            "question": "q",
            "answer": "Turtles live long.",
            "retrieved": [{"id": "a", "text": "Turtles live long."}],
            "claims": [{"text": "c", "supported_by": []}],
        }
    ]
    run = add_run(samples, "r", "p", str(tmp_path))
    store = RunStore(Workspace(tmp_path))
    with JudgeServer() as server:
        judged(store, run, server)
    scored = store.scored(run)
    assert scored.sources["faithfulness"] == (Source.JUDGED, Source.COMPUTED)
    values = {source: scored.column("faithfulness", source) for source in scored.sources["faithfulness"]}
    assert {source: one.values.tolist() for source, one in values.items() if one} == {
        Source.JUDGED: [1.0],
        Source.COMPUTED: [0.0],
    }
    assert scored.values("faithfulness").tolist() == [1.0]


def test_a_self_contradiction_becomes_a_stage(tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> object:
        made_up = plain_reply(body)
        assert isinstance(made_up, dict)
        return {**made_up, "contradicts_itself": True, "addresses": "no"}

    store, run = made(tmp_path, 2)
    with JudgeServer(Script(reply=reply)) as server:
        judged(store, run, server)
    found = diagnose(store.scored(run), DiagnosisSettings())
    assert found.stage_counts()["self_contradiction"] == 2


def test_versions_read_by_different_judges_are_compared_with_a_warning(tmp_path: Path) -> None:
    store, run = made(tmp_path, 12)
    other = add_run(
        [{**one, "answer": "Turtles live long."} for one in records(12)], "later", "zoo", str(tmp_path)
    )
    with JudgeServer() as server:
        judged(store, run, server)
        judged(store, other, server)
        same = _warnings(store, run, other)
        settings = ClientSettings(read_prices().model("claude-opus-5-5"), server.url)
        work = EvaluationTask.of(100_000)
        run_task(store.workspace, other, work, settings, JobSpec(range(12)))
    assert not any("judge" in one for one in same)
    assert any("judge" in one for one in _warnings(store, run, other))


def _warnings(store: RunStore, base: Any, other: Any) -> tuple[str, ...]:
    sides = [diagnose(store.scored(one), DiagnosisSettings()) for one in (base, other)]
    return compare(sides[0], sides[1], ["faithfulness"]).warnings


def test_an_earlier_judge_that_judges_again_stands_again(tmp_path: Path) -> None:
    store, run = made(tmp_path, 3)
    first, second = "claude-haiku-5-5", "claude-sonnet-5-5"
    with JudgeServer() as server:
        for model in (first, second, first):
            settings = ClientSettings(read_prices().model(model), server.url)
            work = EvaluationTask.of(100_000)
            result = run_task(store.workspace, run, work, settings, JobSpec(range(3)))
            assert result.judge_result is not None
            assert current_results(store.ledger)[run.run_id]["reading"] == result.judge_result.digest
    listed = judge_results_of(store.ledger, run.run_id)
    assert [one.model for one in listed] == [first, second, first]
    assert listed[0].digest == listed[2].digest
    path = store.scored(run).judge_result_path("reading")
    assert path is not None
    assert judge_of(path).startswith(first)


def test_the_same_word_of_the_same_judge_is_written_once(tmp_path: Path) -> None:
    store, run = made(tmp_path, 3)
    with JudgeServer() as server:
        judged(store, run, server)
        judged(store, run, server)
    assert len(judge_results_of(store.ledger, run.run_id)) == 1


def test_the_judge_against_itself(tmp_path: Path) -> None:
    seen: dict[str, int] = {}

    def reply(body: dict[str, Any]) -> object:
        content = body["messages"][0]["content"]
        seen[content] = seen.get(content, 0) + 1
        made_up = plain_reply(body)
        assert isinstance(made_up, dict)
        return {**made_up, "agrees": "correct" if seen[content] == 1 else "partly"}

    store, run = made(tmp_path, 4)
    with JudgeServer(Script(reply=reply)) as server:
        judged(store, run, server, repeats=2, concurrency=1)
    path = store.scored(run).judge_result_path("reading")
    assert path is not None
    by_metric = {one.metric: one for one in judge_variance(path)}
    agrees = by_metric["correctness"]
    assert (agrees.samples, agrees.evaluations, agrees.same_share) == (4, 2.0, 0.0)
    assert agrees.deviation == pytest.approx((0.5**2 / 2) ** 0.5)
    assert agrees.n == 4
    assert agrees.noise == pytest.approx(1.959964 * agrees.deviation * (2 / (4 * 2)) ** 0.5, rel=1e-6)
    assert by_metric["faithfulness"].noise == 0.0
    summary = store.summary(run)["correctness"]
    assert (summary.mean, summary.n_scored) == (0.75, 4), "both evaluations count, 1 and 0.5"
    assert (by_metric["faithfulness"].deviation, by_metric["faithfulness"].same_share) == (0.0, 1.0)
    assert [one.metric for one in judge_variance(path)] == [
        "faithfulness",
        "answer_relevancy",
        "correctness",
        "context_recall",
        "refused",
    ]


def test_repeated_evaluations_are_averaged_over_those_that_gave_a_value(tmp_path: Path) -> None:
    path = tmp_path / "result.parquet"
    outcomes = [
        (0, 0, "scored", '"a"'), (0, 1, "scored", '"b"'), (0, 2, "invalid", None),
        (1, 0, "invalid", None), (1, 1, "scored", '"c"'),
        (2, 0, "refused", None), (2, 1, "invalid", None),
    ]  # fmt: skip
    columns = ("row", "attempt", "status", "reason", "payload")
    rows = [dict(zip(columns, (row, at, word, "", text), strict=True)) for row, at, word, text in outcomes]
    pq.write_table(pa.Table.from_pylist(rows), path)
    rounds = judged_rounds(path, np.arange(4))
    assert [each.payloads for each in rounds] == [{0: '"a"', 1: '"c"'}, {0: '"b"'}]
    assert rounds[0].words.tolist() == ["scored", "scored", "refused", "not run"]

    def scores(values: list[float]) -> Scores:
        found = np.array(values)
        status = np.where(np.isfinite(found), Status.SCORED, Status.FAILED).astype(np.int8)
        reason = np.where(np.isfinite(found), "", "judge: failed").astype(object)
        return Scores(found, status, reason, np.full(3, Source.JUDGED, dtype=np.int8))

    key = ("correctness", Source.JUDGED)
    nan = float("nan")
    mean = averaged([{key: scores([1.0, 0.5, nan])}, {key: scores([0.5, nan, nan])}])[key]
    np.testing.assert_array_equal(mean.values, [0.75, 0.5, nan])
    assert mean.status.tolist() == [Status.SCORED, Status.SCORED, Status.FAILED]
    assert mean.reason.tolist() == ["", "", "judge: failed"]


def test_a_judgement_whose_file_is_lost_comes_back_from_the_ledger(tmp_path: Path) -> None:
    store, run = made(tmp_path, 3)
    with JudgeServer() as server:
        judged(store, run, server)
        asked = len(server.asked)
        assert store.summary(run)["faithfulness"].mean == 0.5
        shutil.rmtree(tmp_path / "judgements")
        shutil.rmtree(tmp_path / "scores")
        restored = RunStore(Workspace(tmp_path))
        assert "faithfulness" not in restored.summary(run)
        judged(restored, run, server)
        assert len(server.asked) == asked
    assert restored.summary(run)["faithfulness"].mean == 0.5
    assert restored.scored(run).values("faithfulness").tolist() == [0.5] * 3


def test_a_judged_case_is_a_valid_record_of_a_report(tmp_path: Path) -> None:
    store, run = made(tmp_path, 1)
    with JudgeServer() as server:
        judged(store, run, server)
    case = read_case(store.scored(run), 0)
    assert case["judged"]["claims"][0]["evidence"]
    record = native_record({key: value for key, value in case.items() if key != "judged"})
    page = case_html(record, "case", "open")
    assert "supported" in page
    assert "ValidationError" not in page
