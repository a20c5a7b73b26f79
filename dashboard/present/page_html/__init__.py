"""HTML of the pages: the band with the conclusion, tiles, strips and rows, rendered by escaping templates."""
