"""Models of the built-in system: missing or wrong ones are named before anything is asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
from command_line import run
from reading_systems import write_questions

from ragtriage.data.chunking import retrievers
from ragtriage.data.errors import DataError
from ragtriage.data.systems import builtin_pipeline
from ragtriage.data.systems.builtin_pipeline import open_reranker

Capture = pytest.CaptureFixture[str]


class Encoder:
    """Scores a pair by the length of the text; two labels where the folder is named so."""

    loaded: ClassVar[list[str]] = []

    def __init__(self, path: str, **_: object) -> None:
        Encoder.loaded.append(path)
        if "broken" in path:
            raise KeyError("model.safetensors\nis cut off")
        self.num_labels = 3 if "nli" in path else 1

    def predict(self, pairs: list[tuple[str, str]], show_progress_bar: bool) -> list[float]:
        return [float(len(text)) for _, text in pairs]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    Encoder.loaded = []
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(CrossEncoder=Encoder))
    builtin_pipeline._cross_encoder.cache_clear()
    yield
    builtin_pipeline._cross_encoder.cache_clear()


def folder(tmp_path: Path, name: str, architecture: str) -> Path:
    path = tmp_path / name
    path.mkdir()
    (path / "config.json").write_text(json.dumps({"architectures": [architecture]}), encoding="utf-8")
    return path


def test_a_cross_encoder_is_loaded_once_and_orders_texts(library: None, tmp_path: Path) -> None:
    path = folder(tmp_path, "ranker", "BertForSequenceClassification")
    rerank = open_reranker(f"cross-encoder:{path}")
    assert rerank is not None
    assert rerank("q", ["aa", "a", "aaa"]) == [2.0, 1.0, 3.0]
    assert open_reranker(f"cross-encoder:{path}/../ranker") is rerank
    assert Encoder.loaded == [str(path)]


@pytest.mark.parametrize(
    ("name", "architecture", "said"),
    [
        ("embedder", "BertModel", "a plain BertModel that scores no pairs"),
        ("nli", "BertForSequenceClassification", "gives 3 values for a pair"),
        ("broken", "BertForSequenceClassification", "cannot be loaded .'model.safetensors"),
    ],
)
def test_what_is_no_reranker_is_refused(
    library: None, tmp_path: Path, name: str, architecture: str, said: str
) -> None:
    with pytest.raises(DataError, match=said) as told:
        open_reranker(f"cross-encoder:{folder(tmp_path, name, architecture)}")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        ("retriever=bm25,embedding:{model}", "pip install 'ragtriage[embedding]'"),
        ("reranker=none,cross-encoder:{model}", "pip install 'ragtriage[embedding]'"),
        ("retriever=bm25,embedding:/nowhere", "embedding model '/nowhere' is not a folder"),
        ("reranker=none,cross-encoder:/nowhere", "reranker 'cross-encoder:/nowhere'; accepted: none, words"),
        ("retriever=bm25,tfidf", "retriever 'tfidf'; accepted: bm25"),
        ("chunking=fixed,random", "accepted: fixed"),
    ],
)
def test_a_missing_extra_or_model_is_one_sentence_and_nothing_is_asked(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: str, said: str
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    retrievers._encoder.cache_clear()
    builtin_pipeline._cross_encoder.cache_clear()
    model = folder(tmp_path, "small", "BertForSequenceClassification")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "one.md").write_text("The code of item000 is K1000X.", encoding="utf-8")
    questions = write_questions(tmp_path / "codes.jsonl", 2)
    words = ["experiment", "arms", "--system", "builtin", "--questions", str(questions)]
    words += ["--corpus", str(corpus), "--factor", factor.format(model=model)]
    answer = run(capsys, tmp_path / "w", *words)
    assert answer.code == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert not list((tmp_path / "w").rglob("journal.jsonl"))


def test_a_pipeline_without_a_corpus_is_refused_before_it_is_asked(capsys: Capture, tmp_path: Path) -> None:
    questions = write_questions(tmp_path / "codes.jsonl", 2)
    words = ["experiment", "arms", "--system", "builtin", "--questions", str(questions)]
    answer = run(capsys, tmp_path / "w", *words, "--factor", "top_k=1,2")
    assert answer.code == 2
    assert "nothing to search; accepted: --corpus PATH" in answer.err


def test_a_model_is_named_by_its_folder_in_the_arms(library: None, capsys: Capture, tmp_path: Path) -> None:
    model = folder(tmp_path, "ranker", "BertForSequenceClassification")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for at in range(3):
        (corpus / f"d{at}.md").write_text(f"The code of item00{at} is K{at * 37 + 1000}X.", encoding="utf-8")
    questions = write_questions(tmp_path / "codes.jsonl", 3)
    words = ["experiment", "arms", "--system", "builtin", "--questions", str(questions)]
    words += ["--corpus", str(corpus), "--factor", f"reranker=none,cross-encoder:{model}", "--json"]
    answer = run(capsys, tmp_path / "w", *words).json
    assert [arm["title"] for arm in answer["arms"]] == [
        "reranker none",
        "reranker cross-encoder:ranker",
    ]
    assert answer["progress"]["failed"] == 0
