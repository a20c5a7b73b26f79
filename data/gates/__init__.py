"""gates.toml, the gate report of a run, and watching a folder for new runs.

May import every room of `data` but `generation`.
"""
