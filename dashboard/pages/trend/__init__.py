"""The Trend page: a metric over the versions of a project, large and small, and its numbers.

Imported by the page alone.
"""
