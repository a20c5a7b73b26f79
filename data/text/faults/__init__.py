"""What is wrong with an answer as a text: an error in its place, an end in the middle, a secret."""
