"""Intervals, paired tests, agreement, prediction-powered inference: statistics without any RAG in them.

May import `ragtriage.metrics.schema`.
"""
