"""Formulas of live tests: the split, differences by user, bands that stay valid at every look, feedback.

May import everything in `metrics` but `gates` and `sanity`.
"""
