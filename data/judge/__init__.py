"""Asking a model about samples: requests, cost plan, jobs, batches, cache, evaluators.

Only `client` and `batches` import anthropic.
"""
