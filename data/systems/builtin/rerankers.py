"""The rerankers of the built-in system: shared words, or a cross-encoder on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import orjson

from ragtriage.data.chunking.retrievers import quiet_loading
from ragtriage.data.errors import DataError
from ragtriage.data.text.tokens import content_tokens, lowered

NO_RERANKER = "none"
RERANKERS = "none, words, or cross-encoder:PATH with the folder of a sentence-transformers model"
MOST_LOADED = 4  # models of the arms of one experiment, which ask in turn
Rerank = Callable[[str, Sequence[str]], list[float]]  # question, texts -> scores, the best highest


def check_reranker(name: str) -> None:
    """Raise a DataError for what is no reranker; nothing is loaded."""
    kind, _, path = name.partition(":")
    if name not in (NO_RERANKER, "words") and not (kind == "cross-encoder" and Path(path).is_dir()):
        raise DataError(f"reranker {name!r}; accepted: {RERANKERS}")


def open_reranker(name: str) -> Rerank | None:
    """Return the reranker of that name; None for "none". Its model is loaded once.

    Raises:
        DataError: there is no such reranker, its extra is missing, or the model is no cross-encoder.
    """
    check_reranker(name)
    if name == NO_RERANKER:
        return None
    if name == "words":
        return shared_words
    with _LOADING:
        return _cross_encoder(str(Path(name.partition(":")[2]).resolve()))


def shared_words(question: str, texts: Sequence[str]) -> list[float]:
    """Score texts by the words of the question that they have."""
    wanted = content_tokens(lowered(question))
    return [float(len(wanted & content_tokens(lowered(text)))) for text in texts]


_LOADING = Lock()  # several questions are asked at a time, and a cache alone would load a model for each


@lru_cache(maxsize=MOST_LOADED)
def _cross_encoder(path: str) -> Rerank:
    model, asking = _loaded(path), Lock()

    def rerank(question: str, texts: Sequence[str]) -> list[float]:
        with asking:  # the tokenizers below are not safe between threads
            scores = model.predict([(question, text) for text in texts], show_progress_bar=False)
        return [float(score) for score in scores]

    return rerank


def _check_architecture(path: str) -> None:
    """Raise for a model without a head that scores pairs: the library would draw one at random."""
    try:
        configuration = orjson.loads((Path(path) / "config.json").read_bytes())
        names = [str(name) for name in configuration.get("architectures") or ()]
    except (OSError, orjson.JSONDecodeError, AttributeError, TypeError):
        return  # loading it names what is wrong
    if names and all(name.endswith("Model") for name in names):
        raise DataError(
            f"cross-encoder {path!r} is a plain {names[0][:60]} that scores no pairs; accepted: a reranker, "
            "such as cross-encoder/ms-marco-MiniLM-L6-v2 saved to a folder"
        )


def _loaded(path: str) -> Any:
    quiet_loading()
    try:
        from sentence_transformers import CrossEncoder
    except ImportError as error:
        raise DataError(
            "cross-encoders need an extra; accepted: pip install 'ragtriage[embedding]'"
        ) from error
    _check_architecture(path)
    try:
        model = CrossEncoder(path, local_files_only=True, device="cpu")
    except Exception as error:  # the libraries below raise errors of many kinds
        said = " ".join(str(error).split())[:200]
        raise DataError(f"cross-encoder {path!r} cannot be loaded ({said}); accepted: {RERANKERS}") from error
    if model.num_labels != 1:
        raise DataError(
            f"cross-encoder {path!r} gives {model.num_labels} values for a pair; accepted: a reranker, which "
            "gives one"
        )
    return model
