"""Files with hundreds or thousands of metrics: the work grows with the values, not with metrics squared."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from ragtriage.data.api import add_run, metrics_answer
from ragtriage.data.scoring.run_store import RunStore

METRICS = 2_000


def test_thousands_of_metrics_are_scored_and_summarised_in_seconds(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compared(*_: object, **__: object) -> list[Any]:
        pytest.fail("an imported name was compared with every known one")

    monkeypatch.setattr("ragtriage.metrics.schema.metric.get_close_matches", compared)
    names = [f"judge {number} says" for number in range(METRICS)]
    records = [
        {"question": f"q{i}?", "scores": {name: (i + at) % 7 / 7 for at, name in enumerate(names)}}
        for i in range(5)
    ]
    began = time.process_time()
    run = add_run(records, "many", workspace=str(workspace.workspace.root))
    fresh = RunStore(workspace.workspace)
    answer = metrics_answer(fresh, run, fresh.options(run))["metrics"]
    seconds = time.process_time() - began
    assert {names[3], names[1999]} < set(answer)
    assert answer[names[3]]["mean"] == pytest.approx(np.mean([(i + 3) % 7 / 7 for i in range(5)]))
    assert fresh.scored(run).values(names[1999]).tolist() == [(i + 1999) % 7 / 7 for i in range(5)]
    assert seconds < 20, "about 4 here; one query a metric took minutes"
