"""Chunking: which way of cutting the documents serves the questions best?"""

from __future__ import annotations

import streamlit as st

from dashboard.sections.chunking.grid_search import grid_form, grid_searches
from dashboard.sections.chunking.results import (
    cell_table,
    cut_picker,
    full_name,
    grid_picker,
    heatmaps,
    legend,
    marginal_effects,
    measure_picker,
    measures,
    other_cuts,
    reading,
    standing_of,
    tables_of,
    twins,
)
from dashboard.shell.components import facts
from dashboard.shell.session import current_view
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import count
from data.chunking.grids import grids_of

view = current_view()
st.title("Which chunking serves the questions best?")
grids = grids_of(view.sampled)
with st.expander("Run a grid", expanded=not grids, icon=":material/grid_on:"):
    grid_form(view.store, view.project)
grid_searches(view.store)

if not grids:
    st.info(
        "No grid in this project. Run one above or with `ragtriage grid CORPUS --questions FILE`, or "
        "load runs that say how they were chunked: `ragtriage import FILE --config chunk_size=256 "
        "--config chunk_overlap=32`."
    )
    st.stop()

with st.container(horizontal=True, vertical_alignment="bottom"):
    grid = grid_picker(grids)
    tables = tables_of(view, grid)
    cut_picker(measures(tables))
    base = measure_picker(tables)
if not base:
    st.info("No cell of this grid has a metric. Its questions need gold text, gold documents or answers.")
    st.stop()
found = standing_of(grid, tables, full_name(base, tables))

for line in reading(found):
    st.markdown(line)
for note in twins(grid, tables):
    st.caption(note)
for note in grid.notes:
    st.warning(markdown_text(note))

if len(grid.fixed) > 1:
    st.subheader("Size and overlap")
    heatmaps(grid, tables, base)
    facts(
        [
            legend(found),
            f"n = {count(found.n_questions, 'question')} that all cells share",
            f"{found.n_left_out:,} left out" if found.n_left_out else "",
            "blank: not run",
            "click a cell for its cases",
        ]
    )
    st.subheader("What each does by itself")
    marginal_effects(grid, found)

st.subheader("All cells of size and overlap" if grid.fixed else "All cells")
plain = [one for one in found.values if one.cell.cut == grid.plane_cut]
cell_table(found, plain, "cells", grid.unit)
others = [one for one in found.values if one not in plain]
if others:
    st.subheader(other_cuts(others))
    cell_table(found, others, "strategies", grid.unit)
facts(
    [
        "differences to the best cell, paired on question, Holm-corrected over all cells",
        "the best is chosen on these same questions, so its mean is a little too good",
        "choose a row to open or compare it",
    ]
)
with st.expander("Why gold characters and not chunks?"):
    st.write(
        "Cutting the same text smaller, or with more overlap, changes how many chunks are relevant, and "
        "with it the denominator of recall and nDCG by chunk count: two chunkings would not share a "
        "scale. Here recall is the share of gold characters that the chunks cover, and a character that "
        "two chunks repeat is gained once. The chunk-count variants are in the list of metrics by name."
    )
