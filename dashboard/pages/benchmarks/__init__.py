"""The Benchmarks page: this run on target bands, beside published results, and over versions.

Imported by the page alone.
"""
