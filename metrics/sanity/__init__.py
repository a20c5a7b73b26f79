"""Sanity checks: do the numbers of a run agree with each other?

May import everything in `metrics` but `gates`.
"""
