"""The diagnosis of one run: metric pattern, failure stage and coverage of every sample.

May import `scoring` and `store`.
"""
