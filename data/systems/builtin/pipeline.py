"""The built-in system: searches a corpus, or takes the context of an experiment, and lets a reader answer."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragtriage.data.chunking.chunkers import count_tokens
from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.errors import DataError
from ragtriage.data.systems.builtin.index import (
    NO_REWRITING,
    PipelineSettings,
    Retrieval,
    check_models,
    settings_of,
)
from ragtriage.data.systems.builtin.readers import NEEDS_MODEL, Answer, Reader
from ragtriage.data.systems.system import ModelUse, SystemLimits, SystemReply, SystemRequest

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
