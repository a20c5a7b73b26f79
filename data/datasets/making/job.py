"""Making a dataset as a job: its plan and cost, its record while it runs, and the batch that comes of it."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ragtriage.data.chunking.chunkers import count_tokens
from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.datasets.dataset import Batch, Dataset
from ragtriage.data.datasets.item import Item
from ragtriage.data.datasets.making.make import Made, MakeOptions, Making, making_key, writing_requests
from ragtriage.data.datasets.making.quotas import WritingPlan
from ragtriage.data.datasets.making.requests import (
    ALONE_AT_ONCE,
    ALONE_TOKENS,
    MOST_EXAMPLES,
    READ_TOKENS,
    MakingPrompts,
)
from ragtriage.data.datasets.making.verdicts import N_OTHERS
from ragtriage.data.datasets.making.waves import Waves
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.errors import DataError
from ragtriage.data.importers.load import named_questions
from ragtriage.data.jobs import recorded_job
from ragtriage.data.judge.job_spec import Progress
from ragtriage.data.judge.plain_requests import plan_requests
from ragtriage.data.judge.plan import TOKENS_FOR_ONE
from ragtriage.data.judge.requests import ClientSettings, Usage
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import Workspace

PASS_FREE, PASS_READ = 0.75, 0.75  # shares that are expected to pass the free filters, and the reading
QUESTION_TOKENS, PASSAGE_TOKENS = 25, 170  # of a question, and of a passage that is read
JOB = "dataset:"  # how the kinds of these jobs begin; the id of the dataset follows
ADDED = ("calls", "input_tokens", "output_tokens", "cost_usd")


@dataclass(frozen=True)
class MakePlan:
    """What making a dataset is expected to take; the field names are the keys of the JSON output."""

    model: str
    asked: int  # questions
    kinds: Mapping[str, int]  # kind -> questions
    documents: int  # of the corpus
    quotas: Mapping[str, int]  # document -> questions
    passages: int  # to write from
    left_out: int  # passages that say nothing of their own, or what another one says
    cached: int  # requests to write that the ledger has
    calls: Mapping[str, int]  # to write, exactly, and what is expected after it: alone, read
    input_tokens: int  # of these calls, estimated
    output_tokens: int  # of these calls, expected
    cost_usd: float | None  # of these calls; None where the model has no price
    short: Mapping[str, int] = field(default_factory=dict)  # kind -> questions that nothing is there for

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)

    @property
    def total_calls(self) -> int:
        """All calls."""
        return sum(self.calls.values())


def plan_making(
    workspace: Workspace,
    windows: CorpusWindows,
    options: MakeOptions,
    settings: ClientSettings,
    prompts: MakingPrompts,
    batch: bool = False,
) -> MakePlan:
    """Plan the making of a dataset; asks nothing.

    Raises:
        DataError: the corpus has no passage to write from.
    """
    plan = WritingPlan(windows, options.shares, options.seed)
    if not plan.usable:
        raise DataError(
            f"corpus {windows.corpus.name}: has no passage of 20 words or more; accepted: documents with text"
        )
    writings = plan.writings(plan.slots)
    requests = writing_requests(windows, writings, options, prompts)
    written = plan_requests(Ledger(workspace.ledger_path), settings, requests)
    candidates = sum(writing.wanted for writing in writings)
    alone = math.ceil(candidates * PASS_FREE / ALONE_AT_ONCE)
    read = min(math.ceil(options.n / PASS_READ), candidates)
    alone_usage = Usage(
        _tokens(prompts.alone.text) + ALONE_AT_ONCE * QUESTION_TOKENS, ALONE_AT_ONCE * ALONE_TOKENS
    )
    shown = N_OTHERS + 1
    read_usage = Usage(
        _tokens(prompts.read.text) + QUESTION_TOKENS + round(shown * PASSAGE_TOKENS * TOKENS_FOR_ONE),
        shown * READ_TOKENS,
    )
    model = settings.model
    costs = [alone * (model.cost(alone_usage) or 0.0), read * (model.cost(read_usage) or 0.0)]
    factor = model.batch_factor if batch else 1.0
    there = {kind: sum(each.wanted for each in writings if each.kind == kind) for kind in options.shares}
    return MakePlan(
        model=model.name,
        asked=options.n,
        kinds=options.shares,
        documents=len(windows.corpus.documents),
        quotas=plan.quotas,
        passages=len(plan.usable),
        left_out=plan.dropped,
        cached=written.cached,
        calls={"write": written.calls, "alone": alone, "read": read},
        input_tokens=written.input_tokens + alone * alone_usage.input_tokens + read * read_usage.input_tokens,
        output_tokens=written.output_tokens
        + alone * alone_usage.output_tokens
        + read * read_usage.output_tokens,
        cost_usd=None if written.cost_usd is None else factor * (written.cost_usd + sum(costs)),
        short={kind: n - there[kind] for kind, n in options.shares.items() if there[kind] < n},
    )


def _tokens(text: str) -> int:
    return round(TOKENS_FOR_ONE * count_tokens(text))


@dataclass(frozen=True)
class MakeResult:
    """How making a dataset ended."""

    dataset: Dataset
    batch: Batch | None  # with what is new; None where nothing is
    made: Made
    message: str  # why it is not finished; "" where it is


def make_dataset(
    dataset: Dataset,
    windows: CorpusWindows,
    options: MakeOptions,
    settings: ClientSettings,
    prompts: MakingPrompts,
    budget_usd: float | None = None,
    batch: bool = False,
    expected_calls: int = 0,
    watch: Callable[[Mapping[str, Any]], None] = lambda _progress: None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> MakeResult:
    """Make items and add them to a dataset, as a job that the ledger records.

    What was stopped is continued by the same call, which asks nothing twice; where the budget ended it, the
    items that are decided are added, and a later call adds the others.

    Raises:
        DataError: the budget has no price to go by, the dataset is of another corpus, such a job is running,
            or no request can succeed.
    """
    corpus = windows.corpus
    _must_fit(dataset, corpus, settings, budget_usd)
    ledger = dataset.ledger
    key = making_key(corpus, options, prompts, settings.judge)
    earlier = [each for each in dataset.batches() if each.facts.get("key") == key]
    others = _before(dataset.batches(), earlier)
    progress: dict[str, Any] = {"done": 0, "total": expected_calls, "asked": options.n, "accepted": 0}
    spec = {
        "dataset": dataset.name,
        "asked": options.n,
        "mix": options.shares,
        "seed": options.seed,
        "model": settings.model.name,
        "budget_usd": budget_usd,
        "batch": batch,
    }
    with recorded_job(ledger, f"{JOB}{dataset.dataset_id}", spec, "", progress) as job:
        waves = Waves(
            ledger,
            settings,
            budget_usd,
            batch,
            stop_asked=lambda: stop_asked() or job.heartbeat.stop_asked,
        )
        making = Making(windows, options, prompts, waves, others)

        def follow(stage: str, wave: Progress) -> None:
            done = len(waves.calls) + wave.calls + wave.cached
            spent = waves.cost_usd + (wave.cost_usd or 0.0)
            state = {"stage": stage, "round": making.rounds, "accepted": len(making.accepted)}
            total = max(progress["total"], done)
            progress.update(done=done, total=total, cost_usd=spent, **state)
            watch(progress)

        waves.watch = follow
        made = making.run()
        message = made.stopped
        added = _added(dataset, corpus, made, earlier) if not made.stopped or made.out_of_budget else None
        progress.update(done=len(waves.calls), total=len(waves.calls), accepted=len(making.accepted))
        if message:
            job.stopped(message)
    return MakeResult(dataset, added, made, message)


def _before(batches: Sequence[Batch], earlier: Sequence[Batch]) -> list[Item]:
    """Return the items that were there before the first batch of a making.

    What came later, such as copies by rules, must not make other items of the same replies.
    """
    others = batches if not earlier else batches[: batches.index(earlier[0])]
    return [item for each in others for item in each.items]


def _must_fit(dataset: Dataset, corpus: Corpus, settings: ClientSettings, budget_usd: float | None) -> None:
    if budget_usd is not None and not settings.model.bands:
        raise DataError(
            f"budget: the price of {settings.model.name!r} is not known; accepted: a model of the price "
            "table, or a table of your own in model_prices.json of the workspace"
        )
    dataset.must_take(corpus)


def _added(dataset: Dataset, corpus: Corpus, made: Made, earlier: Sequence[Batch]) -> Batch | None:
    """Add the items that no earlier batch of the same making has, with what they alone took."""
    known = {item.question_id for batch in earlier for item in batch.items}
    items: list[Item] = [item for item in made.items if item.question_id not in known]
    if not items:
        return None
    facts = dict(made.facts)
    for batch in earlier:
        facts = _less(facts, batch.facts)
    if made.stopped:
        facts["stopped"] = made.stopped
    return dataset.add_batch(items, corpus, facts)


def _less(facts: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a batch without what an earlier batch of the same making counts already."""
    rest = dict(facts)
    for name in ADDED:
        if facts.get(name) is not None and before.get(name) is not None:
            rest[name] = facts[name] - before[name]
    for name in ("got", "calls_by_stage", "failed"):
        rest[name] = {key: n - before[name].get(key, 0) for key, n in facts[name].items()}
    rest["filters"] = {
        key: [n - was for n, was in zip(counts, before["filters"].get(key, (0, 0)), strict=True)]
        for key, counts in facts["filters"].items()
    }
    # what the earlier batch did not get is asked of this one
    rest["asked"], rest["mix"] = sum(before["short"].values()), dict(before["short"])
    return rest


def read_examples(workspace: Workspace, path: str, seed: int) -> tuple[str, ...]:
    """Return some real questions of a file: the lines of a text file, or of what is read as questions.

    Raises:
        DataError: it cannot be read, or has no question.
    """
    if path.endswith(".txt"):
        try:
            lines = Path(path).read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(
                f"{path}: cannot be read ({error}); accepted: UTF-8 text, a question a line"
            ) from error
        texts = [" ".join(line.split()) for line in lines if line.strip()]
    else:
        texts = [str(question["question"]) for question in named_questions(workspace, path).questions]
    texts = list(dict.fromkeys(text for text in texts if text))
    if not texts:
        raise DataError(
            f"{path}: has no question; accepted: a text file with a question a line, or questions"
        )
    random.Random(seed).shuffle(texts)  # noqa: S311 -- draws examples, guards nothing
    return tuple(texts[:MOST_EXAMPLES])
