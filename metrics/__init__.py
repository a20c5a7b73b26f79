"""Every metric of ragtriage: formula, text and required inputs. Uses NumPy only."""

from metrics.metric_registry import REGISTRY, compute, lookup, unavailable
from metrics.schema.batch import Batch
from metrics.schema.metric import CONVENTIONS, Convention, Metric, MetricKey
from metrics.schema.scores import MetricsError, Scores, Status
from metrics.schema.source import Source

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
