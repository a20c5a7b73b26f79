"""One module a metric family, formula and declaration together.

May import `metrics.schema`; look metrics up through `metrics.metric_registry`.
"""
