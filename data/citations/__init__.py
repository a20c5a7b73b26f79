"""What the sentences of an answer cite: read from a sample, resolved to documents, held against labels."""
