"""The Alignment page: which ranks the answers use, and when they ignore the top-ranked document."""
