"""What the pages draw, a module or package a page. Nothing imports from a page's room but that page."""
