"""Formulas of live traffic: which calls are kept, drift of a series, a change of rates and of a mix.

May import everything in `metrics` but `ab`, `gates` and `sanity`.
"""
