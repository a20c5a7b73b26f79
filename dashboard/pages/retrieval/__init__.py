"""The Retrieval page: curves over k, question types, reranking."""
