"""The command line, a module a command; loads no Streamlit but to serve the dashboard."""
