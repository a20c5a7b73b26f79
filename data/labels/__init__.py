"""Human labels and ratings: reading and writing them, their agreement with metrics, the failure taxonomy.

May import `prompts`, `scoring`, `store` and `errors`.
"""
