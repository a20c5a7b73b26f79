"""RAMDocs, untouched: coverage, alpha-nDCG, diversity and consistency as the set states them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from places import FIXTURES

from ragtriage.data.api import open_store
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_source
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.gold_join import facets_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.definitions.context_quality import alpha_ndcg
from ragtriage.metrics.schema.batch import Facets

SET = FIXTURES / "ramdocs"


def _imported(file: Path, folder: Path) -> RunStore:
    store = open_store(str(folder))
    import_source(store, InputFile.from_path(file), Options(), "p")
    return store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    folder = tmp_path_factory.mktemp("ramdocs")
    return _imported(SET / "rows.jsonl", folder)


def test_the_set_has_its_expected_values(store: RunStore) -> None:
    expected = json.loads((SET / "expected.json").read_text(encoding="utf-8"))["excerpt"]
    (imported,) = store.runs()
    summary = store.summary(imported)
    assert imported.origin["format"] == "ramdocs"
    assert imported.n == expected["n"]
    assert summary["context_coverage"].mean == pytest.approx(expected["mean_coverage_all_documents"])
    assert summary["recall@3"].mean == pytest.approx(expected["mean_subtopic_recall_at_3"])
    consistency = store.scored(imported).values("context_consistency")
    assert int((consistency < 1).sum()) == expected["questions_with_conflicting_answers"]
    diversity = summary["context_diversity"]
    assert diversity.n_scored == 146  # four questions have one document, which the set counts as 1
    assert diversity.mean is not None
    of_the_set = (diversity.mean * 146 + 4) / 150
    assert of_the_set == pytest.approx(
        expected["mean_diversity_1_minus_jaccard"], abs=2e-4
    )  # its tokens differ


def test_alpha_ndcg_is_that_of_the_set_where_the_ideal_list_knows_the_context_alone(store: RunStore) -> None:
    """Ours holds the answers that no document gives against the ranking too, so it is lower."""
    expected = json.loads((SET / "expected.json").read_text(encoding="utf-8"))["excerpt"]
    (imported,) = store.runs()
    facets = facets_of(pq.read_table(store.workspace.samples_path(imported.run_id)))
    assert facets is not None
    known = Facets(facets.ranked, facets.ranked, facets.status, facets.reason)
    some = facets.ranked.any(axis=(1, 2))
    scores = alpha_ndcg(Facets(*(part[some] for part in vars(known).values())), 5)
    assert np.nansum(scores.values) / 150 == pytest.approx(expected["mean_alpha_ndcg_at_5"])
    ours = store.summary(imported)["alpha_ndcg@5"].mean
    assert ours is not None
    assert ours < expected["mean_alpha_ndcg_at_5"]


def test_the_original_names_are_read_too(tmp_path: Path) -> None:
    row = {
        "question": "Who?",
        "documents": [
            {"text": "Ann did.", "type": "correct", "answer": "Ann"},
            {"text": "?", "type": "noise"},
        ],
        "disambig_entity": ["A"],
        "gold_answers": ["Ann", "Bob"],
        "wrong_answers": [],
    }
    file = tmp_path / "RAMDocs_test.jsonl"
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    store = _imported(file, tmp_path / "w")
    assert store.summary(store.runs()[0])["context_coverage"].mean == 0.5
