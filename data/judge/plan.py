"""The plan of a judge job before anything is sent: samples, calls, tokens, cost, and what is cached."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from data.chunking.tokens import count_tokens
from data.errors import DataError
from data.judge.call_cache import CallCache
from data.judge.client import count_on_service
from data.judge.messages import ClientSettings
from data.judge.prices import PriceTable
from data.judge.progress import JobSpec
from data.judge.requests import FINAL, JudgeTask, Request, TaskSample, Usage, request_key
from data.scoring.scored_run import ScoredRun
from data.store.ledger import Ledger
from data.store.sample_reader import StoredSamples
from data.store.workspace import Run, Workspace
from metrics.schema.scores import IntArray

__all__ = ["JudgePlan", "choose_rows", "plan_task"]

MEASURED_REQUESTS = 100  # texts whose tokens are counted; the others are estimated by their length
TOKENS_FOR_ONE = 1.3  # tokens of the models per token of the bundled tokenizer, from its English and Chinese
READ_AT_ONCE = 256
COUNTED_REQUESTS = 5
STRATA = ("query_type", "answerable")


@dataclass(frozen=True)
class JudgePlan:
    """What a job would take; the field names are the keys of the JSON output.

    Attributes:
        run_id: the run.
        kind: of the task.
        model: the judge.
        prompt: version of what is sent.
        samples: samples and repetitions.
        nothing: of them, those with nothing to judge.
        cached: of them, those whose first call is in the ledger.
        alike: of them, those with the same request as another that is still to be sent.
        calls: calls to make; a context that does not fit the model's window takes more.
        input_tokens: of these calls.
        output_tokens: of these calls.
        cost_usd: None where the model has no price.
        method: how the tokens were obtained.
        price_date: of the price table.
        batch: whether at the price of batches.
    """

    run_id: str
    kind: str
    model: str
    prompt: str
    samples: int
    nothing: int
    cached: int
    alike: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    method: str
    price_date: str
    batch: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)


def choose_rows(
    scored: ScoredRun, limit: int | None = None, sample: int | None = None, seed: int = 0
) -> list[int]:
    """Choose the rows of a run to judge.

    Args:
        scored: the run.
        limit: number of samples from the start.
        sample: number drawn at random, in proportion to query types and answerability.
        seed: of the draw.

    Raises:
        DataError: a number below 1, or both.
    """
    if limit is not None and sample is not None:
        raise DataError("limit and sample: both given; accepted: the first so many, or so many at random")
    for name, number in (("limit", limit), ("sample", sample)):
        if number is not None and number < 1:
            raise DataError(f"{name}: {number}; accepted: a whole number of 1 or more")
    if sample is None or sample >= scored.n:
        return list(range(scored.n if limit is None else min(limit, scored.n)))
    codes = np.zeros(scored.n, dtype=np.int64)
    for slices in scored.slices:
        if slices.name in STRATA:
            codes = codes * len(slices.labels) + slices.codes
    return sorted(_stratified(np.unique(codes, return_inverse=True)[1], sample, seed))


def _stratified(strata: IntArray, sample: int, seed: int) -> list[int]:
    """Draw from each stratum in proportion to its size, rounded by largest remainder."""
    rng = np.random.default_rng(seed)
    sizes = np.bincount(strata)
    exact = sizes * sample / sizes.sum()
    counts = np.floor(exact).astype(np.int64)
    order = np.argsort(-(exact - counts), kind="stable")
    counts[order[: sample - counts.sum()]] += 1
    drawn = [rng.permutation(np.flatnonzero(strata == code))[:count] for code, count in enumerate(counts)]
    return [int(row) for rows in drawn for row in rows]


def plan_task(
    workspace: Workspace,
    run: Run,
    task: JudgeTask,
    settings: ClientSettings,
    spec: JobSpec,
    prices: PriceTable,
    count: bool = False,
) -> JudgePlan:
    """Estimate what a job would take.

    Args:
        workspace: of the run.
        run: the run.
        task: what would be done.
        settings: which model would be asked.
        spec: which samples, how often.
        prices: of the models.
        count: whether the service counts the tokens of a few requests, which is free; else none is sent.
    """
    tally = _Tally()
    stored = StoredSamples(workspace.samples_path(run.run_id))
    with CallCache.open(Ledger(workspace.ledger_path)) as cache:
        for start in range(0, len(spec.rows), READ_AT_ONCE):
            rows = [int(row) for row in spec.rows[start : start + READ_AT_ONCE]]
            samples = stored.read(rows, task.columns)
            first = [
                next(task.workflow(TaskSample(row, 0, sample)), None)
                for row, sample in zip(rows, samples, strict=True)
            ]
            requests = [request for request in first if request is not None]
            tally.nothing += (len(first) - len(requests)) * spec.repeats
            repeated = [
                replace(request, attempt=attempt) for request in requests for attempt in range(spec.repeats)
            ]
            tally.add([(request_key(request, settings.judge), request) for request in repeated], cache)
    plan = JudgePlan(
        run_id=run.run_id,
        kind=task.kind,
        model=settings.judge,
        prompt=task.prompt,
        samples=len(spec.rows) * spec.repeats,
        nothing=tally.nothing,
        cached=tally.cached,
        alike=tally.alike,
        calls=len(tally.sizes),
        input_tokens=0,
        output_tokens=sum(size.reply for size in tally.sizes),
        cost_usd=None,
        method="estimated by the bundled tokenizer and the length of the answers",
        price_date=prices.date,
        batch=spec.batch,
    )
    rate = _tokens_per_character(tally.requests)
    if not (count and tally.requests):
        return _priced(plan, tally.sizes, rate, settings)
    # The service's count of a few requests corrects the estimate of all.
    counted = tally.requests[:COUNTED_REQUESTS]
    tokens = sum(count_on_service(counted, settings)) / sum(len(_sent_text(request)) for request in counted)
    n = len(counted)
    method = f"input counted by the service on {n} requests, output estimated by the length of the answers"
    corrected = tokens / _tokens_per_character(counted) * rate
    return replace(_priced(plan, tally.sizes, corrected, settings), method=method)


@dataclass(frozen=True)
class _Size:
    """How long a request is.

    Attributes:
        characters: of all that is sent: the fixed prompt, the message, the schema.
        reply: expected tokens of its reply.
    """

    characters: int
    reply: int


class _Tally:
    """Counts of the requests of a plan."""

    def __init__(self) -> None:
        self.nothing = 0
        self.cached = 0
        self.alike = 0
        self.sizes: list[_Size] = []
        self.requests: list[Request] = []
        self._is_cached: dict[str, bool] = {}  # by key of every request so far

    def add(self, keyed: Sequence[tuple[str, Request]], cache: CallCache) -> None:
        """Count requests by key: cached ones, those like an earlier one, and those to send."""
        fresh = [key for key, _ in keyed if key not in self._is_cached]
        cached = {key for key, call in cache.find(fresh).items() if call.status in FINAL}
        for key, request in keyed:
            if key in self._is_cached:
                self.cached += self._is_cached[key]
                self.alike += not self._is_cached[key]
                continue
            self._is_cached[key] = key in cached
            if key in cached:
                self.cached += 1
                continue
            self.sizes.append(_Size(len(_sent_text(request)), request.expected_tokens))
            if len(self.requests) < MEASURED_REQUESTS:
                self.requests.append(request)


def _sent_text(request: Request) -> str:
    """Return all of a request that the service counts as input."""
    return f"{request.system}{request.user}{json.dumps(request.schema)}"


def _priced(
    plan: JudgePlan, sizes: Sequence[_Size], tokens_per_character: float, settings: ClientSettings
) -> JudgePlan:
    """Add tokens and price, each call at the price of its length; the prompt cache is ignored."""
    usages = [Usage(int(size.characters * tokens_per_character), size.reply) for size in sizes]
    costs = [settings.model.cost(usage, plan.batch) for usage in usages]
    return replace(
        plan,
        input_tokens=sum(usage.input_tokens for usage in usages),
        cost_usd=sum(cost for cost in costs if cost is not None) if settings.model.bands else None,
    )


def _tokens_per_character(requests: Sequence[Request]) -> float:
    characters = sum(len(_sent_text(request)) for request in requests)
    if not characters:
        return 0.0
    fixed = {text: count_tokens(text) for text in {request.system for request in requests}}
    tokens = sum(
        fixed[request.system] + count_tokens(f"{request.user}{json.dumps(request.schema)}")
        for request in requests
    )
    return TOKENS_FOR_ONE * tokens / characters
