"""Chunking."""

from __future__ import annotations

import streamlit as st

st.title("Which chunking serves the questions best?")
