"""Retrieval across languages: parallel questions against passages of each language, and of all at once."""
