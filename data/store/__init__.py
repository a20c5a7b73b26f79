"""What lies on disk: workspace, run files, the sample schema, the annotations database, judge result files.

The only room that talks to DuckDB; imports nothing else of `data` but `errors`.
"""
