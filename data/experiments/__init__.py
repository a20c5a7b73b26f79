"""Experiments: paired runs of a system under test in which one thing changes, with effects and tests.

`experiment` says what an experiment is and keeps it in the workspace, `registry` lists the kinds, `questions`
what is asked, `plan` counts what it takes, `run_experiment` asks and makes the runs, and `summary` measures
them. Each kind has a module: `arms`, `position`, `noise`.
"""
