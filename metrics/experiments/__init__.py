"""Formulas of the experiments: injection, stability, retrieval across languages, parsed pages."""
