"""Cases and blocks of pages as HTML, stories of runs, and reports as files; no Streamlit."""
