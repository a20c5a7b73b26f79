"""Metrics of models on this machine: NLI, embeddings, reverse questions, and what keeps them from running."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from command_line import run
from places import FIXTURES

from ragtriage.data.api import open_store
from ragtriage.data.local_models import (
    NliModel,
    context_result,
    nli_result,
    open_embedding,
    open_nli,
    windows,
    word_counts,
)
from ragtriage.metrics.schema.scores import FloatArray

REVERSE = FIXTURES / "reverse_questions"
LABELS = {0: "CONTRADICTION", 1: "Entailment", 2: "neutral"}


def by_words(pairs: Sequence[tuple[str, str]]) -> FloatArray:
    """A model that entails what stands in the premise, and contradicts it with a "not" more or less."""
    rows = []
    for premise, claim in pairs:
        if f"not {claim}" in premise or (claim.startswith("not ") and claim[4:] in premise):
            rows.append([0.02, 0.03, 0.95])
        elif claim in premise:
            rows.append([0.9, 0.05, 0.05])
        else:
            rows.append([0.1, 0.8, 0.1])
    return np.array(rows)


MODEL = NliModel("by words", by_words)


def sample(answer: str, *passages: str | None, claims: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "question": "q",
        "answer": answer,
        "claims": [{"text": claim} for claim in claims] or None,
        "retrieved": [{"text": text} for text in passages],
        "extra": None,
    }


def test_a_claim_holds_where_one_passage_entails_it() -> None:
    result = nli_result(sample("a", "x one y", "two", claims=["one", "two", "three", "not two"]), MODEL)
    assert result.payload["values"]["nli_faithfulness"] == 0.5  # one and two
    assert result.payload["values"]["nli_contradicted"] == 0.25  # "not two"
    assert [entry["rank"] for entry in result.payload["evidence"][:2]] == [1, 2]


def test_documents_disagree_where_one_entails_what_the_other_contradicts() -> None:
    result = nli_result(sample("a", "one", "not one", "four", claims=["one"]), MODEL)
    assert result.payload["values"]["nli_context_consistency"] == 0.0
    result = nli_result(sample("a", "one", "four", claims=["one"]), MODEL)
    assert "nli_context_consistency" not in result.payload["values"]  # one document alone speaks of it


def test_sentences_stand_in_for_claims_and_refusals_claim_nothing() -> None:
    result = nli_result(sample("The Rhine is long. It is wet.", "The Rhine is long. Yes."), MODEL)
    assert result.payload["values"]["nli_faithfulness"] == 0.5
    assert nli_result(sample("I cannot answer this question.", "text"), MODEL).status == "not_applicable"
    assert nli_result(sample("An answer.", None), MODEL).reason == "no retrieved document has a text"


def test_long_passages_are_read_in_windows_that_overlap() -> None:
    words = [str(at) for at in range(1000)]
    parts = windows(" ".join(words))
    assert [len(part.split()) for part in parts] == [400, 400, 400, 400]
    assert {word for part in parts for word in part.split()} == set(words)
    assert windows("") == []


def test_context_by_embeddings() -> None:
    def encode(texts: Sequence[str]) -> FloatArray:
        table = {"q": [1.0, 0.0], "same": [1.0, 0.0], "other": [0.0, 1.0]}
        return np.array([table[text] for text in texts])

    model = SimpleNamespace(name="m", encode=encode)
    values = context_result(sample("a", "same", "same", "other"), model).payload["values"]  # type: ignore[arg-type]
    assert values["embedding_context_similarity"] == pytest.approx(2 / 3)
    assert values["embedding_context_diversity"] == pytest.approx(2 / 3)  # cosines 1, 0, 0
    assert values["embedding_context_redundancy"] == pytest.approx(1 / 3)


def test_reverse_questions_have_the_value_of_the_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = json.loads((REVERSE / "expected.json").read_text(encoding="utf-8"))
    run(capsys, tmp_path, "import", str(REVERSE / "rows.jsonl"))
    answer = json.loads(run(capsys, tmp_path, "score", "rows", "--embedding", "words", "--json").out)
    metric = answer["metrics"]["reverse_question_relevancy"]
    assert metric["mean"] == pytest.approx(expected["mean_same_answer"], abs=1e-12)
    assert metric["n_scored"] == expected["rows"]
    assert answer["off_topic_baseline"] < metric["mean"]
    store = open_store(str(tmp_path))
    assert store.summary(store.runs()[0])["reverse_question_relevancy"].source == "computed"


def test_a_refusal_has_no_reverse_question_relevancy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [
        {
            "question": "When do you open?",
            "answer": "We open at nine.",
            "reverse_questions": ["When do you open?"],
        },
        {
            "question": "Who owns it?",
            "answer": "I'm sorry, I don't know who owns it.",
            "reverse_questions": ["Who owns it?"],
        },
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    run(capsys, tmp_path, "import", str(path))
    answer = run(capsys, tmp_path, "score", "rows", "--embedding", "words", "--json").json
    metric = answer["metrics"]["reverse_question_relevancy"]
    assert (metric["mean"], metric["n_scored"]) == (pytest.approx(1.0), 1)


def test_the_arithmetic_of_the_set_off_topic_and_in_another_language() -> None:
    expected = json.loads((REVERSE / "expected.json").read_text(encoding="utf-8"))
    rows = [json.loads(line) for line in (REVERSE / "rows.jsonl").read_text(encoding="utf-8").splitlines()]

    def relevancy(question: str, reverse: list[str]) -> float:
        vectors = word_counts([question, *reverse])
        return float((vectors[1:] @ vectors[0]).mean())

    off_topic = [relevancy(row["off_topic_question"], row["reverse_questions"]) for row in rows]
    chinese = [relevancy(row["question_zh"], row["reverse_questions"]) for row in rows]
    assert np.mean(off_topic) == pytest.approx(expected["mean_off_topic"], abs=1e-9)
    other_language = expected["mean_question_in_chinese_reverse_in_english"]
    assert np.mean(chinese) == pytest.approx(other_language, abs=1e-3)  # names in Latin letters alone


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing to score with"),
        (("--nli", "/nowhere"), "nothing is downloaded"),
        (("--embedding", "some/model"), "--allow-download"),
        (("--embedding", "words", "--threshold", "nan"), "threshold"),
    ],
)
def test_what_cannot_run_says_why_and_how(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    run(capsys, tmp_path, "import", str(REVERSE / "rows.jsonl"))
    result = run(capsys, tmp_path, "score", "rows", *words)
    assert result.code == 2
    assert message in result.err


class FakeCrossEncoder:
    def __init__(self, model: str, local_files_only: bool, device: str) -> None:
        assert local_files_only
        assert device == "cpu"
        self.model = SimpleNamespace(config=SimpleNamespace(id2label=LABELS))
        if "broken" in model:
            raise OSError("no weights")

    def predict(self, pairs: list[tuple[str, str]], show_progress_bar: bool) -> list[list[float]]:
        assert not show_progress_bar
        return [[0.0, 3.0, 0.0] for _ in pairs]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = ModuleType("sentence_transformers")
    fake.CrossEncoder = FakeCrossEncoder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)


@pytest.mark.usefixtures("library")
def test_a_model_is_opened_from_its_folder_and_its_labels_are_put_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "nli-model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    model = open_nli(str(folder))
    found = model.classify([("a", "b")])
    assert model.name.startswith("nli-model@")
    assert str(tmp_path) not in model.name
    assert found[0, 0] == pytest.approx(np.exp(3) / (np.exp(3) + 2))  # entailment first


@pytest.mark.usefixtures("library")
def test_a_model_that_does_not_load_or_has_other_labels_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    with pytest.raises(Exception, match="cannot be loaded"):
        open_nli(str(broken))
    monkeypatch.setitem(LABELS, 2, "other")
    folder = tmp_path / "m"
    folder.mkdir()
    with pytest.raises(Exception, match="has the labels"):
        open_nli(str(folder))


def test_without_the_extra_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(Exception, match=r"ragtriage\[embedding\]"):
        open_embedding(str(tmp_path))
