"""Reports as people arrange them: the points of a story and what each shows; no Streamlit."""
