"""Alignment."""

from __future__ import annotations

import streamlit as st

st.title("Does the answer draw on what was ranked first?")
