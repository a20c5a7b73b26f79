"""The metric declaration, from which every tooltip, table and help text is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from ragtriage.metrics.schema.batch import Batch
from ragtriage.metrics.schema.scores import MetricsError, Scores
from ragtriage.metrics.schema.whole_number import whole_number

Convention = Literal["default", "ragchecker", "refusals_0", "alce"]
CONVENTIONS: tuple[Convention, ...] = ("default", "ragchecker", "refusals_0", "alce")
Component = Literal["retrieval", "generation", "citation", "answer", "system", "feedback"]
Compute = Callable[[Batch, int, Convention], Scores]


@dataclass(frozen=True)
class Metric:
    """The declaration of a metric."""

    key: str  # name in files and commands; a metric that takes a k is declared as "recall@k"
    title: str  # name on screen
    meaning: str  # one plain sentence
    formula: str  # the definition, in words and symbols
    component: Component  # the part of the pipeline it measures
    needs: tuple[str, ...]  # fields of a sample that it is computed from, as named in the sample schema
    undefined: str  # when it is not applicable
    reference: str  # source of the definition
    higher_is_better: bool | None = True  # direction; None where neither is better
    bounds: tuple[float, float] = (0.0, 1.0)  # least and greatest value
    # (needs work below, good from, excellent from) in the metric's own direction, or None
    bands: tuple[float, float] | None = None
    # function of (batch, k, convention), or None where it is only imported, judged or human
    compute: Compute | None = None
    per_k: bool = False  # whether it takes a k, as in recall@5
    unit: Literal["ranks", "tokens"] = "ranks"  # what k counts
    aliases: tuple[str, ...] = ()  # other names in use
    caution: str = ""  # a warning shown beside the number, or ""
    plain: str = ""  # name for those who did not build the system, "" where the title serves
    # share of the applicable questions that must have a value for a mean to be stated; with fewer there
    # are bounds alone
    least_scored: float = 0.0


@dataclass(frozen=True)
class MetricKey:
    """A metric with its k, e.g. recall@5."""

    metric: Metric
    k: int | None

    @property
    def name(self) -> str:
        """The key as written in files and commands."""
        return self.metric.key if self.k is None else self.metric.key.replace("@k", f"@{self.k}")

    @property
    def title(self) -> str:
        """The name on screen."""
        if self.k is None:
            return self.metric.title
        if self.metric.unit == "tokens":
            return f"{self.metric.title} in {self.k:,} tokens"
        return f"{self.metric.title}@{self.k}"


def find_key(name: str, registry: Mapping[str, Metric]) -> MetricKey | None:
    """Find a metric by key, alias, or key with a k; None where the name is not known or its k is invalid."""
    metric, k = _metric_and_k(name, registry)
    if metric is None:
        return None
    if not metric.per_k:
        return MetricKey(metric, None)
    number = whole_number(k)
    return MetricKey(metric, number) if number else None


def parse_key(name: str, registry: Mapping[str, Metric]) -> MetricKey:
    """Find a metric by key, alias, or key with a k; the error lists similar names.

    Raises:
        MetricsError: the name is not known, or its k is missing or not a positive whole number.
    """
    key = find_key(name, registry)
    if key is not None:
        return key
    metric, k = _metric_and_k(name, registry)
    base = name.partition("@")[0]
    if metric is not None:
        raise MetricsError(f"metric {name!r} needs a k of 1 or more, as in {base}@5")
    aliases = (alias for metric in registry.values() for alias in metric.aliases)
    near = get_close_matches(f"{base}@k" if k else base, [*registry, *aliases], n=3, cutoff=0.4)
    hint = f"; near names: {', '.join(near)}" if near else ""
    raise MetricsError(f"unknown metric {name!r}{hint}; known: {', '.join(sorted(registry))}")


def _metric_and_k(name: str, registry: Mapping[str, Metric]) -> tuple[Metric | None, str]:
    base, _, k = name.partition("@")
    wanted = f"{base}@k" if k else base
    if wanted in registry:
        return registry[wanted], k
    return next((metric for metric in registry.values() if wanted in metric.aliases), None), k
