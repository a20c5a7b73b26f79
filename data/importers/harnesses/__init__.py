"""What evaluation harnesses write: a log or a file of samples with their own scorers."""
