"""Samples to arrays to scores: score a run, open it as a ScoredRun, summarise it.

May import `store` and `text`.
"""
