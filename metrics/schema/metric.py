"""The metric declaration, from which every help text is printed, and where a metric is undefined."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.batch import Batch, Rankings, SpanRankings
from ragtriage.metrics.schema.scores import (
    BoolArray,
    FloatArray,
    MetricsError,
    Scores,
    Source,
    Status,
    StrArray,
)

MOST_DIGITS = 18  # what 64 bits hold


def whole_number(text: str) -> int | None:
    """Return the whole number that a text writes in decimal digits.

    None for any other text: a superscript two is a digit to Unicode and no number to Python, and thousands of
    digits are more than Python reads.
    """
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None


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


Block = TypeVar("Block")

ANSWERABLE_LABEL = "whether the question can be answered: `answerable`"
# Sample field, whole or up to its dot -> the block of Batch it ends up in, and its description.
_FIELDS: dict[str, tuple[str, str]] = {
    "relevant": ("rankings", "gold documents: `relevant`"),
    "relevant_spans": ("spans", "gold character spans: `relevant_spans`"),
    "retrieved_tokens": ("chunk_tokens", "the tokens of each retrieved chunk: `retrieved_tokens`"),
    "relevant_chunks": ("chunk_totals", "how many chunks of the index hold gold: `relevant_chunks`"),
    "claims": ("claims", "the claims of the answer: `claims`"),
    "reference_claims": ("reference_claims", "the claims of the reference answer: `reference_claims`"),
    "used": ("context_use", "the documents the answer uses: `used`"),
    "refused": ("answers", "answers, or whether they are refusals: `answer`, `refused`"),
    "answerable": ("answers", ANSWERABLE_LABEL),
    "judged": ("judge_labels", "judge results: `ragtriage judge`"),
    "citations": ("citations", "citations, as [1] in the answers or in `citations`"),
    "relevant.hop": ("facets", "gold documents with their facets: `relevant` with `hop`"),
    "coverage": (
        "coverage_labels",
        "claims of the reference, gold with facets, or a reference answer and texts of the documents",
    ),
    "agreement": (
        "agreement_labels",
        "claims with `contradicted_by`, or documents with the `answer` that they give",
    ),
    "retrieved.text": ("passages", "the texts of the documents: `retrieved`"),
    "wording": ("wordings", "reference answers: `reference_answer`"),
    "checks": ("checks", "expected-against-actual checks: `checks`"),
    "retrieved.relevant": ("document_relevant", "relevance labels of the documents: `retrieved.relevant`"),
}


def ratio(part: FloatArray | NDArray[np.int64], whole: FloatArray | NDArray[np.int64]) -> FloatArray:
    """Return part / whole, element by element; NaN where the whole is 0. Both (n,)."""
    return np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=np.asarray(whole) > 0)


def require(block: Block | None) -> Block:
    """Return a block of a batch that is not None.

    Raises:
        MetricsError: the batch does not record it; `missing` tells beforehand.
    """
    if block is None:
        raise MetricsError("the batch lacks an input of this metric; `unavailable(batch)` names it")
    return block


def missing(needs: Iterable[str], batch: Batch) -> str:
    """Return what a batch lacks of the sample fields in `needs`, as "needs ...: `field`"; "" for nothing."""
    needs = tuple(needs)
    fields = [_FIELDS.get(need) or _FIELDS.get(need.partition(".")[0]) for need in needs]
    lacking = [field[1] for field in fields if field and getattr(batch, field[0]) is None]
    if not lacking:
        return ""
    if "retrieved" in needs and batch.n and not batch.documents.any():
        lacking.append("ranked documents: `retrieved`")
    return f"needs {' and '.join(dict.fromkeys(lacking))}"


def from_lists(
    values: FloatArray, block: Rankings | SpanRankings, undefined: BoolArray, why: str | StrArray
) -> Scores:
    """Build the scores of a ranked-list metric, keeping the statuses and reasons of its block.

    Args:
        values: (n,) raw values.
        block: where they come from; its unscored samples stay unscored for the same reason.
        undefined: (n,) True where the metric has no meaning although the list was recorded.
        why: the reason there, one for all or (n,).
    """
    recorded = block.status == Status.SCORED
    status = np.where(recorded & undefined, np.int8(Status.NOT_APPLICABLE), block.status)
    not_finite = (status == Status.SCORED) & ~np.isfinite(values)
    status = np.where(not_finite, np.int8(Status.FAILED), status)
    reason = block.reason.copy()
    no_meaning = recorded & undefined
    if no_meaning.any():
        reason[no_meaning] = np.broadcast_to(np.asarray(why, dtype=object), len(values))[no_meaning]
    reason[not_finite] = "not a number"
    clean = np.where(status == Status.SCORED, values, np.nan)
    return Scores(clean, status, reason, np.full(len(values), Source.COMPUTED, dtype=np.int8))
