"""Metric pattern, failure stage, symptoms, what to fix first, and the slices that do worst.

May import `metrics.statistics` and `metrics.schema`.
"""
