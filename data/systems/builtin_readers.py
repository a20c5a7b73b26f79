"""What answers from a context: the sentence that fits the question best, or Claude."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Protocol

from ragtriage.data.chunking.chunkers import count_tokens
from ragtriage.data.errors import DataError
from ragtriage.data.judge.call_cache import CachedCalls, CallCache
from ragtriage.data.judge.client import Claude
from ragtriage.data.judge.job_spec import JobSpec, Progress
from ragtriage.data.judge.plan import TOKENS_FOR_ONE
from ragtriage.data.judge.reply_model import ReplyError
from ragtriage.data.judge.requests import FINAL, ClientSettings, ModelCall, Request, Usage
from ragtriage.data.prompts.prompt import Document, JudgedCase, case_message, load_prompt
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.systems.system import ModelUse
from ragtriage.data.text.tokens import content_tokens, lowered, split_sentences

NEEDS_MODEL = "query_rewriting {how} is not available: it needs a model (--model)"
NO_ANSWER = "I cannot answer this: the documents do not say."
LEAST_COVERED = 0.5  # share of the question's words that a document needs, for a sentence of it to answer
OF_DOCUMENT = 0.5  # weight of a word that only the rest of the document has


@dataclass(frozen=True)
class Answer:
    """A reader's reply: an answer, or what to search for instead of a question."""

    text: str  # what it says; "" where it failed
    reason: str = ""  # why it failed; "" where it did not
    # of the sample, beside the answer: tokens, cost and time
    fields: Mapping[str, Any] = field(default_factory=dict)
    passing: bool = False  # whether a failure may be gone when asked again


class Reader(Protocol):
    """Answers a question from documents."""

    @property
    def name(self) -> str:
        """How it is called on screens."""

    def answer(self, question: str, history: Sequence[Mapping[str, str]], documents: Sequence[str]) -> Answer:
        """Answer from documents in rank order; from none, closed book."""

    @property
    def asks_model(self) -> bool:
        """Return whether a model answers, which can then write what to search for as well."""

    def rewritten(self, question: str, how: str) -> Answer:
        """Return what to search for: a passage that could answer ("hyde"), or the question widened."""

    def expected_use(self, tokens: Sequence[int], rewritten: Sequence[int]) -> ModelUse:
        """Return what it takes to answer from so many tokens each, and to rewrite questions of so many."""

    def start(self) -> None:
        """Start what it needs; raises a DataError where it cannot answer, as without a key."""

    def close(self) -> None:
        """End what it started."""


class Extractive:
    """Answers with the sentence of the documents that shares most words with the question. No model.

    A word counts wholly in the sentence and by half in the rest of its document. Equal sentences: the first
    wins. Where no document has half of the question's words, it declines.
    """

    name = "extractive"
    asks_model = False

    def answer(
        self,
        question: str,
        history: Sequence[Mapping[str, str]],  # noqa: ARG002 -- a reader's interface
        documents: Sequence[str],
    ) -> Answer:
        """Answer from documents; without any it declines."""
        wanted = content_tokens(lowered(question))
        best, best_score = NO_ANSWER, 0.0
        for document in documents:
            lower = lowered(document)
            covered = wanted & content_tokens(lower)
            if not wanted or len(covered) < LEAST_COVERED * len(wanted):
                continue
            for start, end in split_sentences(document):
                inside = len(wanted & content_tokens(lower[start:end]))
                score = inside + OF_DOCUMENT * (len(covered) - inside)
                if inside and score > best_score:
                    best, best_score = document[start:end], score
        return Answer(best, fields={"cost_usd": 0.0})

    def rewritten(self, question: str, how: str) -> Answer:  # noqa: ARG002 -- a reader's interface
        """Return that it cannot: a question is rewritten by a model."""
        return Answer("", NEEDS_MODEL.format(how=how))

    def expected_use(self, tokens: Sequence[int], rewritten: Sequence[int]) -> ModelUse:  # noqa: ARG002 -- the same interface
        """Return that no model is asked."""
        return ModelUse(0, 0, 0, 0.0)

    def start(self) -> None:
        """Nothing to start."""

    def close(self) -> None:
        """Nothing to end."""


EXPECTED_TOKENS = 300
STARTS_WITHIN = 60.0  # seconds


class _Calls:
    """The client and the cache in a thread of their own, asked from any other."""

    def __init__(self, settings: ClientSettings, ledger: Ledger) -> None:
        self._settings, self._ledger = settings, ledger
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._calls: Future[CachedCalls] = Future()
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def ask(self, request: Request) -> ModelCall | None:
        """Return the call of a request; None where a stop or too many faults do not allow it.

        Raises:
            JudgeStoppedError: no further request can succeed.
        """
        calls = self._calls.result(STARTS_WITHIN)
        if self._loop is None:
            raise DataError("the client of the model has ended")
        return asyncio.run_coroutine_threadsafe(calls.answer(request), self._loop).result()

    def wait(self) -> None:
        """Wait until the client is there; raises what keeps it from being there."""
        self._calls.result(STARTS_WITHIN)

    def close(self) -> None:
        """End the thread."""
        if self._loop is not None and self._end is not None:
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(STARTS_WITHIN)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 -- raised again in the thread that asks
            if not self._calls.done():
                self._calls.set_exception(error)

    async def _serve(self) -> None:
        self._end = asyncio.Event()
        with CallCache.open(self._ledger) as cache:
            async with Claude(self._settings) as claude:
                self._loop = asyncio.get_running_loop()
                self._calls.set_result(CachedCalls(claude, cache, JobSpec([]), Progress(0)))
                await self._end.wait()
                self._loop = None


class ClaudeReader:
    """Answers with Claude, by the fixed prompt of `ragtriage generate`.

    The ledger keeps the calls; `prompts` is the folder of the user's own prompts, if any.
    """

    def __init__(self, settings: ClientSettings, ledger: Ledger, prompts: Path | None = None) -> None:
        self._settings, self._ledger, self._prompts = settings, ledger, prompts
        self._answering = load_prompt("answering", prompts)
        self._calls: _Calls | None = None
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The model and the version of the prompt."""
        return f"{self._settings.judge}, prompt {self._answering.version}"

    def answer(self, question: str, history: Sequence[Mapping[str, str]], documents: Sequence[str]) -> Answer:
        """Answer from documents in rank order; from none, closed book."""
        case = JudgedCase(
            question,
            tuple((turn.get("role", ""), turn.get("text", "")) for turn in history),
            documents=tuple(Document(rank, text) for rank, text in enumerate(documents, 1) if text),
        )
        return self._said("answering", "answer", case)

    @property
    def asks_model(self) -> bool:
        """That a model answers."""
        return True

    def rewritten(self, question: str, how: str) -> Answer:
        """Return what to search for: a passage that could answer ("hyde"), or the question widened."""
        return self._said(how, "query", JudgedCase(question))

    def expected_use(self, tokens: Sequence[int], rewritten: Sequence[int]) -> ModelUse:
        """Return what it takes to answer from so many tokens each, and to rewrite questions of so many."""
        fixed = count_tokens(self._answering.text)
        sizes = [
            round(TOKENS_FOR_ONE * (fixed + length)) for length in (*tokens, *rewritten)
        ]  # the prompts are about as long
        costs = [self._settings.model.cost(Usage(size, EXPECTED_TOKENS)) for size in sizes]
        known = [cost for cost in costs if cost is not None]
        cost = sum(known) if len(known) == len(costs) else None
        return ModelUse(len(sizes), len(rewritten), sum(sizes), cost)

    def start(self) -> None:
        """Start the client, so that a missing key or library is told before anything is asked."""
        self._started().wait()

    def _started(self) -> _Calls:
        with self._lock:
            self._calls = self._calls or _Calls(self._settings, self._ledger)
            return self._calls

    def _said(self, prompt: str, field: str, case: JudgedCase) -> Answer:
        """Return one text of the model with its tokens, cost and time, or why there is none."""
        try:
            call = self._ask(prompt, field, case)
        except DataError as error:
            return Answer("", str(error), passing=True)
        if call is None or call.payload is None:
            final = call is not None and call.status in FINAL
            return Answer("", "not asked" if call is None else call.reason, passing=not final)
        usage = call.usage
        read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        fields: dict[str, Any] = {"input_tokens": read, "output_tokens": usage.output_tokens}
        cost = {} if call.cost_usd is None else {"cost_usd": call.cost_usd}
        timed = {"latency_ms": round(1000 * call.seconds, 3)}
        return Answer(call.payload[field], fields={**fields, **cost, **timed})

    def _ask(self, prompt: str, field: str, case: JudgedCase) -> ModelCall | None:
        fixed = load_prompt(prompt, self._prompts)
        return self._started().ask(
            Request(
                kind=f"built-in:{prompt}",
                prompt=fixed.version,
                system=fixed.text,
                user=case_message(case),
                schema={
                    "type": "object",
                    "properties": {field: {"type": "string"}},
                    "required": [field],
                    "additionalProperties": False,
                },
                check=lambda reply: _check(reply, field),
                expected_tokens=EXPECTED_TOKENS,
            )
        )

    def close(self) -> None:
        """End the client."""
        if self._calls is not None:
            self._calls.close()


def _check(reply: object, field: str) -> str:
    text = reply.get(field) if isinstance(reply, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise ReplyError(f"{field}: missing or empty; accepted: text")
    return text
