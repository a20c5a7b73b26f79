"""Gold ids and retrieved ids: ids inside documents are read, and ids that never match are told."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from places import FIXTURES

from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.errors import InputError
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_source
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.preview import preview
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun

RU_TRANSNEFT = FIXTURES / "ru_transneft" / "evaluation_results.json"


def imported(workspace: RunStore, rows: list[dict[str, Any]], **options: Any) -> ScoredRun:
    source = InputFile.from_bytes("rows.json", json.dumps(rows).encode())
    (run,) = import_source(workspace, source, Options(**options), "p")
    return workspace.scored(run.run)


def rows_of(n: int, gold: str, document: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "query": f"question {at}",
            "response": "an answer",
            "contexts": [{key: value.format(at) for key, value in document.items()}],
            "gold_ids": [gold.format(at)],
        }
        for at in range(n)
    ]


def test_ids_inside_documents_are_read_where_the_gold_occurs_there(workspace: RunStore) -> None:
    (run,) = import_source(workspace, InputFile.from_path(RU_TRANSNEFT), Options(), "p")
    scored = workspace.scored(run.run)
    assert scored.values("mrr@10").mean() == pytest.approx(0.5333, abs=5e-5)
    assert not [finding for finding in check_run(scored) if finding.rule == "ids"]


def test_the_preview_shows_where_ids_are_read_and_it_can_be_changed() -> None:
    source, path = InputFile.from_path(RU_TRANSNEFT), "context_docs[].metadata.section_id"
    seen = preview(source, Options())
    assert (path, "retrieved_ids") in [(column.column, column.field) for column in seen.mapping]
    assert any(path in note for note in seen.runs[0].notes)
    changed = preview(source, Options(mapping={path: ""}))
    assert (path, "") in [(column.column, column.field) for column in changed.mapping]
    assert all("id" not in document for _, record in changed.records for document in record["retrieved"])  # type: ignore[index]


def test_ids_that_never_match_are_a_finding_and_no_recall_of_0(workspace: RunStore) -> None:
    scored = imported(workspace, rows_of(4, "doc-{}", {"id": "chunk-{}", "text": "text {}"}))
    assert np.isnan(scored.values("recall@5")).all()
    (finding,) = [finding for finding in check_run(scored) if finding.rule == "ids"]
    assert finding.n_affected == 4
    assert "'doc-0'" in finding.message
    assert "'chunk-0'" in finding.message


def test_gold_that_names_whole_documents_is_told(workspace: RunStore) -> None:
    rows = rows_of(4, "doc-{}", {"id": "chunk-{}", "doc_id": "doc-{}", "text": "text {}"})
    scored = imported(workspace, rows)
    (finding,) = [finding for finding in check_run(scored) if finding.rule == "ids"]
    assert "match=doc_id" in finding.message
    by_document = imported(workspace, rows, config={"match": "doc_id"}, name="by document")
    assert by_document.values("recall@5").tolist() == [1, 1, 1, 1]


def test_a_few_misses_stay_misses(workspace: RunStore) -> None:
    rows = rows_of(4, "doc-{}", {"id": "doc-{}", "text": "text {}"})
    for row in rows[1:]:
        row["contexts"] = rows[0]["contexts"]
    assert imported(workspace, rows).values("recall@5").tolist() == [1, 0, 0, 0]


def test_ids_can_be_named_inside_documents() -> None:
    rows = rows_of(3, "doc-{}", {"text": "text {}", "source_id": "other-{}"})
    source = InputFile.from_bytes("rows.json", json.dumps(rows).encode())
    seen = preview(source, Options())
    assert any("ids do not match" in note and "contexts[].source_id" in note for note in seen.runs[0].notes)
    chosen = preview(source, Options(mapping={"contexts[].source_id": "retrieved_ids"}))
    assert [record["retrieved"][0]["id"] for _, record in chosen.records] == ["other-0", "other-1", "other-2"]  # type: ignore[index]
    with pytest.raises(InputError, match="no such column"):
        preview(source, Options(mapping={"elsewhere[].id": "retrieved_ids"}))
