"""The tables of results, one function a table: pages, terminal and reports draw the same object."""
