"""The retrieval of the built-in system: chunks of a corpus, an index, and a reranker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, cast

import orjson

from ragtriage.data.chunking.chunkers import Chunking, Strategy, TokenizedText, chunks_of
from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.chunking.retrievers import Retriever, open_retriever, quiet_loading
from ragtriage.data.errors import DataError
from ragtriage.data.text.tokens import content_tokens, lowered

NO_RERANKER = "none"
RERANKERS = "none, words, or cross-encoder:PATH with the folder of a sentence-transformers model"
MOST_LOADED = 4  # models of the arms of one experiment, which ask in turn
Rerank = Callable[[str, Sequence[str]], list[float]]  # question, texts -> scores, the best highest


def check_reranker(name: str) -> None:
    """Raise a DataError for what is not a reranker; nothing is loaded."""
    kind, _, path = name.partition(":")
    if name not in (NO_RERANKER, "words") and not (kind == "cross-encoder" and Path(path).is_dir()):
        raise DataError(f"reranker {name!r}; accepted: {RERANKERS}")


def open_reranker(name: str) -> Rerank | None:
    """Return the reranker of that name; None for "none". Its model is loaded once.

    Raises:
        DataError: there is no such reranker, its extra is missing, or the model is not a cross-encoder.
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
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            f"cross-encoder {path!r} cannot be loaded ({reason}); accepted: {RERANKERS}"
        ) from error
    if model.num_labels != 1:
        raise DataError(
            f"cross-encoder {path!r} gives {model.num_labels} values for a pair; accepted: a reranker, which "
            "gives one"
        )
    return model


NO_REWRITING = "none"
REWRITING = (NO_REWRITING, "hyde", "expansion")
CANDIDATES = 4  # times top_k are retrieved where a reranker follows


@dataclass(frozen=True)
class PipelineSettings:
    """The parameters of the built-in system that an experiment can change; each a setting of that name."""

    chunking: str = "fixed"  # "fixed", "paragraph", "heading" or "recursive"
    chunk_size: int = 256  # in tokens
    chunk_overlap: int = 0  # in tokens, of fixed chunks
    retriever: str = "bm25"  # "bm25", or "embedding:PATH" of a model on this machine
    reranker: str = "none"  # "none", "words", or "cross-encoder:PATH" of a model on this machine
    top_k: int = 5  # documents that are answered from
    query_rewriting: str = "none"  # "none", "hyde" or "expansion"; the last two need a model
    context_words: int = 0  # words of the context that are read; 0 for all

    @property
    def splitting(self) -> Chunking:
        """How texts are split."""
        return Chunking(cast(Strategy, self.chunking), self.chunk_size, self.chunk_overlap)


NUMBERS = {"chunk_size": 1, "chunk_overlap": 0, "top_k": 1, "context_words": 0}  # name -> least


def settings_of(requested: Any, defaults: PipelineSettings) -> PipelineSettings:
    """Return the settings of a request over the defaults.

    Raises:
        DataError: a name is not known, or a value is none that it can have.
    """
    values = dict(vars(defaults))
    for name, value in dict(requested).items():
        if name not in values:
            raise DataError(f"setting {str(name)[:40]!r}; accepted: {', '.join(values)}")
        if name in NUMBERS:
            if isinstance(value, bool) or not isinstance(value, int) or value < NUMBERS[name]:
                raise DataError(f"{name} {value!r}; accepted: a whole number of {NUMBERS[name]} or more")
        elif not isinstance(value, str):
            raise DataError(f"{name} {value!r}; accepted: text")
        values[name] = value
    settings = PipelineSettings(**values)
    _ = settings.splitting  # raises for what cannot be split
    if settings.query_rewriting not in REWRITING:
        raise DataError(f"query_rewriting {settings.query_rewriting!r}; accepted: {', '.join(REWRITING)}")
    check_reranker(settings.reranker)
    return settings


def check_models(settings: PipelineSettings) -> None:
    """Load the models that settings name, before anything is asked.

    Raises:
        DataError: an extra is missing, or a model is not there; the message says what to do.
    """
    open_retriever(settings.retriever, [])
    open_reranker(settings.reranker)


@dataclass(frozen=True)
class _Indexed:
    """The chunks of a corpus under one splitting, and their index."""

    chunks: tuple[dict[str, Any], ...]
    retriever: Retriever


class Retrieval:
    """Searches a corpus under any settings; each splitting is indexed once. Thread-safe."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._texts = {document.doc_id: TokenizedText(document.text) for document in corpus.documents}
        self._indexes: dict[tuple[Chunking, str], _Indexed] = {}
        self._lock = Lock()

    def search(self, query: str, question: str, settings: PipelineSettings) -> list[dict[str, Any]]:
        """Return the best chunks with their scores: found by the query, reranked by the question."""
        rerank = open_reranker(settings.reranker)
        depth = settings.top_k * (CANDIDATES if rerank else 1)
        with self._lock:
            index = self._index(settings.splitting, settings.retriever)
            positions, scores = index.retriever.search([query], min(depth, max(len(index.chunks), 1)))
        hits = [
            {**index.chunks[int(at)], "score": float(score)}
            for at, score in zip(positions[0], scores[0], strict=True)
            if at >= 0
        ]
        return (_reranked(hits, question, rerank) if rerank else hits)[: settings.top_k]

    def _index(self, splitting: Chunking, retriever: str) -> _Indexed:
        key = splitting, retriever
        if key not in self._indexes:
            chunks = tuple(
                {
                    "id": f"{document.doc_id}:{chunk.start}-{chunk.end}",
                    "text": document.text[chunk.start : chunk.end],
                    **{"doc_id": document.doc_id, "start": chunk.start, "end": chunk.end},
                }
                for document in self.corpus.documents
                for chunk in chunks_of(self._texts[document.doc_id], splitting)
            )
            self._indexes[key] = _Indexed(chunks, open_retriever(retriever, [str(c["text"]) for c in chunks]))
        return self._indexes[key]


def _reranked(chunks: Sequence[dict[str, Any]], question: str, rerank: Rerank) -> list[dict[str, Any]]:
    """Order chunks anew; equal ones keep their order."""
    scores = rerank(question, [str(chunk["text"]) for chunk in chunks]) if chunks else []
    order = sorted(range(len(chunks)), key=lambda at: -scores[at])
    return [{**chunks[at], "score": scores[at]} for at in order]
