"""The page Checks: a tile for each suite, the suite on display, and its failing checks."""
