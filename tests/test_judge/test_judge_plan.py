"""The plan of a judging job: what it takes, which samples it chooses, and what the prices are."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import run as command
from judge_server import JudgeServer
from judged_runs import ALONG, made, records

from ragtriage.data.api import add_run
from ragtriage.data.chunking.chunkers import count_tokens
from ragtriage.data.errors import DataError
from ragtriage.data.judge.evaluation import EvaluationTask, ReferenceWay
from ragtriage.data.judge.job_spec import JobSpec
from ragtriage.data.judge.plan import JudgePlan, choose_rows, plan_task
from ragtriage.data.judge.requests import ClientSettings, TaskSample, Usage, read_prices
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Workspace


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")
    monkeypatch.delenv("RAGTRIAGE_JUDGE_MODEL", raising=False)


def test_a_drawn_sample_has_of_each_type_its_share(tmp_path: Path) -> None:
    samples = records(100)
    for at, one in enumerate(samples):
        one["query_type"] = "rare" if at < 10 else "common"
    run = add_run(samples, "r", "p", str(tmp_path))
    scored = RunStore(Workspace(tmp_path)).scored(run)
    rows = choose_rows(scored, sample=30)
    assert len(set(rows)) == 30
    assert rows == sorted(rows)
    assert Counter(row < 10 for row in rows) == {True: 3, False: 27}
    assert choose_rows(scored, sample=30) == rows
    assert choose_rows(scored, sample=30, seed=1) != rows
    assert choose_rows(scored, limit=4) == [0, 1, 2, 3]
    assert choose_rows(scored, sample=1000) == list(range(100))
    with pytest.raises(DataError, match="both given"):
        choose_rows(scored, 3, 3)


def test_prices_by_length_of_the_request_and_by_batch() -> None:
    prices = read_prices()
    haiku, opus = prices.model("claude-haiku-5-5"), prices.model("claude-opus-5-5")
    short = Usage(input_tokens=50_000, output_tokens=1_000)
    long = Usage(input_tokens=150_000, output_tokens=1_000)
    assert haiku.cost(short) == pytest.approx((50_000 * 0.1 + 1_000 * 0.5) / 1e6)
    assert haiku.cost(long) == pytest.approx((150_000 * 0.5 + 1_000 * 2.5) / 1e6)
    assert opus.cost(long) == pytest.approx((150_000 * 4 + 1_000 * 20) / 1e6)
    assert opus.cost(long, batch=True) == pytest.approx((150_000 * 4 + 1_000 * 20) / 2e6)
    cached = Usage(0, 0, cache_write_tokens=1_000, cache_read_tokens=9_000)
    assert opus.cost(cached) == pytest.approx((1_000 * 5 + 9_000 * 0.2) / 1e6)


def test_an_unknown_model_has_no_price_and_no_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run = made(tmp_path, 2)
    plan = command(
        capsys, tmp_path, "judge", run.run_id, *ALONG, "--model", "my-model", "--dry-run", "--json"
    ).json
    assert (plan["model"], plan["cost_usd"], plan["calls"]) == ("my-model", None, 2)
    said = command(capsys, tmp_path, "judge", run.run_id, "--model", "my-model", "--budget", "1", "--yes")
    assert said.code == 2
    assert "the price of 'my-model' is not known" in said.err


def test_a_workspace_may_have_its_own_prices(tmp_path: Path) -> None:
    band = {"input": 1, "output": 2, "cache_write": 0, "cache_read": 0}
    model = {"window": 1000, "most_output": 500, "effort": False, "bands": [band]}
    own = {"date": "2030-01-01", "source": "us", "default": "m", "batch_factor": 1, "models": {"m": model}}
    path = tmp_path / "model_prices.json"
    path.write_text(json.dumps(own), "utf-8")
    prices = read_prices(tmp_path)
    assert (prices.date, prices.model().name, prices.model().window) == ("2030-01-01", "m", 1000)
    path.write_text('{"date": 3}', "utf-8")
    with pytest.raises(DataError, match="cannot be read as a price table"):
        read_prices(tmp_path)
    for change, field in (
        ({"batch_factor": -1}, "batch_factor"),
        ({"default": "other"}, "default 'other'"),
        ({"models": {"m": {**model, "window": 0}}}, "models.m.window"),
        ({"models": {"m": {**model, "bands": [{**band, "input": float("nan")}]}}}, r"models.m.bands.0.input"),
    ):
        path.write_text(json.dumps(own | change), "utf-8")
        with pytest.raises(DataError, match=field):
            read_prices(tmp_path)


def test_the_model_comes_from_the_environment_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTRIAGE_JUDGE_MODEL", "claude-sonnet-5-5")
    assert read_prices().model().name == "claude-sonnet-5-5"
    assert read_prices().model("claude-opus-5-5").name == "claude-opus-5-5"


def test_the_service_counts_the_tokens_of_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, run = made(tmp_path, 12)
    words = ("judge", run.run_id, *ALONG, "--dry-run", "--json")
    alone = command(capsys, tmp_path, *words).json
    with JudgeServer() as server:
        counted = command(capsys, tmp_path, *words, "--count", "--base-url", server.url).json
        paths = [one.path for one in server.asked]
    assert paths == ["/v1/messages/count_tokens"] * 2 * 5  # for each way of showing the reference
    assert "counted by the service on 5 requests" in counted["method"]
    assert counted["input_tokens"] != alone["input_tokens"]
    assert counted["calls"] == alone["calls"] == 12


def test_samples_that_are_alike_are_asked_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = [{**records(1)[0], "question_id": f"q{at}"} for at in range(5)]
    run = add_run(same, "same", "p", str(tmp_path))
    plan = command(capsys, tmp_path, "judge", run.run_id, *ALONG, "--dry-run", "--json").json
    assert (plan["samples"], plan["cached"], plan["alike"], plan["calls"]) == (5, 0, 4, 1)
    told = command(capsys, tmp_path, "judge", run.run_id, "--dry-run").out
    assert "samples  5, 0 of them done already, 4 identical and asked once" in told
    with JudgeServer() as server:
        done = command(
            capsys, tmp_path, "judge", run.run_id, "--yes", "--json", *ALONG, "--base-url", server.url
        ).json
    assert (len(server.asked), done["progress"]["scored"]) == (1, 5)
    plan = command(capsys, tmp_path, "judge", run.run_id, *ALONG, "--dry-run", "--json").json
    assert (plan["cached"], plan["alike"], plan["calls"], plan["cost_usd"]) == (5, 0, 0, 0.0)


def test_samples_that_are_alike_are_told_apart_from_judged_ones_over_the_whole_run(tmp_path: Path) -> None:
    same = [{**records(1)[0], "question_id": f"same{at}"} for at in range(600)]
    plan = planned(tmp_path, [*same, *records(3)[1:]])
    assert (plan.samples, plan.cached, plan.alike, plan.calls) == (602, 0, 599, 3)


def test_a_plan_is_the_same_each_time(tmp_path: Path) -> None:
    samples = records(400)
    for at, one in enumerate(samples):
        one["answer"] = "Turtles live long. " * (1 + at % 7)
    assert planned(tmp_path / "a", samples) == replace(
        planned(tmp_path / "b", samples), run_id=planned(tmp_path / "a", samples).run_id
    )


def planned(
    folder: Path,
    samples: list[dict[str, Any]],
    model: str | None = None,
    reference: ReferenceWay = "along",
) -> JudgePlan:
    run = add_run(samples, "r", "p", str(folder))
    workspace, prices = Workspace(folder), read_prices()
    settings = ClientSettings(prices.model(model))
    work = EvaluationTask.of(settings.model.window, reference=reference)
    return plan_task(workspace, run, work, settings, JobSpec(range(run.n)), prices)


def test_the_plan_tells_calls_and_tokens_of_both_ways_of_showing_the_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    apart = planned(tmp_path, records(12), reference="apart")
    along = planned(tmp_path, records(12), reference="along")
    assert (apart.calls, apart.follow_ups, along.calls) == (24, 12, 12)
    for plan, other in ((apart, along), (along, apart)):
        assert plan.other_way is not None
        assert (plan.other_way.reference, plan.other_way.calls) == (other.reference, other.calls)
        assert (plan.other_way.input_tokens, plan.other_way.cost_usd) == (other.input_tokens, other.cost_usd)
    assert apart.input_tokens > along.input_tokens
    said = command(capsys, tmp_path, "judge", apart.run_id, "--dry-run").out
    assert f"calls    {apart.calls}, 12 of them follow-up calls" in said
    assert f"or       with the reference in the same request: 12 calls, {along.input_tokens:,} tokens" in said


def test_without_a_reference_there_is_one_way(tmp_path: Path) -> None:
    samples = [{**one, "reference_answer": None} for one in records(3)]
    plan = planned(tmp_path, samples, reference="apart")
    assert (plan.calls, plan.other_way) == (3, None)


def long_and_short() -> list[dict[str, Any]]:
    """Ninety short samples, and ten whose context alone is dear: above the first price band."""
    samples = records(100)
    for at, one in enumerate(samples[:10]):
        one["retrieved"] = [{"id": "long", "text": f"Turtle {at} lives eighty years. " * 15_000}]
    return samples


def test_each_call_is_priced_by_its_own_length(tmp_path: Path) -> None:
    dear = planned(tmp_path / "dear", long_and_short()[:10])
    cheap = planned(tmp_path / "cheap", long_and_short()[10:])
    both = planned(tmp_path / "both", long_and_short())
    assert dear.cost_usd is not None
    assert cheap.cost_usd is not None
    assert dear.input_tokens > 10 * 100_000
    assert dear.cost_usd == pytest.approx((dear.input_tokens * 0.5 + dear.output_tokens * 2.5) / 1e6)
    assert cheap.cost_usd == pytest.approx((cheap.input_tokens * 0.1 + cheap.output_tokens * 0.5) / 1e6)
    assert both.cost_usd == pytest.approx(dear.cost_usd + cheap.cost_usd, rel=0.1)


def test_the_form_of_the_reply_counts_as_input(tmp_path: Path) -> None:
    plan = planned(tmp_path, records(1))
    sample = StoredSamples(Workspace(tmp_path).samples_path(plan.run_id)).read([0])[0]
    request = next(EvaluationTask.of(200_000, reference="along").workflow(TaskSample(0, 0, sample)))
    sent = [request.system, f"{request.user}{json.dumps(request.schema)}"]
    assert count_tokens(json.dumps(request.schema)) > 200
    assert plan.input_tokens == pytest.approx(1.3 * sum(map(count_tokens, sent)), abs=2)
