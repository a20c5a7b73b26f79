"""Gates: reading gates.toml, judging a run by its gates, and watching a folder for new runs.

May import every room of `data` but `generation`.
"""
