"""One module a metric family, formula and declaration together.

May import `metrics.schema` and `metrics.text`; look metrics up through `metrics.metric_registry`.
"""
