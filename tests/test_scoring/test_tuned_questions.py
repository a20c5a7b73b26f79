"""What is said of a run that counts dev questions, or that is on another corpus than its questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dataset_texts import corpus, question_set, windows

from ragtriage.data.api import add_run
from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.datasets.chosen import freeze
from ragtriage.data.datasets.dataset import create_dataset
from ragtriage.data.datasets.from_questions import read_items
from ragtriage.data.datasets.review import read_draft
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.scoring.run_store import open_store
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.metrics.sanity.rule import Finding


def _records(parts: list[str]) -> list[dict[str, Any]]:
    return [
        {"question_id": f"q{at}", "question": f"Rule {at}?", "answer": "Yes.", "tags": {"split": part}}
        for at, part in enumerate(parts)
    ]


def _found(folder: Path, name: str, rule: str) -> list[Finding]:
    store = open_store(str(folder))
    return [finding for finding in check_run(store.scored(store.find(name))) if finding.rule == rule]


@pytest.mark.parametrize(
    ("parts", "title"),
    [
        (["dev", "test", "dev", "test"], "2 dev questions are in these numbers"),
        (["test", "test", "dev"], "1 dev question is in these numbers"),
        (["test", "test"], ""),
        (["train", "validation"], ""),
    ],
)
def test_dev_questions_among_the_numbers_are_said(parts: list[str], title: str, tmp_path: Path) -> None:
    add_run(_records(parts), "mixed", "p", str(tmp_path))
    found = _found(tmp_path, "mixed", "dev_questions")
    assert [finding.title for finding in found] == ([title] if title else [])
    assert [list(finding.rows) for finding in found] == (
        [[at for at, part in enumerate(parts) if part == "dev"]] if title else []
    )


def _run_on(folder: Path, texts: str, name: str, version: str) -> None:
    parsed = ParsedRun(
        texts or "own",
        list(enumerate(_records(["test"]), 1)),
        "run.jsonl",
        "native",
        dataset=name,
        dataset_version=version,
        corpus_version=texts,
    )
    import_parsed_runs(open_store(str(folder)), [parsed], "p", ValidationErrors("run"))


def test_a_run_on_another_version_of_the_corpus_is_told_from_one_on_the_same(tmp_path: Path) -> None:
    dataset = create_dataset(open_store(str(tmp_path), create=True).workspace, "rules")
    gold = [{"text": "The door code changes every Monday."}]
    read = read_items(question_set({"question_id": "q0", "question": "Rule 0?", "relevant": gold}), windows())
    dataset.add_batch(read.items, corpus(), read.facts)
    version, facts, _ = freeze(read_draft(dataset), "Ada", unreviewed=True)
    newer: Corpus = corpus(house="# House\n\nThe code changes daily.\n")
    for texts in (corpus().version, newer.version, "2026-05", ""):
        _run_on(tmp_path, texts, facts.name, facts.dataset_version)
    (finding,) = _found(tmp_path, newer.version, "other_corpus")
    assert finding.severity == "warning"
    assert newer.version in finding.message
    assert version.corpus_version in finding.message
    for texts in (corpus().version, "2026-05", "own"):
        assert _found(tmp_path, texts, "other_corpus") == []
