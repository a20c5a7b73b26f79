"""Human labels: reading them, agreement, failure taxonomy, random samples and PPI means.

May import `scoring` and `store`.
"""
