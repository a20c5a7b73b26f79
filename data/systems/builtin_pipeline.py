"""The built-in system: chunks of a corpus, an index, a reranker, and an answer from what was found."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, cast

import orjson

from ragtriage.data.chunking.chunkers import Chunking, Strategy, TokenizedText, chunks_of, count_tokens
from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.chunking.retrievers import Retriever, open_retriever, quiet_loading
from ragtriage.data.errors import DataError
from ragtriage.data.systems.builtin_readers import NEEDS_MODEL, Answer, Reader
from ragtriage.data.systems.system import ModelUse, SystemLimits, SystemReply, SystemRequest
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


VERSION = 1
NO_CORPUS = "the built-in system has nothing to search; accepted: --corpus PATH"


class BuiltInSystem:
    """BM25 or embedding retrieval over a corpus, and a reader.

    Without a corpus every request brings its context; `defaults` are settings that a request does not set.
    """

    def __init__(
        self, reader: Reader, corpus: Corpus | None = None, defaults: PipelineSettings | None = None
    ) -> None:
        self._reader, self._corpus = reader, corpus
        self._defaults = defaults or PipelineSettings()
        self._retrieval = None if corpus is None else Retrieval(corpus)
        self._counted: dict[str, int] = {}

    @property
    def name(self) -> str:
        """How it is called on screens."""
        read = f", {words} words" if (words := self._defaults.context_words) else ""
        return f"built-in {self._reader.name}{read}"

    @property
    def identity(self) -> str:
        """Digest of its version, reader, settings and corpus."""
        version = "" if self._corpus is None else self._corpus.version
        content = [VERSION, self._reader.name, vars(self._defaults), version]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def unavailable(self, request: SystemRequest) -> str:
        """Return why a request cannot be tried; "" where it can. Models that it names are loaded here.

        Raises:
            DataError: a setting, an extra, a model or the corpus is wrong or missing; the user can mend it.
        """
        settings = settings_of(request.settings, self._defaults)
        if request.contexts is not None:
            return ""
        if self._retrieval is None:
            raise DataError(NO_CORPUS)
        check_models(settings)
        if settings.query_rewriting != NO_REWRITING and not self._reader.asks_model:
            return NEEDS_MODEL.format(how=settings.query_rewriting)
        return ""

    def expected_use(self, requests: Sequence[SystemRequest]) -> ModelUse:
        """Return what requests take of the reader's model; a question is rewritten once for all arms."""
        if not self._reader.asks_model:
            return self._reader.expected_use([], [])
        tokens, rewritten = [], {}
        for request in requests:
            settings = settings_of(request.settings, self._defaults)
            asked = count_tokens(request.question)
            tokens.append(asked + self._context_tokens(request, settings))
            if request.contexts is None and settings.query_rewriting != NO_REWRITING:
                rewritten[settings.query_rewriting, request.question] = asked
        return self._reader.expected_use(tokens, list(rewritten.values()))

    def _context_tokens(self, request: SystemRequest, settings: PipelineSettings) -> int:
        """Return how long the context of a request is, at most where it is still to be searched for."""
        if request.contexts is None:
            tokens = settings.top_k * settings.chunk_size
        else:
            tokens = sum(self._tokens_of(str(entry.get("text", ""))) for entry in request.contexts)
        return min(tokens, settings.context_words * 2) if settings.context_words else tokens

    def _tokens_of(self, text: str) -> int:
        if text not in self._counted:  # the arms of an experiment share their texts
            self._counted[text] = count_tokens(text)
        return self._counted[text]

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:  # noqa: ARG002 -- bounded by the client
        """Answer one question."""
        began = time.perf_counter()
        try:
            settings = settings_of(request.settings, self._defaults)
            written = self._rewritten(request, settings)
            if written.reason:
                return SystemReply("failed", {}, written.reason, passing=written.passing)
            searched = time.perf_counter()
            retrieved = self._context(request, settings, written.text)
        except DataError as error:
            return SystemReply("failed", {}, str(error))
        retrieved_at = time.perf_counter()
        texts = _first_words([str(entry.get("text", "")) for entry in retrieved], settings.context_words)
        answer = self._reader.answer(request.question, request.history, texts)
        seconds = time.perf_counter() - began
        if answer.reason:
            return SystemReply("failed", {}, answer.reason, seconds, passing=answer.passing)
        sample: dict[str, Any] = {"answer": answer.text, **_added(answer.fields, written.fields)}
        if request.contexts is None:
            waited = written.fields.get("latency_ms", 0.0)  # as it took when it was asked, not from the cache
            sample |= {
                "retrieved": retrieved,
                "retrieval_ms": round(1000 * (retrieved_at - searched) + waited, 3),
                **({"search_query": written.text} if written.text != request.question else {}),
            }
        return SystemReply("answered", sample, seconds=seconds)

    def _rewritten(self, request: SystemRequest, settings: PipelineSettings) -> Answer:
        """Return what to search for: the question as it stands, or as a model writes it."""
        if request.contexts is not None or settings.query_rewriting == NO_REWRITING:
            return Answer(request.question)
        how = settings.query_rewriting
        written = self._reader.rewritten(request.question, how)
        return replace(written, reason=f"query rewriting: {written.reason}") if written.reason else written

    def _context(
        self, request: SystemRequest, settings: PipelineSettings, query: str
    ) -> Sequence[Mapping[str, Any]]:
        if request.contexts is not None:
            return request.contexts
        if self._retrieval is None:
            raise DataError(NO_CORPUS)
        return self._retrieval.search(query, request.question, settings)

    def start(self) -> None:
        """Start the reader; raises a DataError where it cannot answer, as without a key."""
        self._reader.start()

    def close(self) -> None:
        """End what the reader started."""
        self._reader.close()


def _added(answered: Mapping[str, Any], rewritten: Mapping[str, Any]) -> dict[str, Any]:
    """Return tokens, cost and time of the answer and of the rewriting before it, together."""
    if not rewritten:
        return dict(answered)
    return {name: value + rewritten[name] for name, value in answered.items() if name in rewritten}


def _first_words(texts: Sequence[str], most: int) -> list[str]:
    """Return the texts cut off after so many words of all of them together; 0 for no limit."""
    if not most:
        return list(texts)
    left, kept = most, []
    for text in texts:
        words = text.split(" ")
        kept.append(" ".join(words[:left]))
        left -= min(left, len(words))
        if not left:
            break
    return kept
