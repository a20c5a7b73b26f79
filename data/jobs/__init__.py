"""Long-running jobs, each a process of its own, recorded in the workspace's ledger.

`record` holds what a job is, how far it is and how it ended; `heartbeat` keeps that record current while the
job runs. Judge runs and grid searches are such jobs.
"""
