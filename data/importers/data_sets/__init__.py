"""Data sets of benchmarks: questions with gold, and answers of systems with labels; a module a kind.

What a file of questions calls context is gold, not retrieved, and its answer is the reference. Nothing in it
was answered by a system, so it is kept as a question set and not as a run.
"""
