"""A report as HTML, PDF, pictures or a bundle of files; no Streamlit."""
