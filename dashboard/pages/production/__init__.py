"""Production: is live traffic still as good, since when, and for whom?"""
