"""Stability: the same question again, in other words, and with its documents in another order."""
