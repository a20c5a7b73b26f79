"""Retrieval."""

from __future__ import annotations

import streamlit as st

st.title("Does retrieval find what the answers need?")
