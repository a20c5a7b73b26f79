from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragtriage.data.api import add_run, comparison_answer, comparisons_with
from ragtriage.data.comparison.compared_metrics import primary_metric
from ragtriage.data.declarations import FILE_NAME
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.gates.wording import GOOD_SHARE

SCORES = (
    "faithfulness",
    "answer_relevancy",
    "correctness",
    "context_recall",
    "context_precision",
    "answer_f1",
)


@pytest.fixture
def versions(workspace: RunStore) -> tuple[Run, Run]:
    """Two runs of 48 questions: faithfulness a little better, the others noise."""
    rng = np.random.default_rng(11)
    before = rng.uniform(0.2, 0.8, (48, len(SCORES)))
    after = (before + rng.normal(0, 0.25, before.shape)).clip(0, 1)
    after[:, 0] = (before[:, 0] + rng.normal(0.09, 0.25, 48)).clip(0, 1)
    root = str(workspace.workspace.root)
    first, second = (
        add_run(
            [
                {"question": f"{at}?", "answer": "a", "scores": dict(zip(SCORES, row.tolist(), strict=True))}
                for at, row in enumerate(table)
            ],
            name,
            "handbook",
            root,
        )
        for name, table in (("before", before), ("after", after))
    )
    return first, second


def _answer(store: RunStore, versions: tuple[Run, Run], primary: str = "") -> dict[str, Any]:
    base, other = versions
    answer = comparison_answer(base, [other], comparisons_with(store, base, [other], "all", primary), "all")
    return dict(answer["comparisons"][0])


def test_no_verdict_contradicts_the_interval_beside_it(
    workspace: RunStore, versions: tuple[Run, Run]
) -> None:
    rows = _answer(workspace, versions)["metrics"]
    assert rows["faithfulness"]["low"] > 0  # by itself, the interval leaves 0 out
    for row in rows.values():
        decided = row["verdict"] in ("better", "worse")
        assert decided == (not row["verdict_low"] <= 0 <= row["verdict_high"])
        assert decided == (row["adjusted_p"] < 0.05)


def test_the_primary_metric_is_tested_alone_and_stands_first(
    workspace: RunStore, versions: tuple[Run, Run]
) -> None:
    usual, chosen = _answer(workspace, versions), _answer(workspace, versions, "faithfulness")
    assert (usual["primary"], chosen["primary"]) == (GOOD_SHARE, "faithfulness")
    assert list(chosen["metrics"])[:2] == ["faithfulness", GOOD_SHARE]
    assert [name for name, row in chosen["metrics"].items() if row["primary"]] == ["faithfulness"]
    assert chosen["n_family"] == usual["n_family"]
    alone = chosen["metrics"]["faithfulness"]
    assert alone["adjusted_p"] == pytest.approx(alone["p"], abs=0.002)
    assert usual["metrics"]["faithfulness"]["adjusted_p"] > alone["adjusted_p"]
    assert (usual["metrics"]["faithfulness"]["verdict"], alone["verdict"]) == ("no worse", "better")


def test_a_primary_metric_that_no_side_has_gives_way_to_the_pass_rate(
    workspace: RunStore, versions: tuple[Run, Run]
) -> None:
    answer = _answer(workspace, versions, "recall@5")
    assert answer["primary"] == GOOD_SHARE
    assert any("primary metric, recall@5" in warning for warning in answer["warnings"])


def test_the_primary_metric_is_read_from_the_workspace(workspace: RunStore) -> None:
    file = Path(workspace.workspace.root) / FILE_NAME
    assert primary_metric(workspace.workspace, "clinic") == GOOD_SHARE
    file.write_text('primary = "recall@5"\n[project.clinic]\nprimary = "faithfulness"\n', encoding="utf-8")
    assert primary_metric(workspace.workspace, "clinic") == "faithfulness"
    assert primary_metric(workspace.workspace, "handbook") == "recall@5"
    for text in ("primary = 3\n", "primary = \n", 'primary = "recall"\n', "project = 1\n"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=f"{FILE_NAME}.*accepted: "):
            primary_metric(workspace.workspace, "handbook")


def test_a_primary_metric_that_no_run_has_is_refused_with_near_names(
    workspace: RunStore, versions: tuple[Run, Run]
) -> None:
    with pytest.raises(
        DataError, match=r"--primary 'zzz': no run has it; accepted: \"pass rate\", a metric of"
    ):
        _answer(workspace, versions, "zzz")
    with pytest.raises(DataError, match="near names: faithfulness"):
        _answer(workspace, versions, "faithfullness")
    assert _answer(workspace, versions, "recall@5")["primary"] == GOOD_SHARE  # known, and not measured here


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('primery = "recall@5"', r"metrics\.toml: 'primery' is not a key; .*\(did you mean primary\?\)"),
        ("[metrics.bleu]", r"'metrics' is not a key; .*\(did you mean metric\?\)"),
        ("[project.shop.refusal]", r"\[project\.shop\]: 'refusal' is not a key; .*refusals\?"),
        ('[refusals]\npattern = ["x"]', r"\[refusals\]: 'pattern' is not a key; accepted: patterns"),
        ("zzz = 1", r"'zzz' is not a key; accepted: primary, metric, citation_pattern, refusals, project$"),
    ],
)
def test_a_key_that_nothing_reads_is_refused(workspace: RunStore, text: str, message: str) -> None:
    (workspace.workspace.root / FILE_NAME).write_text(text + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        primary_metric(workspace.workspace, "shop")
