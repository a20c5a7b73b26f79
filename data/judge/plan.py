"""The plan of a judge job before anything is sent: samples, calls, tokens, cost, and what is cached."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ragtriage.data.chunking.chunkers import count_tokens
from ragtriage.data.errors import DataError
from ragtriage.data.judge.bias import self_preference
from ragtriage.data.judge.call_cache import CallCache
from ragtriage.data.judge.client import count_on_service
from ragtriage.data.judge.evaluation import EvaluationTask
from ragtriage.data.judge.job_spec import JobSpec, most_cost, small_budget
from ragtriage.data.judge.requests import (
    ClientSettings,
    JudgeTask,
    ModelCall,
    PriceTable,
    Request,
    TaskSample,
    Usage,
    Workflow,
    request_key,
)
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Run, Workspace

MEASURED_REQUESTS = 100  # texts whose tokens are counted; the others are estimated by their length
TOKENS_FOR_ONE = 1.3  # tokens of the models per token of the bundled tokenizer, from its English and Chinese
READ_AT_ONCE = 256
COUNTED_REQUESTS = 5
STRATA = ("query_type", "answerable")


@dataclass(frozen=True)
class OtherWay:
    """The expected cost of an evaluation with the reference answer shown the other way."""

    reference: str  # "apart" or "along"
    calls: int  # calls to make
    input_tokens: int  # of these calls
    output_tokens: int  # of these calls
    cost_usd: float | None  # None where the model has no price


@dataclass(frozen=True)
class JudgePlan:
    """The expected cost of a job; the field names are the keys of the JSON output."""

    run_id: str
    kind: str  # of the task
    model: str
    prompt: str  # version of what is sent
    samples: int  # samples and repetitions
    nothing: int
    cached: int  # of them, those whose first call is in the ledger
    alike: int  # of them, those with the same request as another that is still to be sent
    calls: int  # calls to make
    follow_ups: int  # of them, those that go on with a sample, as where documents do not fit the window
    input_tokens: int  # of these calls
    output_tokens: int  # of these calls
    cost_usd: float | None  # None where the model has no price
    method: str  # how the tokens were obtained
    price_date: str  # of the price table
    batch: bool  # whether at the price of batches
    # the most that one of the calls can cost; a smaller budget may end before it
    most_call_usd: float | None = None
    notes: tuple[str, ...] = ()  # what should be known before it is started, in sentences
    # when an evaluation shows the reference answer: "apart" or "along"; "" for other tasks
    reference: str = ""
    other_way: OtherWay | None = None  # what the other of the two would take; None where it would be the same

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)


def choose_rows(
    scored: ScoredRun,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    among: Sequence[int] | None = None,
) -> list[int]:
    """Choose the rows of a run to judge.

    `limit` takes so many from the start, `sample` draws so many in proportion to query types and
    answerability, both out of `among`, where it is given.

    Raises:
        DataError: a number below 1, or both.
    """
    if limit is not None and sample is not None:
        raise DataError("limit and sample: both given; accepted: one of them, the first N or N at random")
    for name, number in (("limit", limit), ("sample", sample)):
        if number is not None and number < 1:
            raise DataError(f"{name}: {number}; accepted: a whole number of 1 or more")
    rows = np.arange(scored.n, dtype=np.int64) if among is None else np.array(among, dtype=np.int64)
    if sample is None or sample >= len(rows):
        return [int(row) for row in rows[:limit]]
    codes = np.zeros(scored.n, dtype=np.int64)
    for slices in scored.slices:
        if slices.name in STRATA:
            codes = codes * len(slices.labels) + slices.codes
    # from each stratum in proportion to its size, rounded by largest remainder
    strata = np.unique(codes[rows], return_inverse=True)[1]
    rng = np.random.default_rng(seed)
    sizes = np.bincount(strata)
    exact = sizes * sample / sizes.sum()
    counts = np.floor(exact).astype(np.int64)
    order = np.argsort(-(exact - counts), kind="stable")
    counts[order[: sample - counts.sum()]] += 1
    by_stratum = [
        rng.permutation(np.flatnonzero(strata == code))[:count] for code, count in enumerate(counts)
    ]
    drawn = [int(row) for rows in by_stratum for row in rows]
    return sorted(int(rows[at]) for at in drawn)


def plan_task(
    workspace: Workspace,
    run: Run,
    task: JudgeTask,
    settings: ClientSettings,
    spec: JobSpec,
    prices: PriceTable,
    count: bool = False,
) -> JudgePlan:
    """Estimate what a job would take, an evaluation of answers in both ways of showing the reference.

    With `count` the service counts the tokens of a few requests, which is free; else none is sent.
    """
    plan = _plan(workspace, run, task, settings, spec, prices, count)
    if not isinstance(task, EvaluationTask):
        return plan
    other = _plan(workspace, run, task.other_way, settings, spec, prices, count)
    same = (other.calls, other.input_tokens) == (plan.calls, plan.input_tokens)  # no sample has a reference
    other_way = OtherWay(
        task.other_way.reference, other.calls, other.input_tokens, other.output_tokens, other.cost_usd
    )
    return replace(plan, reference=task.reference, other_way=None if same else other_way)


def _plan(
    workspace: Workspace,
    run: Run,
    task: JudgeTask,
    settings: ClientSettings,
    spec: JobSpec,
    prices: PriceTable,
    count: bool,
) -> JudgePlan:
    tally = _Tally(settings, spec)
    stored = StoredSamples(workspace.samples_path(run.run_id))
    with CallCache.open(Ledger(workspace.ledger_path)) as cache:
        for start in range(0, len(spec.rows), READ_AT_ONCE):
            rows = [int(row) for row in spec.rows[start : start + READ_AT_ONCE]]
            samples = stored.read(rows, task.columns)
            workflows = [
                task.workflow(TaskSample(row, attempt, sample))
                for row, sample in zip(rows, samples, strict=True)
                for attempt in range(spec.repeats)
            ]
            tally.add(workflows, cache)
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
        follow_ups=tally.follow_ups,
        input_tokens=0,
        output_tokens=sum(size.reply for size in tally.sizes),
        cost_usd=None,
        method="estimated by the bundled tokenizer and the length of the answers",
        price_date=prices.date,
        batch=spec.batch,
        most_call_usd=tally.most_call_usd,
    )
    notes = _notes(plan, settings, spec, prices)
    judges = not task.kind.startswith("answer:")  # what a model generates it does not judge
    own_model = self_preference(run.config, settings.model.name) if judges else ""
    plan = replace(plan, notes=tuple(filter(None, [own_model, *notes])))
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
    """How long a request is."""

    characters: int  # of all that is sent: the fixed prompt, the message, the schema
    reply: int  # expected tokens of its reply


class _Tally:
    """Counts of the requests of a plan."""

    def __init__(self, settings: ClientSettings, spec: JobSpec) -> None:
        self.settings, self.spec = settings, spec
        self.nothing = 0
        self.cached = 0
        self.alike = 0
        self.follow_ups = 0
        self.most_call_usd: float | None = None
        self.sizes: list[_Size] = []
        self.requests: list[Request] = []
        self._is_cached: dict[str, bool] = {}  # by key of every request so far

    def add(self, workflows: Sequence[Workflow], cache: CallCache) -> None:
        """Count the requests of samples: in step the first ones, then those that go on with a sample."""
        first = [(workflow, next(workflow, None)) for workflow in workflows]
        waiting = [(workflow, request) for workflow, request in first if request is not None]
        self.nothing += len(first) - len(waiting)
        counts_samples = True
        while waiting:
            keyed = [(request_key(request, self.settings.judge), request) for _, request in waiting]
            calls = cache.find(key for key, _ in keyed)
            stored = {key: call for key, call in calls.items() if self.spec.settles(call)}
            for key, request in keyed:
                self._count(key, request, key in stored, counts_samples)
            counts_samples = False
            following = [
                (workflow, _following(workflow, request, stored.get(key)))
                for (workflow, _), (key, request) in zip(waiting, keyed, strict=True)
            ]
            waiting = [(workflow, request) for workflow, request in following if request is not None]

    def _count(self, key: str, request: Request, is_cached: bool, first: bool) -> None:
        """Count a request: cached, like an earlier one, or to send; the first two are counted by sample."""
        seen = key in self._is_cached
        was_cached = self._is_cached.setdefault(key, is_cached)
        self.cached += first and was_cached
        self.alike += first and seen and not was_cached
        if seen or was_cached:
            return
        self.follow_ups += not first
        self.sizes.append(_Size(len(_sent_text(request)), request.expected_tokens))
        if self.settings.model.bands:
            factor = self.settings.model.batch_factor if self.spec.batch else 1.0
            self.most_call_usd = max(
                self.most_call_usd or 0.0, most_cost(request, self.settings.model) * factor
            )
        if len(self.requests) < MEASURED_REQUESTS:
            self.requests.append(request)


def _following(workflow: Workflow, request: Request, stored: ModelCall | None) -> Request | None:
    """Return what is asked after a request: by its stored call, else by the reply that may be expected."""
    if request.expected_reply is None and (stored is None or stored.status == "scored"):
        return None
    expected = ModelCall("", "scored", payload=request.expected_reply)
    try:
        return workflow.send(stored or expected)
    except StopIteration:
        return None


def _notes(plan: JudgePlan, settings: ClientSettings, spec: JobSpec, prices: PriceTable) -> list[str]:
    """Return what should be known before a job is started."""
    notes = []
    model = settings.model
    if not model.bands:
        notes.append(
            f"the price of {model.name} is not known, so its cost is neither estimated nor counted, and no "
            f"budget can hold; a window of {model.window:,} tokens is assumed; known: "
            f"{', '.join(prices.models)}, and those of a model_prices.json in the workspace"
        )
    if spec.budget_usd is not None and (plan.most_call_usd or 0.0) > spec.budget_usd:
        notes.append(small_budget(spec.budget_usd, plan.most_call_usd or 0.0))
    return notes


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
