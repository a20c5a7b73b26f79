"""Judging a run: its options, its jobs one after the other, what they amount to; recorded labels."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from ragtriage.data.errors import DataError
from ragtriage.data.judge.bias import ShuffledTask, share_of_rows
from ragtriage.data.judge.evaluation import REFERENCE_WAYS, EvaluationTask, ReferenceWay
from ragtriage.data.judge.evaluators import (
    AttackTask,
    answers_on_attacks,
    judge_task,
    prompt_folder,
    rows_for_the_judge,
)
from ragtriage.data.judge.job_spec import AGAIN, STOP_AFTER, JobSpec
from ragtriage.data.judge.plan import JudgePlan, choose_rows, plan_task
from ragtriage.data.judge.requests import ClientSettings, JudgeTask, read_prices
from ragtriage.data.judge.run_job import JobResult
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.judge_results import (
    EVALUATION,
    RECORDED,
    CallStatus,
    JudgeResult,
    QuoteCheck,
    TaskResult,
    judge_results_of,
    publish,
    quote_check,
    reply_from,
)
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.data.suites.safety import ATTACK_RESULT, SAFETY
from ragtriage.metrics.schema.scores import Source

CHECKS_ALONE = "checks: accepted: a run, without calibrate, evaluator and shuffle"
NONE_WAITS = "no safety check waits for the judge"
EFFORTS = ("low", "medium", "high")
MOST_REPEATS, MOST_REQUESTS, USUAL_REQUESTS, USUAL_TIMEOUT = 20, 256, 8, 120


@dataclass(frozen=True)
class JudgeOptions:
    """The options of `ragtriage judge` on one run."""

    model: str | None = None  # the default of the price table when left out
    limit: int | None = None  # samples from the start
    sample: int | None = None  # samples drawn at random
    repeats: int = 1  # evaluations a sample
    budget: float | None = None  # the most that may be spent, in USD
    concurrency: int = USUAL_REQUESTS  # requests at a time
    timeout: float = USUAL_TIMEOUT  # of a request, in seconds
    effort: str = "low"  # one of EFFORTS
    batch: bool = False  # through message batches, at half the price
    again: tuple[CallStatus, ...] = ()  # of AGAIN, failures of earlier jobs that are asked for anew
    stop_after: int = STOP_AFTER  # equal faults in a row that end a job; 0 for never
    shuffle: float = 0.0  # share of the samples that are also judged with their documents in another order
    evaluator: str | None = None  # of the project, instead of the evaluation
    checks: str | None = None  # SAFETY, to ask about attacks instead
    reference: ReferenceWay = "apart"  # one of REFERENCE_WAYS
    prompts: str | None = None  # folder of own prompts; that of the workspace when left out
    base_url: str | None = None  # of the service
    count_tokens: bool = False  # whether the service counts tokens for the plan

    def __post_init__(self) -> None:
        words = {"effort": EFFORTS, "reference": REFERENCE_WAYS, "checks": (None, SAFETY)}
        for name, known in words.items():
            if getattr(self, name) not in known:
                raise DataError(f"{name} {getattr(self, name)!r}; accepted: {', '.join(filter(None, known))}")
        unknown = [status for status in self.again if status not in AGAIN]
        if unknown:
            raise DataError(f"again {unknown[0]!r}; accepted: any of {', '.join(AGAIN)}")
        limits: dict[str, tuple[type, float, float]] = {
            "limit": (Integral, 1, inf),
            "sample": (Integral, 1, inf),
            "repeats": (Integral, 1, MOST_REPEATS),
            "concurrency": (Integral, 1, MOST_REQUESTS),
            "stop_after": (Integral, 0, inf),
            "timeout": (Real, 1, inf),
            "shuffle": (Real, 0, 1),
            "budget": (Real, 0, inf),
        }
        for name, (kind, least, most) in limits.items():
            value: Any = getattr(self, name)
            if value is None and name in ("limit", "sample", "budget"):
                continue
            valid = isinstance(value, kind) and isfinite(float(str(value)))
            if not valid or not least <= value <= most:
                number = "a whole number" if kind is Integral else "a number"
                up_to = f"from {least:g} to {most:g}" if isfinite(most) else f"of {least:g} or more"
                raise DataError(f"{name} {value!r}; accepted: {number} {up_to}")
        if self.shuffle and self.evaluator:
            raise DataError("shuffle: an evaluator has no labels of documents; accepted: without evaluator")
        if self.checks and (self.shuffle or self.evaluator):
            raise DataError(CHECKS_ALONE)


Ask = Callable[[JudgePlan, JudgeTask, ClientSettings, JobSpec], JobResult | None]


def judge_jobs(
    store: RunStore, run: Run, options: JudgeOptions, ask: Ask, among: Sequence[int] | None = None
) -> Iterator[tuple[JudgePlan, JobResult | None]]:
    """Do the job of a run, and that in another order of documents on a share of its samples.

    Args:
        store: of the workspace.
        run: the run.
        options: what to ask.
        ask: does a job by its plan, and returns its result; None where it is not to be done.
        among: rows to choose from; all when left out. With options.checks, those that wait for the judge.

    Yields:
        The plan and the result of each; nothing where no check waits for the judge.

    Raises:
        DataError: an option is not accepted, or the job cannot begin.
    """
    prices = read_prices(store.workspace.root)
    settings = ClientSettings(
        prices.model(options.model), options.base_url, options.concurrency, options.timeout, options.effort
    )
    scored = store.scored(run.with_samples())
    if options.checks:
        among = rows_for_the_judge(scored)
        if not among:
            return
        task: JudgeTask = AttackTask.of(prompt_folder(store.workspace, options.prompts))
    else:
        task = judge_task(
            store.workspace,
            run.project,
            settings.model,
            options.evaluator or "",
            options.prompts,
            options.reference,
        )
    spec = JobSpec(
        choose_rows(scored, options.limit, options.sample, among=among),
        options.repeats,
        options.budget,
        options.batch,
        options.limit,
        options.sample,
        None if options.prompts is None else str(Path(options.prompts).resolve()),
        options.again,
        options.stop_after,
        options.reference,
        options.shuffle,
    )
    jobs = [(task, spec)]
    if spec.shuffle and isinstance(task, EvaluationTask):
        share = share_of_rows(spec.rows, spec.shuffle)
        jobs.append((ShuffledTask(task), replace(spec, rows=share, repeats=1)))
    spent = 0.0
    for job_task, job_spec in jobs:
        if spec.budget_usd is not None:
            job_spec = replace(job_spec, budget_usd=max(spec.budget_usd - spent, 0.0))
        plan = plan_task(store.workspace, run, job_task, settings, job_spec, prices, options.count_tokens)
        result = ask(plan, job_task, settings, job_spec)
        yield plan, result
        spent += 0.0 if result is None else result.progress.cost_usd or 0.0
        if result is not None and result.state != "done":
            return


def judge_answer(store: RunStore, run: Run, plan: JudgePlan, result: JobResult) -> dict[str, Any]:
    """Return what `ragtriage judge --json` prints of a job, without the biases."""
    return {
        "run": run.run_id,
        "job": result.job_id,
        "state": result.state,
        "message": result.message,
        "plan": plan.to_dict(),
        "progress": result.progress.to_dict(),
        "quotes": asdict(quotes_of(result)),
        **({"answers": answers_on_attacks(result.results.values())} if plan.kind == ATTACK_RESULT else {}),
        "judge": None if result.judge_result is None else result.judge_result.judge,
        "metrics": {name: summary.to_dict() for name, summary in judged_metrics(store, run).items()},
    }


def judged_metrics(store: RunStore, run: Run) -> dict[str, MetricSummary]:
    """Return the metrics of a run that a judge has scored."""
    summaries = store.summary(run)
    return {name: mean for name, mean in summaries.items() if Source.JUDGED.label in mean.sources}


def quotes_of(result: JobResult) -> QuoteCheck:
    """Count the quotes of an evaluation; an evaluator gives none."""
    if result.judge_result is None or result.judge_result.kind != EVALUATION:
        return QuoteCheck()
    replies = [reply_from(item.payload) for item in result.results.values() if item.payload is not None]
    return sum((quote_check(reply) for reply in replies), QuoteCheck())


@dataclass(frozen=True)
class RecordedLabels:
    """A file of recorded labels: a first line about all of them, then one line a question."""

    model: str  # whose labels they are
    prompt: str  # version of the prompt that it answered
    origin: str  # how they came about, in a sentence for the reader
    labels: Mapping[str, Mapping[str, Any]]  # by question id, as a workspace stores them (`reply_payload`)


def read_recorded(path: Path) -> RecordedLabels:
    """Read a file of recorded labels: JSON lines, compressed with gzip."""
    head, *lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    return RecordedLabels(**head, labels={line["question_id"]: line["labels"] for line in lines})


def publish_recorded(workspace: Workspace, run: Run, recorded: RecordedLabels) -> JudgeResult | None:
    """Store recorded labels as the judge result of a run; return None where the run has one already."""
    ledger = Ledger(workspace.ledger_path)
    if any(result.kind == EVALUATION for result in judge_results_of(ledger, run.run_id)):
        return None
    samples = StoredSamples(workspace.samples_path(run.run_id)).read(range(run.n), ("question_id",))
    outcomes = {
        (row, 0): TaskResult("scored", "", recorded.labels[sample["question_id"]])
        for row, sample in enumerate(samples)
        if sample["question_id"] in recorded.labels
    }
    sdk = f"{RECORDED}{recorded.origin}"
    result = JudgeResult(run.run_id, EVALUATION, recorded.model, recorded.prompt, sdk)
    return publish(workspace, ledger, result, outcomes)
