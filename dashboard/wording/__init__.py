"""Numbers, names and sentences as people read them, and their escaping; no Streamlit."""
