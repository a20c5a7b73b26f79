"""The command line: commands in modules by subject, each loaded when one of its commands is called.

May import every room of `dashboard` but `pages`; only `serve` and `demo` start Streamlit.
"""
