"""Load an embedding or NLI model from a folder here, or from the Hub where a download is allowed."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.data.chunking.retrievers import quiet_loading
from ragtriage.data.errors import DataError
from ragtriage.data.text.tokens import surface_tokens
from ragtriage.metrics.schema.scores import FloatArray

WORDS = "words"  # counts of words in place of an embedding model: no download, no meaning
FOLDER = "the folder of a model on this machine, or a name on the Hugging Face Hub with --allow-download"
ENTAILMENT, NEUTRAL, CONTRADICTION = "entailment", "neutral", "contradiction"


@dataclass(frozen=True)
class EmbeddingModel:
    """Texts to vectors.

    Attributes:
        name: of the model, without the path to it.
        encode: texts -> (n, d) unit vectors.
    """

    name: str
    encode: Callable[[Sequence[str]], FloatArray]


@dataclass(frozen=True)
class NliModel:
    """Pairs of premise and hypothesis to probabilities.

    Attributes:
        name: of the model, without the path to it.
        classify: pairs -> (n, 3) probabilities of entailment, neutral and contradiction.
    """

    name: str
    classify: Callable[[Sequence[tuple[str, str]]], FloatArray]


def open_embedding(model: str, allow_download: bool = False) -> EmbeddingModel:
    """Load an embedding model; WORDS counts words instead.

    Raises:
        DataError: the extra is missing, or the model is not there and may not be downloaded.
    """
    if model == WORDS:
        return EmbeddingModel(WORDS, word_counts)
    loaded = _load("SentenceTransformer", model, allow_download)

    def encode(texts: Sequence[str]) -> FloatArray:
        vectors = np.asarray(loaded.encode(list(texts), show_progress_bar=False), dtype=np.float64)
        return _unit(vectors)

    return EmbeddingModel(_name(model), encode)


def open_nli(model: str, allow_download: bool = False) -> NliModel:
    """Load a cross-encoder that tells entailment, neutral and contradiction.

    Raises:
        DataError: the extra is missing, the model is not there, or its labels are not those three.
    """
    loaded = _load("CrossEncoder", model, allow_download)
    labels = {str(label).casefold(): int(at) for at, label in loaded.model.config.id2label.items()}
    if set(labels) != {ENTAILMENT, NEUTRAL, CONTRADICTION}:
        raise DataError(
            f"NLI model {_name(model)!r} has the labels {', '.join(sorted(labels))[:200]}; accepted: one "
            "with entailment, neutral and contradiction"
        )
    order = [labels[ENTAILMENT], labels[NEUTRAL], labels[CONTRADICTION]]

    def classify(pairs: Sequence[tuple[str, str]]) -> FloatArray:
        logits = np.asarray(loaded.predict(list(pairs), show_progress_bar=False), dtype=np.float64)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True), dtype=np.float64)[:, order]

    return NliModel(_name(model), classify)


def word_counts(texts: Sequence[str]) -> FloatArray:
    """Return (n, d) unit vectors of word counts, a dimension a word; zeros for a text without words."""
    counts = [Counter(surface_tokens(text)) for text in texts]
    column = {word: at for at, word in enumerate(dict.fromkeys(word for count in counts for word in count))}
    vectors = np.zeros((len(texts), max(len(column), 1)))
    for row, count in enumerate(counts):
        for word, times in count.items():
            vectors[row, column[word]] = times
    return _unit(vectors)


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float64)


def _load(kind: str, model: str, allow_download: bool) -> Any:
    local = Path(model).is_dir()
    if not local and not allow_download:
        raise DataError(
            f"model {model[:120]!r} is no folder here, and nothing is downloaded; accepted: {FOLDER}"
        )
    if local:
        quiet_loading()
    try:
        import sentence_transformers
    except ImportError as error:
        raise DataError("local models need an extra; accepted: pip install 'ragtriage[embedding]'") from error
    try:
        return getattr(sentence_transformers, kind)(model, local_files_only=local, device="cpu")
    except Exception as error:  # the libraries below raise errors of many kinds
        raise DataError(
            f"model {_name(model)!r} cannot be loaded ({str(error)[:200]}); accepted: {FOLDER}"
        ) from error


def _name(model: str) -> str:
    """Return the name of a model: of a folder its last part and a digest of its configuration."""
    path = Path(model)
    if not path.is_dir():
        return model
    configuration = path / "config.json"
    content = configuration.read_bytes() if configuration.is_file() else b""
    return f"{path.resolve().name}@{hashlib.sha256(content).hexdigest()[:8]}"
