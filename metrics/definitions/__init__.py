"""One module a metric family, formula and declaration together.

May import `ragtriage.metrics.schema`; look metrics up through `ragtriage.metrics.metric_registry`.
"""
