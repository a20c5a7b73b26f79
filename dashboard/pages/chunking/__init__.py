"""The Chunking page: the ranking of a grid, the form that starts a grid search, and its progress.

Imported by the page alone.
"""
