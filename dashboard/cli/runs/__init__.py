"""The commands on runs and what comes in and goes out: load, list, tag, export, watch."""
