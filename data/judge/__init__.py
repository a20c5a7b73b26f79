"""Asking a model about samples: requests, replies, cost plan, jobs, batches, cached calls, evaluators.

Only `client` imports anthropic, once a client is made.
"""
