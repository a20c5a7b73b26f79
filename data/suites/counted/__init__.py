"""Suites whose rules count what they show: filters, order, memory, isolation, format; parts has the counting."""
