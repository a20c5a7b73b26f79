"""Coverage and mix of a dataset, how far two readers agree, and on how many questions versions differ."""

from __future__ import annotations

import numpy as np
import pytest

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.coverage import mix_of, page_coverage
from ragtriage.data.datasets.dataset import create_dataset
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.readers import reader_agreement, share_kept
from ragtriage.data.datasets.review import accept, read_draft, reject
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.analysis.items import share_differing

CORPUS = Corpus("c", (Document("short", "x" * 100), Document("long", "y" * 400), Document("blank", "  ")))


def _item(at: int, kind: str = "single", doc_id: str = "long") -> Item:
    spans = () if kind == "unanswerable" else (GoldSpan(doc_id, at, at + 2), GoldSpan(doc_id, 50, 60))
    return Item(f"q{at}", f"Question {at}?", "a", kind, spans, "yes" if spans else "no")


def test_a_page_has_its_questions_and_its_share_by_the_root_of_its_length() -> None:
    items = [_item(at) for at in range(3)] + [_item(3, "unanswerable")]
    pages = page_coverage(items, CORPUS)
    assert [(page.doc_id, page.questions) for page in pages] == [("long", 3), ("short", 0)]
    assert [page.quota for page in pages] == pytest.approx([3 * 20 / 30, 3 * 10 / 30])


def test_kinds_are_grouped_and_missing_groups_are_there() -> None:
    kinds = ("single", "follow-up", "aggregation", "false-premise", "of our own")
    mix = {share.group: share for share in mix_of([_item(at, kind) for at, kind in enumerate(kinds)])}
    assert {group: share.n for group, share in mix.items()} == {
        "single": 3, "multi-hop": 1, "unanswerable": 1, "adversarial": 0,
    }  # fmt: skip
    assert mix["single"].kinds == {"single": 1, "follow-up": 1, "of our own": 1}
    assert mix["single"].planned == 2.5
    planned = mix_of([_item(0), _item(1)], {"keyword": 3, "comparison": 1})
    assert [share.planned for share in planned] == [1.5, 0.5, 0, 0]


def test_two_readers_agree_beyond_chance(workspace: RunStore) -> None:
    dataset = create_dataset(workspace.workspace, "d")
    items = dataset.add_batch([_item(at) for at in range(20)], CORPUS, {}).items
    assert reader_agreement(read_draft(dataset)) is None
    for at, item in enumerate(items):
        accept(dataset, item, "Ann") if at < 15 else reject(dataset, item, "Ann", "unclear")
        accept(dataset, item, "Bob") if at < 14 or at == 19 else reject(dataset, item, "Bob", "twin")
    draft = read_draft(dataset)
    agreement = reader_agreement(draft)
    assert agreement is not None
    assert (agreement.n, agreement.same) == (20, 18)
    # both keep 15 of 20: by chance they agree in 0.75^2 + 0.25^2
    assert agreement.kappa.value == pytest.approx((18 / 20 - 0.625) / (1 - 0.625))
    assert agreement.kappa.low < agreement.kappa.value < agreement.kappa.high
    kept = share_kept(draft.items, "Ann")
    assert kept is not None
    assert kept.mean == 0.75
    assert share_kept([]) is None


def test_versions_differ_on_a_share_of_the_questions() -> None:
    passes = np.array([[1.0, 1.0, 0.0, np.nan], [1.0, 0.0, 0.0, 1.0], [0.5, 0.5, 0.5, 0.5]])
    between_first_two = 1 / 3
    with_the_third = 0.5
    assert share_differing(passes) == pytest.approx((between_first_two + 2 * with_the_third) / 3)
    assert np.isnan(share_differing(passes[:1]))
