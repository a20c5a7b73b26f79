"""Text heuristics: tokens, sentences, refusal detection, and which context an answer draws on.

Imports nothing else of ragtriage but `metrics.schema`'s types.
"""
