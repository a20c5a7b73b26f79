"""What evaluation harnesses and services of clouds write: samples with their own scorers in logs."""
