"""The conclusion of each page as a sentence made from its numbers: one module a page."""
