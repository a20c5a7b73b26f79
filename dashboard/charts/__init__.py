"""Charts as pure functions: values in, figure out; used by pages and reports alike."""
