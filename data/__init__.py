"""What a run is and where it lies: run format, workspace, importers, scoring, queries."""
