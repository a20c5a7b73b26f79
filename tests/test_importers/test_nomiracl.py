"""NoMIRACL's responses, imported untouched: the published kind of figures, by subset, language and model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from places import REPOSITORY

from ragtriage.data.importers.data_sets.labelled_answers import response_label
from ragtriage.data.importers.detect import detect
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_source
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun

FOLDER = REPOSITORY / "tests" / "fixtures" / "nomiracl"


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return dict(json.loads((FOLDER / "expected.json").read_text("utf-8")))


def _rows(scored: ScoredRun, language: str, subset: str) -> Any:
    samples = scored.samples.read(range(scored.n), ["tags"])
    tags = [{tag["key"]: tag["value"] for tag in sample["tags"]} for sample in samples]
    return np.array([entry["language"] == language and entry["subset"] == subset for entry in tags])


def test_every_model_language_and_subset_has_its_figures(
    workspace: RunStore, expected: dict[str, Any]
) -> None:
    source = InputFile.from_path(FOLDER / "responses.jsonl.gz")
    assert detect(source) == "nomiracl"
    runs = [entry.run for entry in import_source(workspace, source, Options(), "nomiracl")]
    assert len(runs) == 5
    for run in runs:
        scored = workspace.scored(run)
        answers = scored.values("answers_by_its_words")
        refused = scored.values("refused")
        empty = np.array([not row["answer"] for row in scored.samples.read(range(scored.n), ["answer"])])
        assert empty.sum() == (51 if run.name == "aya-101" else 0)  # which the product counts as refusals
        for key, counts in expected["counts"].items():
            rows = _rows(scored, *key.split("/"))
            told = counts[run.name]
            assert int(rows.sum()) == told["n"]
            assert int(answers[rows].sum()) == told["answered"], (run.name, key)
            assert int(refused[rows & ~empty].sum()) == told["refused"], (run.name, key)
            if key.endswith("non_relevant"):
                rate = expected["rates"][key][run.name]
                assert answers[rows].mean() == pytest.approx(rate["hallucination_rate"])
                rows &= ~empty
                rejected = scored.values("negative_rejection_rate")[rows].mean()
                assert rejected == pytest.approx(told["refused"] / rows.sum())
                if not empty.any():
                    assert rejected == pytest.approx(rate["negative_rejection_rate"])


@pytest.mark.parametrize(
    ("response", "label"),
    [
        ("Yes, answer is present.", "answered"),
        ("I don't know.", "refused"),
        ("Yes, answer is present in 1. I don't know about 2.", "invalid"),
        ("", "invalid"),
    ],
)
def test_a_response_is_told_by_its_words(response: str, label: str) -> None:
    assert response_label(response) == label
