"""The built-in system under test: retrieval over a corpus, then an answer by Claude or by the best sentence.

It runs without a network and without a model as `extractive`, so that an experiment can be tried before a
system of one's own is connected.
"""
