"""How well a run without answers ranks: what is said where no case can be called good or bad."""

from dataclasses import dataclass

import numpy as np

from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.scoring.summaries import MetricSummary, summarise
from ragtriage.metrics.metric_registry import ordered
from ragtriage.metrics.statistics.intervals import hajek_mean, question_means


@dataclass(frozen=True)
class Ranking:
    """The quality of a ranking."""

    metric: str  # nDCG at the largest k
    summary: MetricSummary  # its mean with interval
    k: int  # the largest k
    capped_recall: float  # mean share of min(k, relevant) documents that the first k hold
    beyond_k: int  # questions to which more documents are relevant than k


def ranking_of(diagnosis: Diagnosis) -> Ranking | None:
    """Return the ranking of a run that records documents and gold but no answers; None for any other."""
    scored = diagnosis.scored
    metrics = [name for name in ordered(scored.metrics) if name.startswith("ndcg@")]
    if "answer" in scored.run.fields or not metrics:
        return None
    metric, gold = metrics[-1], scored.stage_features["gold_documents"]
    k = int(metric.removeprefix("ndcg@"))
    recall = scored.values(f"recall@{k}")
    capped = question_means(recall * gold / np.minimum(gold, k), scored.question)[0]
    return Ranking(
        metric,
        summarise(scored, [metric])[metric],
        k,
        hajek_mean(capped, scored.question_weights),
        len(np.unique(scored.question[gold > k])),
    )
