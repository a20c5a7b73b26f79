"""What all charts have in common: room, legend, and no dragging."""

from __future__ import annotations

import plotly.graph_objects as go

__all__ = ["FRAME", "LEGEND", "ROW", "laid_out"]

ROW = 30  # pixels a row of a horizontal chart
FRAME = 70
LEGEND = {"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0}


def laid_out(figure: go.Figure, height: int, **more: object) -> go.Figure:
    """Give a figure its height in pixels and the common margins."""
    figure.update_layout(height=height, margin={"l": 8, "r": 16, "t": 28, "b": 32}, dragmode=False, **more)
    return figure
