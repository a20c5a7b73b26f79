"""From a file to parsed runs: tell the format by its content, preview it, load it.

May import `store`; `formats` may import `parsing`, never back.
"""
