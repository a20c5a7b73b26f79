"""Making a dataset against a service that answers from the request alone: counts, spread, kinds, faults."""

from dataclasses import replace
from pathlib import Path

import pytest
from dataset_replies import DatasetReplies
from made_datasets import MakingService, dataset_in, making

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.item import Item
from ragtriage.data.datasets.making.make import MADE_KINDS, MakeOptions
from ragtriage.data.datasets.review import read_draft
from ragtriage.data.errors import DataError


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragtriage.data.judge.job_spec.BACKOFF_SECONDS", 0.01)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")


def _stands(item: Item, corpus: Corpus) -> bool:
    return all(corpus.by_name[span.doc_id].text[span.start : span.end] == span.quote for span in item.spans)


def test_what_is_made_has_the_kinds_asked_for_and_gold_that_stands_in_the_corpus(tmp_path: Path) -> None:
    with MakingService() as server:
        result = making(tmp_path, server, MakeOptions(40))
    facts, draft = result.made.facts, read_draft(dataset_in(tmp_path))
    assert facts["got"] == {"single": 20, "multi-hop": 8, "unanswerable": 6, "adversarial": 6}
    assert facts["short"] == {}
    assert len(draft.offered) == 40
    corpus = draft.dataset.corpus()
    assert all(_stands(each.item, corpus) for each in draft.items)
    for each in draft.offered:
        item = each.item
        assert len(item.hops) == {"unanswerable": 0, "multi-hop": 2}.get(item.kind, 1)
        assert (item.answerable == "no") == (item.kind == "unanswerable")
        assert item.judged["read"]["gold"] == {"unanswerable": [], "multi-hop": ["part", "part"]}.get(
            item.kind, ["full"]
        )


def test_every_call_and_every_candidate_is_counted_once(tmp_path: Path) -> None:
    replies = DatasetReplies(bad_quote=0.2, unclear=0.1, unreal=0.2, misread=0.2)
    with MakingService(replies) as server:
        result = making(tmp_path, server, MakeOptions(40))
    facts, filters = result.made.facts, result.made.facts["filters"]
    assert facts["calls_by_stage"] == dict(server.stages)
    assert facts["calls"] == len(server.asked)
    assert facts["input_tokens"] == sum(one.input_tokens for one in server.asked)
    assert facts["output_tokens"] == pytest.approx(sum(one.output_tokens for one in server.asked), abs=99)
    assert sum(filters["verbatim"]) == sum(replies.written.values())
    # each filter is given what the one before it has passed
    assert sum(filters["stands_alone"]) == filters["twin"][0] - _rejected(result.made.items, "round_trip")
    assert sum(filters["realism"]) == filters["stands_alone"][0]
    assert sum(filters["closed_book"]) == filters["realism"][0]
    assert sum(filters["read"]) == server.stages["read"] == filters["closed_book"][0] - facts["spare"]
    for key, (_, rejected) in filters.items():
        assert rejected == _rejected(result.made.items, key)
        assert len(facts["filter_examples"].get(key, ())) == min(rejected, 3)
    assert filters["verbatim"][1] > 3
    assert filters["read"][0] == sum(facts["got"].values())
    assert sum(facts["got"].values()) + sum(facts["short"].values()) == 40


def _rejected(items: tuple[Item, ...], key: str) -> int:
    return sum(item.rejected_by == key for item in items)


def test_questions_are_spread_over_the_documents_by_the_root_of_their_length(tmp_path: Path) -> None:
    with MakingService() as server:
        result = making(tmp_path, server, MakeOptions(60, {"single": 1}))
    counts = dict.fromkeys(result.made.facts["quotas"], 0)
    for item in result.made.items:
        if not item.rejected_by:
            counts[item.spans[0].doc_id] += 1
    assert sum(counts.values()) == 60
    assert max(counts[name] - quota for name, quota in result.made.facts["quotas"].items()) <= 1
    assert min(counts.values()) >= 1


@pytest.mark.parametrize("kind", MADE_KINDS)
def test_every_kind_can_be_asked_for(tmp_path: Path, kind: str) -> None:
    with MakingService() as server:
        result = making(tmp_path, server, MakeOptions(3, {kind: 1}))
    accepted = [item for item in result.made.items if not item.rejected_by]
    assert [item.kind for item in accepted] == [kind] * 3
    assert all(bool(item.history) == (kind == "follow-up") for item in accepted)


def test_what_is_short_is_said_after_three_rounds(tmp_path: Path) -> None:
    corpus = Corpus("one", (Document("a", "Every turtle of the northern lake lives eighty years. " * 2),))
    with MakingService() as server:
        result = making(tmp_path, server, MakeOptions(10, {"single": 1}), corpus)
        none = making(tmp_path / "none", server, MakeOptions(6, {"multi-hop": 1}), corpus)
    assert result.made.facts["short"] == {
        "single": 10 - len([i for i in result.made.items if not i.rejected_by])
    }
    assert none.made.facts["short"] == {"multi-hop": 6}
    assert none.batch is None


def test_a_question_that_the_model_knows_is_one_in_ten_at_most(tmp_path: Path) -> None:
    class Knowing(DatasetReplies):
        def _alone(self, parts: dict[str, list[tuple[str, str]]]) -> object:
            reply = super()._alone(parts)
            assert isinstance(reply, dict)
            return {"questions": [{**each, "answer": answers[q]} for each, q in _asked(reply, parts)]}

        def _candidate(self, kind: str, sentences: tuple[str, ...]) -> dict[str, object]:
            candidate = super()._candidate(kind, sentences)
            answers[candidate["question"]] = candidate["answer"]
            return candidate

    answers: dict[str, str] = {}
    with MakingService(Knowing()) as server:
        result = making(tmp_path, server, MakeOptions(20, {"single": 1}))
    known = [item for item in result.made.items if item.tags.get("known_without_corpus")]
    assert sum(not item.rejected_by for item in known) == 2
    assert result.made.facts["short"] == {"single": 18}
    assert {item.rejected_by for item in known} == {"", "closed_book"}


def _asked(
    reply: dict[str, list[dict[str, object]]], parts: dict[str, list[tuple[str, str]]]
) -> list[tuple[dict[str, object], str]]:
    return list(zip(reply["questions"], [text for _, text in parts["question"]], strict=True))


def test_shares_of_kinds_that_are_none_are_refused() -> None:
    with pytest.raises(DataError, match="kind 'real'; accepted: KIND=SHARE"):
        MakeOptions(3, {"real": 1})
    with pytest.raises(DataError, match="all 0, or below"):
        MakeOptions(3, {"single": 0})


def test_copies_by_rules_change_nothing_of_what_was_made(tmp_path: Path) -> None:
    with MakingService() as server:
        first = making(tmp_path, server, MakeOptions(10))
        asked = len(server.asked)
        dataset = first.dataset
        items = [each.item for each in read_draft(dataset).offered]
        copies = [
            replace(
                item, question_id=f"{item.question_id}-k", kind="keyword", origin={"from": item.question_id}
            )
            for item in items
        ]
        dataset.add_batch(copies, dataset.corpus(), {"by": "rules"})
        again = making(tmp_path, server, MakeOptions(10))
        assert len(server.asked) == asked
    assert again.batch is None
    assert len(read_draft(dataset).offered) == 2 * len(items)


def test_a_false_premise_has_the_passage_that_denies_it_as_gold(tmp_path: Path) -> None:
    with MakingService() as server:
        result = making(tmp_path, server, MakeOptions(6, {"false-premise": 1}))
    draft = read_draft(result.dataset)
    corpus = draft.dataset.corpus()
    assert draft.offered
    for each in draft.offered:
        assert (each.item.answerable, len(each.item.spans)) == ("yes", 1)
        assert each.item.answer
        assert _stands(each.item, corpus)
