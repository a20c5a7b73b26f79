"""Runs against runs: paired comparison, trend, ablation, cost, benchmarks, oracle gap.

May import `diagnosis`, `labels`, `scoring` and `store`.
"""
