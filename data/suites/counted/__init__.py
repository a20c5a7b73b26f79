"""Suites whose rules count what they show: filter, order, memory, isolation, format; figures: their means."""
