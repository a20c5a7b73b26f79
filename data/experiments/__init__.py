"""Experiments: paired runs of a system under test in which one thing changes, with effects and tests."""
