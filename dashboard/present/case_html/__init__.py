"""Cases as HTML, written by Jinja templates that escape every value; no Streamlit."""
