"""What a judging job would take, before anything is asked: samples, calls, tokens, cost, what is cached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from data.errors import DataError
from data.job_progress import JobSpec
from data.judge_calls import FINAL, Request, Usage, Work, WorkSample, request_key
from data.judge_client import count_on_service
from data.judge_messages import ClientSettings
from data.ledger import Ledger
from data.model_prices import PriceTable
from data.stored import StoredSamples
from data.tables import RunTable
from data.tokens import count_tokens
from data.verdicts import Verdicts
from data.workspace import Run, Workspace
from metrics.values import IntArray

__all__ = ["JudgePlan", "choose_rows", "plan_work"]

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
    table: RunTable, limit: int | None = None, sample: int | None = None, seed: int = 0
) -> list[int]:
    """Choose the rows of a run to judge.

    Args:
        table: the run.
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
    if sample is None or sample >= table.n:
        return list(range(table.n if limit is None else min(limit, table.n)))
    return sorted(int(row) for row in _stratified(_strata(table), sample, seed))


def _strata(table: RunTable) -> IntArray:
    codes = np.zeros(table.n, dtype=np.int64)
    for one in table.slices:
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


def plan_work(
    workspace: Workspace,
    run: Run,
    work: Work,
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
    with Verdicts.open(ledger) as verdicts:
        for start in range(0, len(spec.rows), READ_AT_ONCE):
            rows = [int(row) for row in spec.rows[start : start + READ_AT_ONCE]]
            samples = stored.read(rows, work.columns)
            given = [WorkSample(row, 0, one) for row, one in zip(rows, samples, strict=True)]
            _look(found, work, settings.model.name, given, spec.repeats, verdicts)
    plan = _plan(found, run, work, settings, spec, prices)
    return _counted(plan, found.requests[:COUNTED_REQUESTS], settings) if count and found.requests else plan


class _Found:
    """What the requests of a plan add up to."""

    def __init__(self) -> None:
        self.nothing = 0
        self.cached = 0
        self.calls = 0
        self.characters = 0
        self.output = 0
        self.requests: list[Request] = []


def _look(
    found: _Found, work: Work, model: str, given: Sequence[WorkSample], repeats: int, verdicts: Verdicts
) -> None:
    """Add up the first requests of some samples; those that are alike are asked once."""
    first = {one.row: next(work.steps(one), None) for one in given}
    asked = [request for request in first.values() if request is not None]
    found.nothing += (len(first) - len(asked)) * repeats
    keyed = {
        request_key(replace(request, attempt=attempt), model): request
        for request in asked
        for attempt in range(repeats)
    }
    known = {key for key, call in verdicts.find(keyed).items() if call.status in FINAL}
    found.cached += len(asked) * repeats - len(keyed.keys() - known)
    for key in keyed.keys() - known:
        request = keyed[key]
        found.calls += 1
        found.characters += len(request.user) + len(request.system)
        found.output += request.expected_tokens
        if len(found.requests) < MEASURED_REQUESTS:
            found.requests.append(request)


def _plan(
    found: _Found, run: Run, work: Work, settings: ClientSettings, spec: JobSpec, prices: PriceTable
) -> JudgePlan:
    tokens = int(found.characters * _tokens_a_character(found.requests))
    return JudgePlan(
        run_id=run.run_id,
        kind=work.kind,
        model=settings.model.name,
        prompt=work.prompt,
        samples=len(spec.rows) * spec.repeats,
        nothing=found.nothing,
        cached=found.cached,
        calls=found.calls,
        input_tokens=tokens,
        output_tokens=found.output,
        cost_usd=_cost(settings, tokens, found.output, found.calls, spec.batch),
        method="estimated by the bundled tokenizer and the length of the answers",
        price_date=prices.date,
        batch=spec.batch,
    )


def _tokens_a_character(requests: Sequence[Request]) -> float:
    characters = sum(len(one.user) + len(one.system) for one in requests)
    if not characters:
        return 0.0
    fixed = {one.system: count_tokens(one.system) for one in requests}
    counted = sum(count_tokens(one.user) + fixed[one.system] for one in requests)
    return TOKENS_FOR_ONE * counted / characters


def _cost(settings: ClientSettings, given: int, written: int, calls: int, batch: bool) -> float | None:
    """Give the price of the calls, each of average length; without the prompt cache, so rather too high."""
    if not calls:
        return 0.0 if settings.model.bands else None
    one = settings.model.cost(Usage(input_tokens=given // calls, output_tokens=written // calls), batch)
    return None if one is None else one * calls


def _counted(plan: JudgePlan, requests: Sequence[Request], settings: ClientSettings) -> JudgePlan:
    """Correct a plan by what the service counts."""
    estimated = _tokens_a_character(requests) * sum(len(one.user) + len(one.system) for one in requests)
    tokens = int(plan.input_tokens * sum(count_on_service(requests, settings)) / max(estimated, 1))
    cost = _cost(settings, tokens, plan.output_tokens, plan.calls, plan.batch)
    n = len(requests)
    method = f"input counted by the service on {n} requests, output estimated by the length of the answers"
    return replace(plan, input_tokens=tokens, cost_usd=cost, method=method)
