"""A case as escaped HTML, and the word diff of two answers; no Streamlit."""
