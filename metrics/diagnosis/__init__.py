"""Metric pattern, failure stage, symptoms, what to fix first, and the slices that do worst.

May import `metrics.statistics`, `metrics.schema` and `metrics.text`.
"""
