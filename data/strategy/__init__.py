"""Strategy: what to measure next, from the use case and from what the workspace holds."""
