"""Chunkers, corpora, retrievers, the grid search and the ranking of its configurations.

May import `diagnosis`, `scoring`, `store` and `text`.
"""
