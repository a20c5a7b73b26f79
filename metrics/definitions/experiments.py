"""What an experiment measures of an answer, kept with the samples of its runs."""

from __future__ import annotations

from functools import partial

from ragtriage.metrics.schema.metric import Metric

_kept = partial(Metric, component="answer", needs=("scores",))

METRICS: tuple[Metric, ...] = (
    _kept(
        key="answer_match",
        title="Answer match",
        meaning="Whether the answer holds one of the accepted answers word for word.",
        formula="1 if any accepted answer, normalised, is a substring of the normalised answer, else 0",
        undefined="Where no accepted answer is known.",
        reference="best-subspan exact match (Liu et al. 2024), normalised as in SQuAD",
        aliases=("best_subspan_em",),
        caution="For short answers such as names and numbers; a right answer in other words scores 0.",
    ),
    _kept(
        key="altered_answer_match",
        title="Altered answer given",
        meaning="Whether the answer holds the wrong answer that was put into its document.",
        formula="1 if the altered answer, normalised, is a substring of the normalised answer, else 0",
        undefined="Where no document was altered.",
        reference="counterfactual robustness, RGB (Chen et al. 2024)",
        higher_is_better=None,
    ),
    _kept(
        key="answer_declined",
        title="Answer declines",
        meaning="Whether the answer declines to answer, by its words.",
        formula="1 if a phrase of the answer declines, else 0",
        undefined="Never; not run outside experiments.",
        reference="negative rejection, RGB (Chen et al. 2024)",
        higher_is_better=None,
    ),
)
