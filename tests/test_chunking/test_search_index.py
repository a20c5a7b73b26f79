"""BM25 in several scripts, in a fixed order, and the embedding option."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ragtriage.data.chunking.retrievers import Bm25Index, EmbeddingIndex, open_retriever
from ragtriage.data.errors import DataError
from ragtriage.data.text.tokens import search_tokens

CITIES = [
    "北京是中国的首都，人口两千多万。",
    "上海是中国最大的城市之一。",
    "Москва является столицей России.",
    "Paris is the capital of France; trains run to Lyon.",
    "",
]


@pytest.mark.parametrize(
    ("query", "best"),
    [("中国的首都在哪里", 0), ("上海", 1), ("столица России", 2), ("Which capital has running trains?", 3)],
)
def test_the_right_text_is_first_in_every_script(query: str, best: int) -> None:
    places, scores = Bm25Index(CITIES).search([query], 3)
    assert places[0, 0] == best
    assert scores[0, 0] > 0


def test_what_shares_no_word_is_not_found() -> None:
    places, scores = Bm25Index(CITIES).search(["xyzzy", "", "Lyon"], 3)
    assert places.tolist() == [[-1, -1, -1], [-1, -1, -1], [3, -1, -1]]
    assert scores[:2].sum() == 0


def test_equal_scores_stand_in_the_order_of_the_texts() -> None:
    places, _ = Bm25Index(["red apple", "blue sky", "red apple", "red apple"]).search(["apple"], 3)
    assert places.tolist() == [[0, 2, 3]]


@pytest.mark.parametrize("texts", [[], [""], ["", "。"]])
def test_an_index_of_nothing_finds_nothing(texts: list[str]) -> None:
    places, _ = Bm25Index(texts).search(["anything"], 2)
    assert places.tolist() == [[-1, -1]]


def test_tokens_of_mixed_text() -> None:
    assert search_tokens("Running Поезда 3.14 东京都 京") == ["run", "поезд", "3", "14", "东京", "京都", "京"]


def test_embeddings_are_compared_by_cosine() -> None:
    vectors = {"up": [0.0, 2.0], "right": [3.0, 0.0], "both": [1.0, 1.0], "": [0.0, 0.0]}
    index = EmbeddingIndex(
        ["right", "both", "up", ""], lambda texts: np.array([vectors[one] for one in texts])
    )
    places, scores = index.search(["up"], 3)
    assert places.tolist() == [[2, 1, 0]]
    np.testing.assert_allclose(scores, [[1.0, 0.5**0.5, 0.0]])


@pytest.mark.parametrize("name", ["bm26", "embedding", "embedding:", "bm25:x"])
def test_an_unknown_retriever_is_named(name: str) -> None:
    with pytest.raises(DataError, match="accepted: bm25, or embedding:PATH"):
        open_retriever(name, ["a"])


def test_a_model_that_is_not_here_is_not_fetched(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none is downloaded"):
        open_retriever(f"embedding:{tmp_path / 'nowhere'}", ["a"])
    with pytest.raises(DataError, match=r"ragtriage\[embedding\]"):
        open_retriever(f"embedding:{tmp_path}", ["a"])
