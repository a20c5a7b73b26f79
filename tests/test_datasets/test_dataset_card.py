"""The card counts what is in a dataset, and shows names from outside as text."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from dataset_texts import LEAVE, corpus, question_set, windows

from ragtriage.data.datasets.card import card_text
from ragtriage.data.datasets.chosen import choose, freeze
from ragtriage.data.datasets.dataset import Dataset, Version, create_dataset
from ragtriage.data.datasets.from_questions import read_items
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.review import accept, add_gold, edit, read_draft, reject, undo
from ragtriage.data.scoring.run_store import open_store
from ragtriage.data.store.question_sets import load_set
from ragtriage.data.store.workspace import utc_now

GOLD = GoldSpan("leave", LEAVE.index("28 days"), LEAVE.index("28 days") + 7, "28 days")


def test_the_card_counts_kinds_gold_readers_filters_and_says_what_to_mind(tmp_path: Path) -> None:
    dataset = create_dataset(open_store(str(tmp_path), create=True).workspace, "rules")
    gold = ["Every employee has 28 days", "Trains are booked", "The door code", "Taxis need a reason"]
    records = [
        {
            "question_id": f"q{at}",
            "question": f"What is rule {at}?",
            "query_type": "single",
            "relevant": [{"text": text}],
        }
        for at, text in enumerate(gold)
    ]
    read = read_items(question_set(*records, name="asked <b>"), windows())
    made = [replace(item, origin={"by": "model"}) for item in read.items]
    made[3] = replace(made[3], rejected_by="copied", reason="7 words")
    facts = {
        **read.facts,
        "by": "model",
        "filters": {"copied": [3, 1]},
        "licence": "CC BY 4.0",
        "cost_usd": 0.125,
    }
    dataset.add_batch(made, corpus(), facts)
    items = [each.item for each in read_draft(dataset).items]
    for item in items[:3]:
        accept(dataset, item, "Ada")
    for item in items[:2]:
        accept(dataset, item, "Ben")
    reject(dataset, items[2], "Ben", "unclear")
    draft = read_draft(dataset)
    text = card_text(draft, choose(draft).items, dataset.corpus(), None)
    assert text.startswith(
        "# rules (draft)\n\n2 questions on 3 documents (rules); 2 were read and kept by people."
    )
    for line in (
        "| single | 2 | 2 |",
        "| copied | 3 | 1 |",
        "| Ada | 3 | 3 | 0 | 0 |  |",
        "| Ben | 3 | 2 | 0 | 1 | unclear 1 |",
        "- written by: a model",
        "- cost in USD: 0.125",
        "- source: asked \\<b\\>",
        "CC BY 4.0",
        "2 of 2 questions are synthetic (2 by a model, 0 by rules): real users may ask differently.",
    ):
        assert line in text.splitlines()
    assert "Ada and Ben agree on 2 of 3 items: kappa 0.00" in text
    assert "were read by nobody" not in text


def _item(question_id: str, **changed: Any) -> Item:
    return replace(Item(question_id, f"What of {question_id}?", "28 days", "single", (GOLD,)), **changed)


def _card(dataset: Dataset, version: Version | None = None, unreviewed: bool = True) -> str:
    draft = read_draft(dataset)
    items = choose(draft, unreviewed).items
    if version is not None:
        items = tuple(map(Item.from_question, load_set(dataset.workspace, version.set_id).questions))
    return card_text(draft, items, dataset.corpus(), version)


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """A dataset without an item."""
    return create_dataset(open_store(str(tmp_path), create=True).workspace, "rules")


def test_readers_who_keep_all_have_no_kappa_and_the_card_says_why(dataset: Dataset) -> None:
    items = [_item("a"), _item("b")]
    dataset.add_batch(items, corpus(), {})
    for item in items:
        accept(dataset, item, "Ada")
        accept(dataset, item, "Ben")
    text = _card(dataset)
    assert "Ada and Ben agree on 2 of 2 items: kappa not defined: both kept all." in text
    assert "nan" not in text


def test_the_card_of_a_version_tells_of_its_own_time(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = [_item("a"), _item("b")]
    dataset.add_batch(early, corpus(), {"licence": "CC0 1.0", "filters": {"twin": [2, 0]}})
    accept(dataset, early[0], "Ada")
    reject(dataset, early[1], "Ada", "unclear")
    version, *_ = freeze(read_draft(dataset), "Ada")
    before = _card(dataset, version)
    assert "| Ada | 2 | 1 | 0 | 1 | unclear 1 |" in before
    assert "CC0 1.0" in before
    for module in ("dataset", "review"):
        later = utc_now() + timedelta(hours=1)
        monkeypatch.setattr(f"ragtriage.data.datasets.{module}.utc_now", lambda later=later: later)
    dataset.add_batch([_item("c")], corpus(), {"licence": "CC BY 4.0", "filters": {"twin": [9, 9]}})
    accept(dataset, read_draft(dataset).items[2].item, "Ben")
    undo(dataset, "Ada")
    edit(dataset, replace(early[0], answer="28 days a year"), "Cleo")
    assert _card(dataset, version) == before
    now = _card(dataset, unreviewed=False)
    assert "| Ben | 1 |" in now
    assert "CC0 1.0; CC BY 4.0" in now


def test_pooled_gold_is_told_once_a_passage_was_judged_to_the_greatest_depth(dataset: Dataset) -> None:
    dataset.add_batch([_item("a", spans=()), _item("b", spans=())], corpus(), {"depth": 3})
    dataset.add_batch([_item("c", spans=())], corpus(), {"depth": 8, "not_located": 4})
    assert "pooled to depth" not in _card(dataset)
    assert "- retrieved documents not located in the corpus: 4" in _card(dataset)
    add_gold(dataset, read_draft(dataset).items[0].item, GOLD, "Ada")
    assert "Gold of 1 question was pooled to depth 8:" in _card(dataset)
