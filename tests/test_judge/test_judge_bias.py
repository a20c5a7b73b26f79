"""Bias of a judge: documents in another order, the length of answers, and answers of its own model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run as command
from judge_server import JudgeServer, Script, parts_of, plain_reply
from judged_runs import judged

from ragtriage.data.api import add_run
from ragtriage.data.judge.bias import SHUFFLED, judge_bias, self_preference, share_of_rows
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.judge_results import judge_result_path, judge_results_of, read_task_results
from ragtriage.data.store.workspace import Run, Workspace


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")
    monkeypatch.delenv("RAGTRIAGE_JUDGE_MODEL", raising=False)


def five_documents(folder: Path, n: int = 12, **config: str) -> tuple[RunStore, Run]:
    """Questions with five documents each, of which the third has no text."""
    samples = [
        {
            "question_id": f"q{at}",
            "question": f"How long does turtle {at} live?",
            "answer": f"Turtle {at} lives eighty years." + " Turtles eat concrete." * (at % 4),
            "retrieved": [
                {
                    "id": f"{at}-{rank}",
                    "text": None if rank == 3 else f"Turtle {at} lives eighty years, says document {rank}.",
                }
                for rank in range(1, 6)
            ],
            "human": [{"annotator": "Ann", "metric": "faithfulness", "value": 1 - (at % 4) / 4}],
        }
        for at in range(n)
    ]
    run = add_run(samples, "turtles", "zoo", str(folder), config=config)
    return RunStore(Workspace(folder)), run


def _ranks(body: dict[str, Any]) -> list[int]:
    return [int(re.findall(r"\d+", given)[0]) for given, _ in parts_of(body)["document"]]


def first_shown_is_relevant(body: dict[str, Any]) -> object:
    """A judge that finds just the document relevant which it sees first."""
    reply = plain_reply(body)
    assert isinstance(reply, dict)
    if "relevant" in reply:
        reply["relevant"] = _ranks(body)[:1]
    return reply


def test_a_judge_that_favours_what_it_sees_first_is_found_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run = five_documents(tmp_path)
    with JudgeServer(Script(reply=first_shown_is_relevant)) as server:
        words = ("judge", run.run_id, "--yes", "--base-url", server.url, "--shuffle", "1", "--json")
        answer = command(capsys, tmp_path, *words).json
        asked = len(server.asked)
        text = command(capsys, tmp_path, *[word for word in words if word != "--json"]).out
        assert len(server.asked) == asked  # both orders are cached
    assert answer["shuffled"]["progress"]["scored"] == 12
    bias = answer["bias"]
    assert bias["shuffled"] == 12
    relevant = next(one for one in bias["position"] if one["label"] == "relevant")
    assert relevant["n"] == 48  # the document without a text is never shown
    assert relevant["difference"] > 0.2
    assert relevant["low"] > 0
    faithfulness = next(one for one in bias["order"] if one["metric"] == "faithfulness")
    assert (faithfulness["difference"], faithfulness["same_share"]) == (0.0, 1.0)
    moved = next(line for line in text.splitlines() if line.startswith("relevant  "))
    assert moved.split()[1] == "48"
    assert "Shown earlier" in text


def test_labels_of_another_order_name_the_documents_by_their_own_ranks(tmp_path: Path) -> None:
    store, run = five_documents(tmp_path, 10)
    orders: list[list[int]] = []

    def reply(body: dict[str, Any]) -> object:
        texts = [text for _, text in parts_of(body)["document"]]
        orders.append([int(re.findall(r"document (\d)", text)[0]) for text in texts])
        made = plain_reply(body)
        assert isinstance(made, dict)
        wanted = [rank for rank, text in zip(_ranks(body), texts, strict=True) if "document 4" in text]
        return {**made, "relevant": wanted} if "relevant" in made else made

    from ragtriage.dashboard.cli.main import app

    with JudgeServer(Script(reply=reply)) as server:
        words = ["--workspace", str(tmp_path), "judge", run.run_id, "--yes", "--base-url", server.url]
        with pytest.raises(SystemExit):
            app.main([*words, "--shuffle", "1"], standalone_mode=False)
    other = next(one for one in judge_results_of(store.ledger, run.run_id) if one.kind == SHUFFLED)
    results = read_task_results(judge_result_path(store.workspace, run.run_id, other.digest))
    assert {tuple(one.payload["order"]) for one in results.values()} <= {tuple(order) for order in orders}
    for one in results.values():
        assert sorted(one.payload["order"]) == [1, 2, 4, 5] != one.payload["order"]
        assert one.payload["relevant"] == [4]
        assert one.payload["form"]["ranks"] == [1, 2, 4, 5]
    assert "faithfulness" in store.summary(run)


def test_a_share_is_drawn_alike_each_time_and_nothing_to_shuffle_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = list(range(100))
    assert len(share_of_rows(rows, 0.2)) == 20
    assert share_of_rows(rows, 0.2) == share_of_rows(rows, 0.2)
    assert share_of_rows([3], 0.01) == [3]
    _, run = five_documents(tmp_path, 10)
    plan = command(capsys, tmp_path, "judge", run.run_id, "--dry-run", "--shuffle", "0.3").out
    assert "evaluation by claude-haiku-5-5" in plan
    assert "shuffled by claude-haiku-5-5" in plan
    assert "samples  3, " in plan
    plans = command(capsys, tmp_path, "judge", run.run_id, "--dry-run", "--shuffle", "0.3", "--json").json
    assert [(one["kind"], one["samples"]) for one in plans] == [("reading", 10), ("shuffled", 3)]
    said = command(capsys, tmp_path, "judge", run.run_id, "--shuffle", "0.3", "--evaluator", "x")
    assert said.code == 2
    assert "shuffle: an evaluator has no labels of documents; accepted: without evaluator" in said.err


def test_scores_are_held_against_length_beside_human_labels(tmp_path: Path) -> None:
    """The longer an answer, the more claims of it no document supports, and people rate it the same way."""
    store, run = five_documents(tmp_path, 24)
    with JudgeServer() as server:
        judged(store, run, server)
    bias = judge_bias(store.scored(run), store.ledger)
    by_metric = {one.metric: one for one in bias.length}
    effect = by_metric["faithfulness"]
    assert effect.judge.n == 24
    assert effect.judge.value < -0.8
    assert effect.judge.high < 0
    assert effect.human is not None
    assert effect.human.value < -0.8
    assert by_metric["answer_relevancy"].human is None
    assert np.isnan(by_metric["answer_relevancy"].judge.value)  # it is always the same
    assert (bias.order, bias.position, bias.shuffled) == ((), (), 0)
    assert bias.generator == ""


@pytest.mark.parametrize(
    ("config", "judge", "said"),
    [
        ({"generator_model": "claude-haiku-5-5"}, "claude-haiku-5-5", "are one model, claude-haiku-5-5"),
        ({"Model": "anthropic/claude-haiku-5.5-20260901"}, "claude-haiku-5-5/high", "are one model"),
        ({"llm": "Claude Opus 5.5"}, "claude-haiku-5-5", "are of one family"),
        ({"llm": "gpt-4o"}, "claude-haiku-5-5", ""),
        ({"retriever": "claude"}, "claude-haiku-5-5", ""),
    ],
)
def test_a_judge_of_its_own_answers_is_warned_of(config: dict[str, object], judge: str, said: str) -> None:
    warning = self_preference(config, judge)
    assert (said in warning) if said else not warning


def test_the_plan_warns_of_a_judge_of_its_own_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run = five_documents(tmp_path, 2, generator_model="claude-haiku-5-5")
    plan = command(capsys, tmp_path, "judge", run.run_id, "--dry-run", "--json").json
    assert "judge and generator are one model" in plan["notes"][0]
    assert command(
        capsys, tmp_path, "judge", run.run_id, "--dry-run", "--model", "claude-opus-5-5"
    ).out.count("one family")
