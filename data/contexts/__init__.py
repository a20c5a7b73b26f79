"""The texts of the retrieved documents, compared by their words: with the question and with each other."""
