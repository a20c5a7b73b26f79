"""Formulas behind single views: curves over k, hops, reranking, question types, interpretation bands.

May import `metrics.statistics` and `metrics.schema`.
"""
