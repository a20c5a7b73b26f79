"""What a metric takes and returns: sample batches, scores with status and source, the metric declaration.

Imports nothing else of ragtriage; every other package of `metrics` builds on it.
"""
