"""Forgetting a user: what the workspace has of one person, where it lies, and whether any is left."""
