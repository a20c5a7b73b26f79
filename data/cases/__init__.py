"""Find, read and export cases; the cohorts (saved groups of cases) that a bar or cell of a chart opens.

May import `comparison`'s siblings and everything below: see the contract in pyproject.toml.
"""
