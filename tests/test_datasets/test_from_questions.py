"""Questions that exist become items: their gold is found in the corpus, or passages are proposed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dataset_texts import LEAVE, TRAVEL, corpus, question_set, windows

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.from_questions import open_source, propose, read_items
from ragtriage.data.datasets.item import Item
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.errors import WorkspaceError
from ragtriage.data.scoring.run_store import open_store

NOTE = "Sick leave needs a doctor's note from the third day."


def test_a_gold_text_that_stands_twice_gives_alternatives_of_one_hop() -> None:
    read = read_items(
        question_set({"question": "When is a doctor's note needed?", "relevant": [{"text": NOTE}]}), windows()
    )
    (item,) = read.items
    assert {span.doc_id for span in item.spans} == {"leave", "travel"}
    assert [len(spans) for spans in item.hops.values()] == [2]
    assert all(span.quote == NOTE for span in item.spans)
    assert "places that hold the same text as gold, kept as alternatives: 1" in read.notes


def test_every_further_place_of_a_gold_text_is_an_alternative_to_the_same_hop() -> None:
    pages = tuple(Document(f"page {number}", f"Page {number}. {NOTE}") for number in range(4))
    read = read_items(
        question_set({"question": "When is a doctor's note needed?", "relevant": [{"text": NOTE}]}),
        CorpusWindows(Corpus("four", pages)),
    )
    assert [len(spans) for spans in read.items[0].hops.values()] == [4]


def test_hops_of_a_file_stay_apart() -> None:
    gold = [
        {"text": "Trains are booked in second class", "hop": "a"},
        {"text": "The door code changes every Monday.", "hop": "b"},
    ]
    (item,) = read_items(
        question_set({"question": "Which class, which day?", "relevant": gold}), windows()
    ).items
    assert {hop: [span.doc_id for span in spans] for hop, spans in item.hops.items()} == {
        "a": ["travel"],
        "b": ["house"],
    }


def test_gold_that_is_not_found_is_counted_and_passages_are_proposed_but_are_no_gold() -> None:
    question = {
        "question": "What may a hotel in Hamburg cost?",
        "reference_answer": "140 euros",
        "relevant": [{"text": "A room in Hamburg is 140 EUR at most, says the old handbook."}],
    }
    read = read_items(question_set(question), windows())
    (item,) = read.items
    assert item.spans == ()
    assert item.proposed[0].doc_id == "travel"
    assert "140 euros in Hamburg" in item.proposed[0].quote
    assert read.facts["gold"]["missing"] == read.facts["gold"]["proposed"] == 1
    assert "questions whose gold was not found: 1" in read.notes


def test_a_proposed_passage_is_the_sentence_with_the_answer_and_stands_at_its_offsets() -> None:
    item = Item("q", "Who approves leave for the next year?", "Martha Keller")
    best = propose(item, windows())[0]
    assert (best.doc_id, LEAVE[best.start : best.end]) == ("leave", best.quote)
    assert "Martha Keller" in best.quote
    assert "Sick leave" not in best.quote


def test_nothing_is_proposed_for_a_question_declared_unanswerable() -> None:
    (item,) = read_items(
        question_set({"question": "May I bring a dog to the hotel?", "answerable": "no"}), windows()
    ).items
    assert item.proposed == ()


def test_real_queries_are_of_kind_real_and_each_comes_once(tmp_path: Path) -> None:
    (tmp_path / "asked.txt").write_text("taxi allowed?\n\nTaxi allowed\nhotel cost hamburg\n", "utf-8")
    store = open_store(str(tmp_path / "workspace"), create=True)
    loaded = open_source(store, str(tmp_path / "asked.txt"), corpus())
    read = read_items(loaded, windows())
    assert [item.question for item in read.items] == ["taxi allowed?", "hotel cost hamburg"]
    assert {(item.kind, item.origin["by"]) for item in read.items} == {("real", "user")}
    assert "Taxis need a reason" in read.items[0].proposed[0].quote
    assert read.facts["gold"]["again"] == 1


def test_gold_by_offsets_into_one_of_several_texts_is_read(tmp_path: Path) -> None:
    start = TRAVEL.index("Taxis")
    reference = {"content": TRAVEL[start : start + 5], "start_index": start, "end_index": start + 5}
    cells = json.dumps([reference]).replace('"', '""')
    (tmp_path / "questions.csv").write_text(
        f'question,references,corpus_id\nWhat needs a reason?,"{cells}",travel\n', "utf-8"
    )
    store = open_store(str(tmp_path / "workspace"), create=True)
    (item,) = read_items(open_source(store, str(tmp_path / "questions.csv"), corpus()), windows()).items
    assert [(span.doc_id, span.quote) for span in item.spans] == [("travel", "Taxis")]


def test_an_unknown_name_says_what_is_accepted(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "workspace"), create=True)
    with pytest.raises(WorkspaceError, match="no file, question set or run; accepted"):
        open_source(store, "nothing", corpus())
