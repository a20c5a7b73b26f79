"""Formulas behind single views: curves over k, hops, reranking, question types, interpretation bands.

May import `ragtriage.metrics.statistics` and `ragtriage.metrics.schema`.
"""
