"""Scores and human labels as files that other tools take in: one module per tool, joined by its own ids.

May import `cases`, `labels`, `diagnosis` and everything below: see the contract in pyproject.toml.
"""
