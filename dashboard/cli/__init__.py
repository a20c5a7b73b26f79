"""The command line: a module for each command, loaded when that command is called.

May import every room of `dashboard` but `app` and `views`; only `serve` and `demo` start Streamlit.
"""
