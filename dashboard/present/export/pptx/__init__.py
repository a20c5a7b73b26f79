"""A report as slides with editable charts."""
