"""Bytes to rows to cells to columns: what all file formats share."""
