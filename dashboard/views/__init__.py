"""One script a page, run by Streamlit: it lays the sections of its page out. Nothing imports from here."""
