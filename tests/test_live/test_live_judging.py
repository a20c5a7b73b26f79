"""Judging kept calls: within what is left of the day, newest first, no call twice; silence is an alert."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from judge_server import JudgeServer, Script
from live_calls import BEGIN, PROJECT, kept, made, put

from ragtriage.data.jobs import jobs_of
from ragtriage.data.live.alerts.alerting import Watch
from ragtriage.data.live.alerts.judging import judge_due, judge_state
from ragtriage.data.live.alerts.states import JUDGED, alert_states
from ragtriage.data.live.calls import Calls
from ragtriage.data.live.policy import JudgeBudget, Policy
from ragtriage.data.live.production.scores import scores_of
from ragtriage.data.live.windows import publish
from ragtriage.data.scoring.run_store import RunStore

HOUR = 3_600
DAY = 86_400


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragtriage.data.judge.job_spec.BACKOFF_SECONDS", 0.01)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")
    monkeypatch.delenv("RAGTRIAGE_JUDGE_MODEL", raising=False)


@pytest.fixture
def live(tmp_path: Path) -> tuple[RunStore, Calls]:
    """Two hours with six kept calls each, published."""
    store, calls = made(tmp_path)
    put(calls, *(kept(f"{hour}{at}", hour * HOUR + at, n=at) for hour in range(2) for at in range(6)))
    for hour in range(2):
        publish(store, calls, PROJECT, BEGIN + hour * HOUR, BEGIN + (hour + 1) * HOUR)
    return store, calls


def _budget(usd: float, *metrics: str) -> JudgeBudget:
    return JudgeBudget.model_validate({"metrics": metrics or ("faithfulness",), "budget": usd})


def test_all_windows_are_judged_once_within_the_budget(live: tuple[RunStore, Calls]) -> None:
    store, calls = live
    with JudgeServer() as server:
        assert judge_state(calls) is None
        judging = judge_due(store, calls, _budget(2.0), BEGIN, base_url=server.url)
        asked = len(server.asked)
        assert (judging.state, judging.waiting, judging.day) == ("done", 0, "2026-03-01")
        assert asked == 12
        assert 0 < judging.spent_usd < 2.0
        again = judge_due(store, calls, _budget(2.0), BEGIN, base_url=server.url)
        assert (len(server.asked), again.spent_usd) == (asked, judging.spent_usd)
        put(calls, kept("late", 30))
        publish(store, calls, PROJECT, BEGIN, BEGIN + HOUR)
        judge_due(store, calls, _budget(2.0), BEGIN, base_url=server.url)
        assert len(server.asked) == asked + 1  # the others of that window are in the cache
    assert judge_state(calls) is not None
    scored = scores_of(store, calls)("faithfulness", BEGIN, BEGIN + 2 * HOUR)
    assert scored is not None
    assert (len(scored.values), int(np.isfinite(scored.values).sum())) == (13, 13)
    assert scored.time[6] == BEGIN + 30


def test_scores_belong_to_their_calls(tmp_path: Path) -> None:
    """Runs may have their samples in another order than the traces have ids."""
    store, calls = made(tmp_path)
    draw = np.random.default_rng(3)
    times = draw.permutation(40)
    scores = {int(time): float(draw.integers(0, 11)) / 10 for time in times}
    put(
        calls,
        *(kept(f"{at}", int(time), scores={"faithfulness": scores[time]}) for at, time in enumerate(times)),
    )
    publish(store, calls, PROJECT, BEGIN, BEGIN + 20)
    publish(store, calls, PROJECT, BEGIN + 20, BEGIN + 40)
    scored = scores_of(store, calls)("faithfulness", BEGIN + 5, BEGIN + 35)
    assert scored is not None
    assert scored.time.tolist() == [BEGIN + at for at in range(5, 35)]
    assert scored.values.tolist() == [scores[at] for at in range(5, 35)]
    assert scores_of(store, calls)("correctness", BEGIN, BEGIN + 40) is None


def test_a_score_of_one_run_stays_where_another_holds_the_call_without_it(
    live: tuple[RunStore, Calls],
) -> None:
    """A click on a step of Production publishes a window that nobody judged."""
    store, calls = live
    with JudgeServer() as server:
        judge_due(store, calls, _budget(2.0), BEGIN, base_url=server.url)
    put(calls, kept("other", HOUR / 2))
    publish(store, calls, PROJECT, BEGIN, BEGIN + 300)
    for metric in ("faithfulness", JUDGED):
        scored = scores_of(store, calls)(metric, BEGIN, BEGIN + HOUR)
        assert scored is not None
        assert np.isfinite(scored.values).tolist() == [True] * 6 + [False]


def test_a_spent_budget_is_said_and_the_next_day_goes_on(live: tuple[RunStore, Calls]) -> None:
    store, calls = live
    with JudgeServer() as server:
        first = judge_due(store, calls, _budget(0.006), BEGIN, base_url=server.url)
        assert first.state == "spent"
        assert 0 < first.spent_usd <= 0.006
        asked = len(server.asked)
        assert 0 < asked < 12
        second = judge_due(store, calls, _budget(0.006), BEGIN + 60, base_url=server.url)
        assert (second.state, len(server.asked), second.spent_usd) == ("spent", asked, first.spent_usd)
        said = "today's budget is used up ($0.0002 of $0.0060); "
        assert said in second.sentence
        done = judge_due(store, calls, _budget(2.0), BEGIN + DAY, base_url=server.url)
        assert (done.state, done.day, len(server.asked)) == ("done", "2026-03-02", 12)
        assert done.spent_usd < 2.0
    newest, _ = sorted(calls.windows(), key=lambda window: -window.last)
    assert jobs_of(store.ledger)[-1].run_id == newest.run_id


def test_a_window_without_anything_to_judge_keeps_no_other_from_being_judged(
    live: tuple[RunStore, Calls],
) -> None:
    store, calls = live
    put(calls, *(kept(f"e{at}", 2 * HOUR + at, answer=None, retrieved=[]) for at in range(2)))
    publish(store, calls, PROJECT, BEGIN + 2 * HOUR, BEGIN + 3 * HOUR)
    with JudgeServer() as server:
        judging = judge_due(store, calls, _budget(2.0), BEGIN, base_url=server.url)
        assert (judging.state, judging.waiting, len(server.asked)) == ("done", 0, 12)


def test_what_fails_is_said_with_its_reason(live: tuple[RunStore, Calls]) -> None:
    store, calls = live
    with JudgeServer(Script(fault=lambda *_: "refusal")) as server:
        failed = judge_due(store, calls, _budget(2.0), BEGIN, base_url=server.url)
    assert failed.state == "failed"
    assert "no sample has a result" in failed.sentence
    assert len({job.run_id for job in jobs_of(store.ledger)}) == 2
    assert "2 windows wait" in failed.sentence
    unknown = judge_due(store, calls, _budget(2.0, "cleverness"), BEGIN)
    assert "'cleverness' is neither a metric nor an evaluator of shop" in unknown.message
    stopped = judge_due(store, calls, _budget(2.0), BEGIN, lambda: True)
    assert (stopped.state, stopped.waiting) == ("stopped", 2)


def test_a_judge_that_is_silent_is_an_alert(live: tuple[RunStore, Calls]) -> None:
    store, calls = live
    rules = {
        "alerts": [
            {"silent": "judge", "windows": 2},
            {"metric": "faithfulness", "at_least": 0.5, "fewest": 1},
        ]
    }
    policy = Policy.model_validate({**rules, "judge": {"metrics": ["faithfulness"]}})
    scores = scores_of(store, calls)
    early = alert_states(calls, policy, BEGIN + 2 * HOUR + 60, scores)[0]
    assert early.state == "unclear"  # the second hour may still be judged
    silent, faithful = alert_states(calls, policy, BEGIN + 2 * HOUR + 1000, scores)
    assert (silent.state, silent.since, faithful.state) == ("firing", BEGIN, "no_data")
    with JudgeServer() as server:
        judge_due(store, calls, _budget(2.0), BEGIN, base_url=server.url)
    silent, faithful = alert_states(calls, policy, BEGIN + 2 * HOUR + 1000, scores_of(store, calls), BEGIN)
    assert (silent.state, faithful.latest is not None) == ("ok", True)
    put(calls, kept("failed", 40, answer=None, refused=None, error="timed out"))
    publish(store, calls, PROJECT, BEGIN, BEGIN + HOUR)
    with JudgeServer() as server:
        judge_due(store, calls, _budget(2.0), BEGIN, base_url=server.url)
    judged = scores_of(store, calls)(JUDGED, BEGIN, BEGIN + HOUR)
    assert judged is not None
    assert judged.values.tolist() == [1.0] * 6


def test_the_watch_judges_beside_the_rest(live: tuple[RunStore, Calls]) -> None:
    store, calls = live
    said: list[str] = []
    policy = Policy.model_validate({"judge": {"metrics": ["faithfulness"], "budget": 0.00001}})
    with JudgeServer() as server:
        watch = Watch(store, calls, PROJECT, said.append, {}, server.url)
        watch.round(policy, BEGIN)
        watch.wait()
        watch.round(policy, BEGIN + 700)
        watch.stop()
        assert len(server.asked) == 0
    assert len(said) == 1
    assert "2 windows wait until 00:00 UTC" in said[0]
