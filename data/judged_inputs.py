"""What a judge's labels need of a sample, and which metrics they give: known before it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from data.ragged import Ragged
from metrics.catalogue import REGISTRY, cuts_of
from metrics.registry import Metric, MetricKey
from metrics.values import BoolArray, StrArray

__all__ = ["LACKING", "JudgedInputs", "judged_metrics"]

LACKING: Mapping[str, str] = {
    "answer": "no answer was recorded",
    "reference": "the sample has no reference answer",
    "documents": "no retrieved document has a text",
}
_RECORDED = frozenset({"answer", "reference_answer", "retrieved", "answerable"})  # what no judge labels
# Field that a metric needs -> what a judge must be shown to label it; others it does not label.
_SHOWN: Mapping[str, tuple[str, ...]] = {
    "answer": ("answer",),
    "reference_answer": ("reference",),
    "retrieved": (),
    "answerable": (),
    "judged": (),
    "refused": ("answer",),
    "claims.in_reference": ("answer", "reference"),
    "claims.supported_by": ("answer", "documents"),
    "claims.contradicted_by": ("answer", "documents"),
    "reference_claims.in_answer": ("answer", "reference"),
    "reference_claims.supported_by": ("reference", "documents"),
    "retrieved.relevant": ("documents",),
    "used": ("answer", "documents"),
}


def judged_metrics(ks: Sequence[int]) -> dict[str, Metric]:
    """List the metrics that a judge's labels can give, by full name, in the registry's order."""
    return {
        MetricKey(metric, k).name: metric
        for metric in REGISTRY.values()
        if metric.compute is not None and _labelled(metric)
        for k in cuts_of(metric, ks)
    }


def _labelled(metric: Metric) -> bool:
    """Whether a judge labels all that a metric needs, and something of it."""
    return all(need in _SHOWN for need in metric.needs) and not _RECORDED.issuperset(metric.needs)


@dataclass(frozen=True)
class JudgedInputs:
    """What there is to show a judge of the n samples of a batch.

    Attributes:
        present: key of LACKING -> (n,) True where the sample has it.
    """

    present: Mapping[str, BoolArray]

    @classmethod
    def of(cls, table: Any) -> JudgedInputs:
        """Look at an Arrow table of samples."""
        retrieved = Ragged.of(table["retrieved"])
        documents = np.zeros(table.num_rows, dtype=np.bool_)
        if len(retrieved.sample):
            text = pc.fill_null(pc.greater(pc.utf8_length(retrieved.field("text")), 0), False)
            documents[retrieved.sample[text.to_numpy(zero_copy_only=False)]] = True
        return cls(
            {
                "answer": _given(table["answer"]),
                "reference": _given(table["reference_answer"]),
                "documents": documents,
            }
        )

    def lacking(self, metric: Metric) -> StrArray:
        """(n,) why a metric is not applicable to a sample; "" where nothing is lacking."""
        reasons: StrArray = np.full(len(self.present["answer"]), "", dtype=object)
        needed = {shown for need in metric.needs for shown in _SHOWN[need]}
        for shown in reversed(list(LACKING)):
            if shown in needed:
                reasons[~self.present[shown]] = LACKING[shown]
        return reasons


def _given(column: Any) -> BoolArray:
    return np.asarray(column.combine_chunks().is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)
