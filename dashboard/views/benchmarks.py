"""Benchmarks."""

from __future__ import annotations

import streamlit as st

st.title("How do we stand against published results?")
