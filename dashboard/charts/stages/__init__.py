"""The pictures that open the pages about one stage: the map of cases, gold by rank, and use by rank."""
