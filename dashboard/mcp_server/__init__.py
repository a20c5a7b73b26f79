"""The Model Context Protocol server: tools with which a coding agent reads runs, one module a subject."""
