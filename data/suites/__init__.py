"""Check suites over a run: what each suite's checks amount to, and which of them failed.

check_table has the checks as arrays, summary what every suite shows, failing the list of checks, detail and
registry how a suite adds a section of its own.
"""
