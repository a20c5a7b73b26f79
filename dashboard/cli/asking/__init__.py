"""The commands that ask a model or a system under test: judge, score, experiments, grids."""
