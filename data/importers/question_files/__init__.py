"""Question sets as tools write them: a module for each, which declares its importers.

What such a file calls context is gold, not retrieved, and its answer is the reference. Nothing in it was
answered by a system, so it is kept as a question set and not as a run.
"""
