"""Stories: the kinds of sections, and what each shows of a run; no Streamlit."""
