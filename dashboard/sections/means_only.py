"""What a page shows of a version that is known by its means alone."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from dashboard.charts.benchmarks import metric_label
from dashboard.shell.components import finding_list, show_table
from dashboard.shell.session import View
from dashboard.wording.escaping import markdown_text
from data.scoring.summaries import MetricSummary

__all__ = ["means_only"]


def means_only(view: View) -> None:
    """Say of a version known by its means alone what is known, and where to go on."""
    st.title(f"{markdown_text(view.labels[view.run.run_id])} is known by its means alone")
    st.write(
        "No sample of this version was loaded, so there are no cases, no intervals and no diagnosis of it."
    )
    show_table(_own_rows(view.summary(view.run)), "The means of this version")
    finding_list(view.findings(view.run))
    st.page_link("views/benchmarks.py", label="Its place among versions and published results: Benchmarks")


def _own_rows(ours: Mapping[str, MetricSummary]) -> list[dict[str, str]]:
    return [
        {"Metric": metric_label(name), "Mean, %": _percent(one), "Obtained": "imported mean"}
        for name, one in ours.items()
    ]


def _percent(one: MetricSummary) -> str:
    return "–" if one.mean is None else f"{100 * one.mean:.1f}"
