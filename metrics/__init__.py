"""Every metric of ragtriage: formula, text and required inputs. Uses NumPy only."""

from ragtriage.metrics.metric_registry import REGISTRY, compute, lookup, unavailable
from ragtriage.metrics.schema.batch import Batch
from ragtriage.metrics.schema.metric import CONVENTIONS, Convention, Metric, MetricKey
from ragtriage.metrics.schema.scores import MetricsError, Scores, Source, Status

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
