"""Pools of passages for questions without gold: of runs and of search, blind, in any order."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from dataset_texts import HOUSE, LEAVE, TRAVEL, corpus, question_set, windows

from ragtriage.data.api import add_run
from ragtriage.data.datasets.dataset import create_dataset
from ragtriage.data.datasets.from_questions import read_items
from ragtriage.data.datasets.pooling import (
    Candidate,
    PooledRuns,
    pool_of,
    pooled_runs,
)
from ragtriage.data.datasets.review import add_distractor, add_gold, read_draft, undo
from ragtriage.data.scoring.run_store import RunStore, open_store

QUESTION = "What may a taxi to the office in Bremen cost?"
NOTE = "Sick leave needs a doctor's note from the third day."


def _run(folder: Path, name: str, documents: list[dict[str, Any]]) -> RunStore:
    records = [
        {"question_id": name, "question": QUESTION.upper(), "retrieved": documents},
        {"question_id": "q0", "question": "Another?", "retrieved": [{"id": "house", "text": HOUSE}]},
    ]
    add_run(records, name, "p", str(folder))
    return open_store(str(folder))


def test_passages_of_runs_and_of_the_search_come_once_without_who_found_them(tmp_path: Path) -> None:
    taxi = "Taxis need a reason in writing."
    _run(
        tmp_path, "one", [{"id": "travel#2", "text": taxi}, {"id": "leave"}, {"id": "x", "text": "Nowhere."}]
    )
    store = _run(tmp_path, "two", [{"id": "c7", "text": "Taxis need  a reason in\nwriting."}])
    (item,) = read_items(question_set({"question_id": "q0", "question": QUESTION}), windows()).items
    pool = pool_of(item, windows(), PooledRuns(store, store.runs("p")))
    texts = {"leave": LEAVE, "travel": TRAVEL, "house": HOUSE}
    spans = [candidate.span for candidate in pool.candidates]
    assert all(texts[span.doc_id][span.start : span.end] == span.quote for span in spans)
    assert [span.quote for span in spans].count(taxi) == 1
    assert "leave" in {span.doc_id for span in spans}
    assert (pool.retrieved, pool.not_found, len(pool.to_judge)) == (4, 1, len(spans))
    assert {field.name for field in fields(Candidate)} == {"span", "judged"}


def test_the_order_tells_nothing_of_ranks_and_the_depth_cuts_every_list(tmp_path: Path) -> None:
    texts = [line for text in (LEAVE, TRAVEL, HOUSE) for line in text.split("\n\n") if len(line) > 60]
    store = _run(tmp_path, "one", [{"id": str(at), "text": text.strip()} for at, text in enumerate(texts)])
    (item,) = read_items(question_set({"question_id": "q", "question": QUESTION}), windows()).items
    runs = PooledRuns(store, store.runs("p"))
    orders = [
        [each.span for each in pool_of(replace(item, question_id=f"q{at}"), windows(), runs).candidates]
        for at in range(20)
    ]
    assert len(set(map(tuple, orders))) > 1
    assert len(set(map(frozenset, orders))) == 1
    assert pool_of(item, windows(), runs) == pool_of(item, windows(), runs)
    # one document of the run, and one window of the search
    assert 1 <= len(pool_of(item, windows(), PooledRuns(store, store.runs("p"), 1)).candidates) <= 2


def test_judgements_become_gold_or_distractors_and_can_be_undone(tmp_path: Path) -> None:
    store = _run(
        tmp_path, "one", [{"id": "a", "text": "Taxis need a reason in writing."}, {"id": "b", "text": NOTE}]
    )
    dataset = create_dataset(store.workspace, "rules")
    read = read_items(question_set({"question_id": "q", "question": QUESTION}), windows())
    run_ids = [run.run_id for run in store.runs("p")]
    dataset.add_batch(read.items, corpus(), {**read.facts, "runs": [*run_ids, "deleted0"], "depth": 2})
    runs = pooled_runs(store, dataset)
    assert runs.depth == 2
    item = read_draft(dataset).items[0].item
    by_quote = {each.span.quote: each for each in pool_of(item, windows(), runs).candidates}
    item = add_gold(dataset, item, by_quote["Taxis need a reason in writing."].span, "Ada")
    item = add_distractor(dataset, item, by_quote[NOTE].span, "Ada")
    stored = read_draft(dataset).items[0]
    assert stored.item == item
    assert [span.quote for span in item.spans] == ["Taxis need a reason in writing."]
    assert [span.quote for span in item.distractors] == [NOTE]
    assert stored.state == "to read"
    judged = {each.span.quote: each.judged for each in pool_of(item, windows(), runs).candidates}
    assert (judged["Taxis need a reason in writing."], judged[NOTE]) == ("gold", "not gold")
    undo(dataset, "Ada")
    assert read_draft(dataset).items[0].item.distractors == ()
