"""What a number means: every metric of ragtriage, its formula, its text and what it needs. NumPy only."""

from metrics.catalogue import REGISTRY, compute, lookup, unavailable
from metrics.inputs import Batch
from metrics.registry import CONVENTIONS, Convention, Metric, MetricKey
from metrics.values import MetricsError, Scores, Source, Status

__all__ = [
    "CONVENTIONS",
    "REGISTRY",
    "Batch",
    "Convention",
    "Metric",
    "MetricKey",
    "MetricsError",
    "Scores",
    "Source",
    "Status",
    "compute",
    "lookup",
    "unavailable",
]
