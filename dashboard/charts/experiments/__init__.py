"""The charts of experiments."""
