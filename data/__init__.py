"""What a run is and where it is stored: run format, workspace, importers, scoring, queries."""
