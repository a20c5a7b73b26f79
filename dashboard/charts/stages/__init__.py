"""The pictures about one stage or part: the map of cases, gold by rank, use by rank, and the parts of F1."""
