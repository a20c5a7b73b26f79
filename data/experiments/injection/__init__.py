"""Prompt injection through documents: what is planted, how it is hidden, and whether it was followed."""
