"""The diagnosis of one run: pattern, stage and evidence of every sample.

May import `scoring` and `store`.
"""
