"""The built-in system: searches a corpus, or takes the context of an experiment, and lets a reader answer."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from data.chunking.corpus import Corpus
from data.errors import DataError
from data.systems.builtin.index import PipelineSettings, Retrieval, settings_of
from data.systems.builtin.readers import Reader
from data.systems.system import SystemLimits, SystemReply, SystemRequest

__all__ = ["BuiltInSystem"]

VERSION = 1


class BuiltInSystem:
    """BM25 or embedding retrieval over a corpus, and a reader.

    Args:
        reader: that answers.
        corpus: that is searched; None where every request brings its context.
        defaults: settings that a request does not set.
    """

    def __init__(
        self, reader: Reader, corpus: Corpus | None = None, defaults: PipelineSettings | None = None
    ) -> None:
        self._reader, self._corpus = reader, corpus
        self._defaults = defaults or PipelineSettings()
        self._retrieval = None if corpus is None else Retrieval(corpus)

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

    def unavailable(self, settings: Mapping[str, Any]) -> str:
        """Return why settings cannot be tried; "" where they can."""
        try:
            wanted = settings_of(settings, self._defaults)
        except DataError as error:
            return str(error)
        if wanted.query_rewriting != "none" and self._reader.rewritten("", wanted.query_rewriting) is None:
            return f"query_rewriting {wanted.query_rewriting} is not available: it needs a model (--model)"
        return ""

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:  # noqa: ARG002 -- bounded by the client
        """Answer one question."""
        began = time.perf_counter()
        try:
            settings = settings_of(request.settings, self._defaults)
            retrieved = self._context(request, settings)
        except DataError as error:
            return SystemReply("failed", {}, str(error))
        found = time.perf_counter()
        texts = _first_words([str(entry.get("text", "")) for entry in retrieved], settings.context_words)
        answer = self._reader.answer(request.question, request.history, texts)
        seconds = time.perf_counter() - began
        if answer.reason:
            return SystemReply("failed", {}, answer.reason, seconds, passing=answer.passing)
        sample: dict[str, Any] = {
            "answer": answer.text,
            **answer.fields,
        }
        if request.contexts is None:
            sample |= {"retrieved": retrieved, "retrieval_ms": round(1000 * (found - began), 3)}
        return SystemReply("answered", sample, seconds=seconds)

    def _context(self, request: SystemRequest, settings: PipelineSettings) -> Sequence[Mapping[str, Any]]:
        if request.contexts is not None:
            return request.contexts
        if self._retrieval is None:
            raise DataError("the built-in system has nothing to search; accepted: --corpus PATH")
        query = request.question
        if settings.query_rewriting != "none":
            query = self._reader.rewritten(request.question, settings.query_rewriting) or query
        return self._retrieval.search(query, request.question, settings)

    def close(self) -> None:
        """End what the reader started."""
        self._reader.close()


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
