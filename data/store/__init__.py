"""What is stored on disk: workspace, runs, samples and their validation, annotations, judge results.

The only room that talks to DuckDB; imports nothing else of `data` but `errors`.
"""
