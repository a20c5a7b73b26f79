"""Samples are grouped by the language of their question, answer and documents, which scoring tells."""

from __future__ import annotations

import json
from typing import Any

from places import FIXTURES

from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.text.language import language_of

ENGLISH, CHINESE = "Which rivers flow through the city of {}?", "哪些河流流经城市{}？"
PASSAGES = {"en": "The river flows through the old city.", "zh": "这条河流经老城。"}
CITIES = ("Cambridge", "London", "Berlin", "Vienna", "Prague", "Madrid")


def _records(**more: Any) -> list[dict[str, Any]]:
    """Twelve samples: each city in both languages, answered in English, from a passage in its language."""
    return [
        {
            "question_id": f"{language}-{city}",
            "question": question.format(city),
            "answer": f"The river that flows through it is told by the passage about {city}.",
            "retrieved": [{"id": language, "text": PASSAGES[language]}],
            "relevant": ["en"],
            **more,
        }
        for city in CITIES
        for language, question in (("en", ENGLISH), ("zh", CHINESE))
    ]


def _scored(store: RunStore, records: list[dict[str, Any]]) -> ScoredRun:
    return store.scored(add_run(records, "run", "p", str(store.workspace.root)))


def test_the_languages_of_parallel_questions_are_told() -> None:
    """1,000 questions of XQuAD in five languages, whose language is recorded."""
    lines = (FIXTURES / "xquad" / "questions.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    told = [language_of(row["question"]) for row in rows]
    right = [language == row["language"] for language, row in zip(told, rows, strict=True)]
    assert len(rows) == 1000
    assert sum(right) >= 990
    assert all(ok for ok, row in zip(right, rows, strict=True) if row["language"] in {"zh", "ar"})


def test_samples_are_grouped_by_the_language_of_their_texts(workspace: RunStore) -> None:
    slices = {group.name: group for group in _scored(workspace, _records()).slices}
    assert slices["language"].labels == ("en", "zh")
    assert slices["language"].codes.tolist() == [0, 1] * 6
    assert slices["document language"].codes.tolist() == [0, 1] * 6
    assert "answer language" not in slices  # all in English


def test_a_recorded_language_counts_before_one_that_is_told(workspace: RunStore) -> None:
    scored = _scored(workspace, _records(tags={"language": "Latin"}))
    assert [group.labels for group in scored.groups if group.name == "language"] == [("Latin",)]


def test_a_language_told_once_is_taken_for_a_mistake(workspace: RunStore) -> None:
    records = [record for record in _records() if record["question_id"].startswith("en")]
    records.append({**records[0], "question_id": "zh", "question": CHINESE})
    assert "language" not in {group.name for group in _scored(workspace, records).slices}
