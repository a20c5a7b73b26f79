"""What the judge decides of checks."""
