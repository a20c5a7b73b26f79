"""What evaluation and tracing tools export: a module for each tool, which declares its importers."""
