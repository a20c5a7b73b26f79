"""Whether gold ids are ids of the documents that a run retrieved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ragtriage.data.api import add_run
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun


def _scored(store: RunStore, gold: list[str], retrieved: list[str]) -> ScoredRun:
    samples: list[dict[str, Any]] = [
        {
            "question_id": f"q{at}",
            "question": f"{at}?",
            "answer": "a",
            "relevant": [{"id": wanted}],
            "retrieved": [{"id": found}],
        }
        for at, (wanted, found) in enumerate(zip(gold, retrieved, strict=True))
    ]
    return store.scored(add_run(samples, "run", "p", str(store.workspace.root)))


@pytest.mark.parametrize("accidents", [0, 1])
def test_an_accident_does_not_silence_that_ids_never_match(workspace: RunStore, accidents: int) -> None:
    retrieved = [f"chunk-{at}" for at in range(40 - accidents)] + ["7"] * accidents
    scored = _scored(workspace, [str(at) for at in range(40)], retrieved)
    (finding,) = [each for each in check_run(scored) if each.rule == "ids"]
    assert finding.message.startswith(f"{accidents or 'None'} of the 40 gold ids of 40 samples")
    assert not np.isfinite(scored.values("recall@1")).any()


def test_a_weak_retriever_is_no_mismatch(workspace: RunStore) -> None:
    gold = [f"doc-{at}" for at in range(40)]
    scored = _scored(workspace, gold, ["doc-0", *(f"doc-{at + 100}" for at in range(39))])
    assert not [each for each in check_run(scored) if each.rule == "ids"]
    assert np.nanmean(scored.values("recall@1")) == 1 / 40
