"""Parsed pages against true ones: text, tables and headings, and a run for each parser."""
