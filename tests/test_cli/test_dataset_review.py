"""`ragtriage dataset review`: who read how much, why items were rejected, how far two readers agree."""

from __future__ import annotations

from dataclasses import replace

import pytest
from command_line import run

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.dataset import Dataset, create_dataset
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.review import accept, edit, reject
from ragtriage.data.scoring.run_store import RunStore


@pytest.fixture
def dataset(workspace: RunStore) -> Dataset:
    """Twenty questions, and one that a filter rejected."""
    made = create_dataset(workspace.workspace, "leave")
    items = [Item(f"q{at:02}", f"Question {at}?", "a", "single", (GoldSpan("d", at, at + 2),))
             for at in range(21)]  # fmt: skip
    items[20] = replace(items[20], rejected_by="twin", reason="0.9")
    made.add_batch(items, Corpus("c", (Document("d", "x" * 100),)), {})
    return made


def test_nobody_has_read_any(
    workspace: RunStore, dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = run(capsys, workspace.workspace.root, "dataset", "review", "leave")
    assert answer.code == 0
    assert "leave: 0 of 20 read." in answer.out
    assert "20 questions to go" in answer.out
    found = run(capsys, workspace.workspace.root, "dataset", "review", "leave", "--json").json
    assert (found["kept"], found["agreement"], found["readers"]) == (None, None, [])


def test_readers_reasons_and_agreement_are_counted(
    workspace: RunStore, dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    (batch,) = dataset.batches()
    for at, item in enumerate(batch.items):
        reject(dataset, item, "Ann", "unclear" if at < 3 else "twin") if at < 4 else accept(
            dataset, item, "Ann"
        )
        if 2 <= at < 20:
            reject(dataset, item, "Bob", "twin") if at < 4 else accept(dataset, item, "Bob")
    changed = replace(batch.items[19], question="Another one?")
    edit(dataset, changed, "Bob")
    found = run(capsys, workspace.workspace.root, "dataset", "review", "leave", "--json").json
    ann, bob = found["readers"]
    assert (ann["reader"], ann["read"], ann["accepted"], ann["rejected"]) == ("Ann", 20, 16, 4)
    assert ann["reasons"] == "unclear 3, twin of another 1"
    assert (bob["read"], bob["edited"], bob["rejected"]) == (18, 1, 2)
    assert found["agreement"]["n"] == found["agreement"]["same"] == 17
    assert found["agreement"]["kappa"] == 1.0
    assert found["filters_rejects_kept"]["share"] == 1.0
    text = run(capsys, workspace.workspace.root, "dataset", "review", "leave").out
    assert "leave: 21 of 21 read." in text, "what a filter rejected and a reader kept is offered too"
    assert "Ann and Bob agree on 17 of 17 items: kappa 1.00" in text
    assert "Filters' rejects that were read: 1; kept 1.00" in text
