"""Formulas of the check suites: routes, tool calls, filters and order, safety, memory."""
