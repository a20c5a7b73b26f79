"""The Chunking page: the results of a grid, and the form that runs one."""
