"""Metric pattern, failure stage, symptoms, what to fix first, and the slices that do worst.

May import `ragtriage.metrics.statistics` and `ragtriage.metrics.schema`.
"""
