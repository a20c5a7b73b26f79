"""Live tests of versions on users: from files of events to arms, metrics and one conclusion.

Reads tables with `importers.parsing`; formulas are those of `ragtriage.metrics.ab`.
"""
