"""Gate rules, their verdicts and the sentences that explain them.

May import everything in `metrics` but `sanity`.
"""
