"""What a judging job would take, before anything is asked: samples, calls, tokens, cost, what is cached."""

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

MEASURED_REQUESTS = 100  # texts whose tokens are counted; the others follow by their length
TOKENS_FOR_ONE = 1.3  # tokens of the models for one of the bundled tokenizer, from its English and Chinese
READ_AT_ONCE = 256
COUNTED_REQUESTS = 5
STRATA = ("query_type", "answerable")


@dataclass(frozen=True)
class JudgePlan:
    """What a job would take.

    Attributes:
        run_id: the run.
        kind: of the work.
        model: whom it asks.
        prompt: version of what is asked.
        samples: samples and repetitions.
        nothing: of them, those with nothing to judge.
        cached: of them, those whose first answer the ledger has already.
        alike: of them, those that ask the same as another one whose call is left.
        calls: calls that are left; a context that does not fit the model takes further ones.
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
        """Give the fields as JSON values."""
        return asdict(self)


def choose_rows(
    scored: ScoredRun, limit: int | None = None, sample: int | None = None, seed: int = 0
) -> list[int]:
    """Choose the rows of a run to judge.

    Args:
        scored: the run.
        limit: the first so many.
        sample: so many drawn at random, of each query type and answerability its share.
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
    return sorted(int(row) for row in _stratified(_strata(scored), sample, seed))


def _strata(scored: ScoredRun) -> IntArray:
    codes = np.zeros(scored.n, dtype=np.int64)
    for one in scored.slices:
        if one.name in STRATA:
            codes = codes * len(one.labels) + one.codes
    return np.unique(codes, return_inverse=True)[1]


def _stratified(strata: IntArray, sample: int, seed: int) -> list[int]:
    """Draw of each stratum its share, the remainders by their size."""
    rng = np.random.default_rng(seed)
    sizes = np.bincount(strata)
    exact = sizes * sample / sizes.sum()
    counts = np.floor(exact).astype(np.int64)
    order = np.argsort(-(exact - counts), kind="stable")
    counts[order[: sample - counts.sum()]] += 1
    drawn = [rng.permutation(np.flatnonzero(strata == code))[:count] for code, count in enumerate(counts)]
    return [int(row) for part in drawn for row in part]


def plan_task(
    workspace: Workspace,
    run: Run,
    work: JudgeTask,
    settings: ClientSettings,
    spec: JobSpec,
    prices: PriceTable,
    count: bool = False,
) -> JudgePlan:
    """Say what a job would take.

    Args:
        workspace: where the run lies.
        run: the run.
        work: what would be done.
        settings: whom it would ask.
        spec: which samples, how often.
        prices: of the models.
        count: let the service count the tokens of a few requests, which costs nothing; else nobody is asked.
    """
    found = _Found()
    ledger = Ledger(workspace.ledger_path)
    stored = StoredSamples(workspace.samples_path(run.run_id))
    with CallCache.open(ledger) as verdicts:
        for start in range(0, len(spec.rows), READ_AT_ONCE):
            rows = [int(row) for row in spec.rows[start : start + READ_AT_ONCE]]
            samples = stored.read(rows, work.columns)
            given = [TaskSample(row, 0, one) for row, one in zip(rows, samples, strict=True)]
            _look(found, work, settings.judge, given, spec.repeats, verdicts)
    plan = _plan(found, run, work, settings, spec, prices)
    return _counted(plan, found, settings) if count and found.requests else plan


@dataclass(frozen=True)
class _Size:
    """How long a request is.

    Attributes:
        characters: of all that is sent: the fixed prompt, the message, the form.
        reply: tokens that its reply is expected to have.
    """

    characters: int
    reply: int


class _Found:
    """What the requests of a plan add up to."""

    def __init__(self) -> None:
        self.nothing = 0
        self.cached = 0
        self.alike = 0
        self.sizes: list[_Size] = []
        self.requests: list[Request] = []
        self._known: dict[str, bool] = {}  # key of every request so far -> whether the ledger has its answer

    def add(self, keyed: Sequence[tuple[str, Request]], verdicts: CallCache) -> None:
        """Count requests by key: those that the ledger answers, those that are alike, and those to send."""
        fresh = [key for key, _ in keyed if key not in self._known]
        answered = {key for key, call in verdicts.find(fresh).items() if call.status in FINAL}
        for key, request in keyed:
            if key in self._known:
                self.cached += self._known[key]
                self.alike += not self._known[key]
                continue
            self._known[key] = key in answered
            if key in answered:
                self.cached += 1
                continue
            self.sizes.append(_Size(len(_sent(request)), request.expected_tokens))
            if len(self.requests) < MEASURED_REQUESTS:
                self.requests.append(request)


def _sent(request: Request) -> str:
    """All of a request that the service counts as input."""
    return f"{request.system}{request.user}{json.dumps(request.schema)}"


def _look(
    found: _Found, work: JudgeTask, model: str, given: Sequence[TaskSample], repeats: int, verdicts: CallCache
) -> None:
    """Add up the first requests of some samples; those that are alike are asked once."""
    first = [next(work.workflow(one), None) for one in given]
    asked = [request for request in first if request is not None]
    found.nothing += (len(first) - len(asked)) * repeats
    repeated = [replace(request, attempt=attempt) for request in asked for attempt in range(repeats)]
    found.add([(request_key(request, model), request) for request in repeated], verdicts)


def _plan(
    found: _Found, run: Run, work: JudgeTask, settings: ClientSettings, spec: JobSpec, prices: PriceTable
) -> JudgePlan:
    plan = JudgePlan(
        run_id=run.run_id,
        kind=work.kind,
        model=settings.judge,
        prompt=work.prompt,
        samples=len(spec.rows) * spec.repeats,
        nothing=found.nothing,
        cached=found.cached,
        alike=found.alike,
        calls=len(found.sizes),
        input_tokens=0,
        output_tokens=sum(one.reply for one in found.sizes),
        cost_usd=None,
        method="estimated by the bundled tokenizer and the length of the answers",
        price_date=prices.date,
        batch=spec.batch,
    )
    return _priced(plan, found.sizes, _tokens_a_character(found.requests), settings)


def _priced(
    plan: JudgePlan, sizes: Sequence[_Size], tokens_a_character: float, settings: ClientSettings
) -> JudgePlan:
    """Give tokens and price, each call at the price of its length; rather high, for the cache is left out."""
    usages = [Usage(int(one.characters * tokens_a_character), one.reply) for one in sizes]
    costs = [settings.model.cost(one, plan.batch) for one in usages]
    known = [one for one in costs if one is not None]
    return replace(
        plan,
        input_tokens=sum(one.input_tokens for one in usages),
        cost_usd=sum(known) if settings.model.bands else None,
    )


def _tokens_a_character(requests: Sequence[Request]) -> float:
    characters = sum(len(_sent(one)) for one in requests)
    if not characters:
        return 0.0
    fixed = {text: count_tokens(text) for text in {one.system for one in requests}}
    counted = sum(fixed[one.system] + count_tokens(f"{one.user}{json.dumps(one.schema)}") for one in requests)
    return TOKENS_FOR_ONE * counted / characters


def _counted(plan: JudgePlan, found: _Found, settings: ClientSettings) -> JudgePlan:
    """Correct a plan by what the service counts."""
    requests = found.requests[:COUNTED_REQUESTS]
    counted = sum(count_on_service(requests, settings)) / sum(len(_sent(one)) for one in requests)
    n = len(requests)
    method = f"input counted by the service on {n} requests, output estimated by the length of the answers"
    ratio = counted / _tokens_a_character(requests) * _tokens_a_character(found.requests)
    return replace(_priced(plan, found.sizes, ratio, settings), method=method)
