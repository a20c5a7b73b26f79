"""The requests of making a dataset, asked in waves within one budget, and what they took."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragtriage.data.judge.job_spec import Progress
from ragtriage.data.judge.plain_requests import ask_requests
from ragtriage.data.judge.requests import ClientSettings, ModelCall, Request
from ragtriage.data.store.ledger import Ledger


@dataclass
class Waves:
    """Asks one wave after the other; what the ledger has is not asked again and counts all the same."""

    ledger: Ledger
    settings: ClientSettings
    budget_usd: float | None = None  # for all waves, what earlier processes spent on them included
    batch: bool = False  # through message batches
    watch: Callable[[str, Progress], None] = lambda _stage, _progress: None
    stop_asked: Callable[[], bool] = lambda: False
    stopped: str = ""  # why not everything was asked; "" while it was
    out_of_budget: bool = False
    calls: dict[str, ModelCall] = field(default_factory=dict)  # by key
    stages: Counter[str] = field(default_factory=Counter)  # requests sent, repairs included, by stage

    def ask(self, stage: str, requests: Sequence[Request]) -> list[ModelCall | None]:
        """Return the call of each request; None for those that a stop or the budget left out.

        Raises:
            JudgeStoppedError: no further request can succeed.
        """
        if not requests or self.stopped:
            return [None] * len(requests)
        left = None if self.budget_usd is None else max(self.budget_usd - self.cost_usd, 0.0)
        result = ask_requests(
            self.ledger,
            self.settings,
            requests,
            left,
            lambda progress: self.watch(stage, progress),
            self.stop_asked,
            self.batch,
        )
        for call in result.calls:
            if call is not None and call.key not in self.calls:
                self.calls[call.key] = call
                self.stages[stage] += call.asked
        self.stopped = result.stopped
        if result.too_dear is not None and self.budget_usd is not None:
            self.out_of_budget = True
            if self.calls:  # else the sentence on a budget that is too small for one call stands
                rest = f"${self.budget_usd - self.cost_usd:.4f} of ${self.budget_usd:.4f} is left"
                most = f"the next call can cost up to ${result.too_dear:.4f}"
                self.stopped = f"the budget is spent: {rest}, and {most}"
        return list(result.calls)

    @property
    def cost_usd(self) -> float:
        """Of all calls, in USD; those without a price count nothing."""
        return sum(call.cost_usd or 0.0 for call in self.calls.values())

    def facts(self) -> dict[str, Any]:
        """Return what the calls took, as a batch has it."""
        usages = [call.usage for call in self.calls.values()]
        failed = Counter(call.status for call in self.calls.values() if call.payload is None)
        return {
            "calls": sum(self.stages.values()),
            "calls_by_stage": dict(self.stages),
            "input_tokens": sum(
                usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens for usage in usages
            ),
            "output_tokens": sum(usage.output_tokens for usage in usages),
            "cost_usd": self.cost_usd if self.settings.model.bands else None,
            "failed": dict(failed),
        }
