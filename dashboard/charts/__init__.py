"""The specification of charts, the charts as pure functions, and Plotly's drawing of them; no Streamlit."""
