"""The built-in system: by the best sentence, and by Claude through a stand-in for the service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import run
from judge_server import JudgeServer, Script, parts_of
from reading_systems import write_questions

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.errors import DataError
from ragtriage.data.judge.requests import ClientSettings, read_prices
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.systems.builtin_pipeline import BuiltInSystem, PipelineSettings, settings_of
from ragtriage.data.systems.builtin_readers import NO_ANSWER, Answer, ClaudeReader, Extractive
from ragtriage.data.systems.system import SystemLimits, SystemReply, SystemRequest
from ragtriage.data.text.refusal_detection import detect_refusal

CORPUS = Corpus(
    "zoo",
    (
        Document("hay", "Zebras eat hay. Lions sleep all day. The zoo opens at nine."),
        Document("meat", "Lions eat meat every evening. Zebras run."),
    ),
)


def request(settings: dict[str, Any]) -> SystemRequest:
    return SystemRequest("q", "What do lions eat?", settings=settings)


def ask(system: BuiltInSystem, question: str, **more: Any) -> SystemReply:
    return system.ask(SystemRequest("q", question, **more), SystemLimits())


def test_the_best_sentence_of_what_is_found_is_the_answer() -> None:
    system = BuiltInSystem(Extractive(), CORPUS)
    reply = ask(system, "What do lions eat?")
    assert reply.sample["answer"] == "Lions eat meat every evening."
    assert [document["doc_id"] for document in reply.sample["retrieved"]] == ["meat", "hay"]
    assert ask(system, "What do lions eat?").sample["answer"] == reply.sample["answer"]


def test_it_answers_from_a_given_context_and_declines_without_one() -> None:
    system = BuiltInSystem(Extractive())
    given = [{"id": "x", "text": "Lions eat fish here."}]
    reply = ask(system, "What do lions eat?", contexts=given)
    assert reply.sample["answer"] == "Lions eat fish here."
    assert "retrieved" not in reply.sample
    assert ask(system, "What do lions eat?", contexts=[]).sample["answer"] == NO_ANSWER
    assert detect_refusal(NO_ANSWER).refused
    assert "accepted: --corpus" in ask(system, "What do lions eat?").reason


def test_words_beyond_the_limit_are_not_read() -> None:
    given = [{"id": "a", "text": "Zebras are striped animals."}, {"id": "b", "text": "Lions eat meat."}]
    short = BuiltInSystem(Extractive(), None, PipelineSettings(context_words=4))
    assert ask(short, "What do lions eat?", contexts=given).sample["answer"] == NO_ANSWER
    whole = BuiltInSystem(Extractive())
    assert ask(whole, "What do lions eat?", contexts=given).sample["answer"] == "Lions eat meat."
    assert short.identity != whole.identity


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"topk": 3}, "accepted: chunking, chunk_size"),
        ({"top_k": 0}, "1 or more"),
        ({"top_k": True}, "whole number"),
        ({"chunking": "random"}, "accepted: fixed"),
        ({"chunk_overlap": 300}, "not smaller than size"),
        ({"reranker": "magic"}, "none, words, or cross-encoder"),
        ({"query_rewriting": "guess"}, "none, hyde, expansion"),
    ],
)
def test_settings_that_it_cannot_have_are_named(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        settings_of(settings, PipelineSettings())


def test_what_needs_a_model_is_said_to_be_unavailable() -> None:
    system = BuiltInSystem(Extractive(), CORPUS)
    assert "needs a model" in system.unavailable(request({"query_rewriting": "hyde"}))
    assert system.unavailable(request({"top_k": 3, "reranker": "words"})) == ""


def _reply(body: dict[str, Any]) -> object:
    """Return a query where one is asked for, else the first document that has the code."""
    asked = body["output_config"]["format"]["schema"]["properties"]
    parts = parts_of(body)
    if "query" in asked:
        return {"query": parts["question"][0][1] + " code"}
    texts = [text for _, text in parts.get("document", [])]
    return {"answer": texts[0] if texts else "I do not know."}


def test_claude_answers_with_cached_calls_and_its_cost(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    questions = write_questions(tmp_path / "codes.jsonl", 6)
    for at in range(6):
        (corpus / f"doc{at}.md").write_text(f"The code of item{at:03d} is K{at * 37 + 1000}X.")
    words = [
        *(
            "experiment",
            "arms",
            "--system",
            "builtin",
            "--questions",
            str(questions),
            "--corpus",
            str(corpus),
        ),
        *("--model", "claude-haiku-4-5", "--factor", "query_rewriting=none,hyde", "--json"),
    ]
    with JudgeServer(Script(reply=_reply)) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        first = run(capsys, tmp_path / "w", *words)
        assert first.code == 0, first.err
        asked = len(server.asked)
        again = run(capsys, tmp_path / "w", *words)
        assert len(server.asked) == asked > 6
    assert [arm["quality"]["mean"] for arm in first.json["arms"]] == [1.0, 1.0]
    assert again.json["progress"]["asked"] == 0
    assert first.json["experiment"]["system"].startswith("built-in claude-haiku-4-5")
    stored = b"".join(path.read_bytes() for path in (tmp_path / "w").rglob("*") if path.is_file())
    assert b"sk-test-secret" not in stored


class Writes(Extractive):
    """A reader that rewrites, or fails to."""

    asks_model = True

    def __init__(self, said: Answer) -> None:
        self.said = said

    def rewritten(self, question: str, how: str) -> Answer:
        return self.said

    def answer(self, question: str, history: Any, documents: Any) -> Answer:
        return Answer(
            "yes", fields={"input_tokens": 10, "output_tokens": 1, "cost_usd": 0.5, "latency_ms": 4.0}
        )


def test_what_a_rewriting_costs_is_part_of_the_answer() -> None:
    fields = {"input_tokens": 5, "output_tokens": 2, "cost_usd": 0.25, "latency_ms": 100.0}
    system = BuiltInSystem(Writes(Answer("meat of lions", fields=fields)), CORPUS)
    sample = ask(system, "What do lions eat?", settings={"query_rewriting": "hyde"}).sample
    assert (sample["input_tokens"], sample["output_tokens"], sample["cost_usd"]) == (15, 3, 0.75)
    assert sample["latency_ms"] == 104.0
    assert sample["retrieval_ms"] >= 100.0
    assert sample["search_query"] == "meat of lions"
    plain = ask(system, "What do lions eat?").sample
    assert (plain["cost_usd"], "search_query" in plain) == (0.5, False)


@pytest.mark.parametrize("passing", [True, False])
def test_a_rewriting_that_fails_is_a_failed_sample_and_no_plain_search(passing: bool) -> None:
    system = BuiltInSystem(Writes(Answer("", "overloaded", passing=passing)), CORPUS)
    reply = ask(system, "What do lions eat?", settings={"query_rewriting": "expansion"})
    assert (reply.status, reply.reason, reply.passing) == ("failed", "query rewriting: overloaded", passing)


def test_the_plan_counts_calls_to_rewrite_once_for_all_arms(tmp_path: Path) -> None:
    settings = ClientSettings(read_prices(None).model("claude-haiku-4-5"))
    reader = ClaudeReader(settings, Ledger(tmp_path / "ledger"))
    system = BuiltInSystem(reader, CORPUS)
    asked = [
        SystemRequest(name, f"What do {name} eat?", settings={"query_rewriting": how, "top_k": k})
        for name in ("lions", "zebras")
        for how in ("none", "hyde")
        for k in (1, 5)
    ]
    use = system.expected_use(asked)
    assert (use.calls, use.rewriting) == (10, 2)
    assert use.input_tokens > 4 * 256 * (1 + 5)
    assert use.cost_usd is not None
    assert use.cost_usd > 0
    assert BuiltInSystem(Extractive(), CORPUS).expected_use(asked).calls == 0
