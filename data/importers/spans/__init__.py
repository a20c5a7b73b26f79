"""Spans of traces, from whatever tool, become samples: span, trace as a tree, retrieval, sample."""
