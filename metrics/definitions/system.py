"""System measurements taken from the run, and the pass rate of expected-against-actual checks."""

from functools import partial

import numpy as np

from ragtriage.metrics.schema.batch import Batch, Checks
from ragtriage.metrics.schema.metric import Convention, Metric, ratio, require
from ragtriage.metrics.schema.scores import Scores, Status


def check_pass_rate(checks: Checks, n: int) -> Scores:
    """Share of each sample's checks that passed; not applicable where a sample has none.

    Args:
        checks: the m checks of the batch.
        n: number of samples.
    """
    whole = np.bincount(checks.sample, minlength=n)
    passed = np.bincount(checks.sample, weights=checks.passed.astype(np.float64), minlength=n)
    none = (whole == 0, Status.NOT_APPLICABLE, "the sample has no checks")
    return Scores.build(ratio(passed, whole), [none])


def _pass_rate(batch: Batch, _k: int, _convention: Convention) -> Scores:
    return check_pass_rate(require(batch.checks), batch.n)


_measured = partial(
    Metric,
    component="system",
    undefined="Never; not run where the run does not record it.",
    reference="measured by the pipeline, imported with the run",
    higher_is_better=False,
    bounds=(0.0, float("inf")),
)

METRICS: tuple[Metric, ...] = (
    _measured(
        key="latency_ms",
        title="Latency (ms)",
        plain="time to answer",
        meaning="How long the whole answer took; look at percentiles rather than the mean.",
        formula="milliseconds from question to finished answer",
        needs=("latency_ms",),
    ),
    _measured(
        key="retrieval_ms",
        title="Retrieval time (ms)",
        meaning="How long retrieval took, reranking included.",
        formula="milliseconds from question to final context",
        needs=("retrieval_ms",),
    ),
    _measured(
        key="input_tokens",
        title="Input tokens",
        meaning="How much text the generator was given.",
        formula="tokens of the prompt, context included",
        needs=("input_tokens",),
        higher_is_better=None,
    ),
    _measured(
        key="output_tokens",
        title="Output tokens",
        meaning="How much text the generator wrote.",
        formula="tokens of the completion",
        needs=("output_tokens",),
        higher_is_better=None,
    ),
    _measured(
        key="cost_usd",
        title="Cost (USD)",
        plain="cost of an answer",
        meaning="The cost of the answer.",
        formula="US dollars for all calls behind one answer",
        needs=("cost_usd",),
    ),
    _measured(
        key="peak_memory_mb",
        title="Peak memory (MB)",
        meaning="The peak memory of the pipeline.",
        formula="megabytes at the peak while answering",
        needs=("peak_memory_mb",),
    ),
    Metric(
        key="check_pass_rate",
        title="Check pass rate",
        plain="checks passed",
        meaning="How many of the sample's expected-against-actual checks (router, tool, format ...) passed.",
        formula="checks passed / checks",
        component="system",
        needs=("checks",),
        undefined="The sample has no checks.",
        reference="ragtriage",
        compute=_pass_rate,
    ),
)
