"""The card counts what is in a dataset, and shows names from outside as text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dataset_texts import corpus, question_set, windows

from ragtriage.data.datasets.card import card_text
from ragtriage.data.datasets.chosen import choose
from ragtriage.data.datasets.dataset import create_dataset
from ragtriage.data.datasets.from_questions import read_items
from ragtriage.data.datasets.review import accept, read_draft, reject
from ragtriage.data.scoring.run_store import open_store


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
        "| Ada | 3 | 0 |",
        "| Ben | 3 | 1 |",
        "- written by: a model",
        "- cost in USD: 0.125",
        "- source: asked \\<b\\>",
        "CC BY 4.0",
        "2 of 2 questions are synthetic (2 by a model, 0 by rules): users may ask otherwise.",
    ):
        assert line in text.splitlines()
    assert "Ada and Ben decided alike on 2 of 3 items; Cohen's kappa" in text
    assert "were read by nobody" not in text
