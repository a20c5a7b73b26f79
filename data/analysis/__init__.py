"""The data behind the Retrieval and Alignment pages.

May import `scoring` and `store`.
"""
