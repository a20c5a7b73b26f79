"""Check suites, a module each: how its checks are decided, and what they amount to over a run.

check is what a suite decides, suite what a suite is, registry all of them, evaluate their use at scoring;
check_table has the checks of a run as arrays, their means, and what every suite shows.
citations and contexts read what answers cite, and how passages overlap.
"""
