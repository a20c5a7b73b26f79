"""What the evaluation services of cloud providers write."""
