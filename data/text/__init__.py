"""Text heuristics: tokens, sentences, refusal detection, and which context an answer draws on.

One tokenizer and one stemmer for search and for attribution. Imports nothing else of ragtriage.
"""
