"""From a file to parsed runs: tell the format by its content, preview it, load it.

May import `store`; `formats` and `spans` may import `parsing`, never back; `tools` and `data_sets` may import
all three.
"""
