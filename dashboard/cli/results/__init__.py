"""The commands that read a run and answer: metrics, diagnosis, gates, reports."""
