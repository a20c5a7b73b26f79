"""Pages with nothing to show of the project on display: which they are, and what they tell instead."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from ragtriage.dashboard.present.page_html.blocks import ScaleRow, Strip, scale_row
from ragtriage.dashboard.shell.components import draw_html
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.shell.session import View, current_selection, keep, open_store
from ragtriage.dashboard.shell.user import attempt, may_write
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.chunking.grids import grids_of
from ragtriage.data.comparison.published_results import read_published
from ragtriage.data.errors import DataError
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.schema.scores import MetricsError, Source

CHECKED = "check_pass_rate"  # metric of a run that decides a check
PAIRED = ("compare", "trend")  # pages that need two runs
TRUSTED = (Source.JUDGED.label, Source.HUMAN.label)


def empty_pages() -> frozenset[str]:
    """Return the names of the pages that the project of the address, else the chosen one, leaves empty."""
    params = st.query_params.to_dict()
    try:
        selection = Selection.from_params(params) if params.get("project") else current_selection()
        return pages_without_content(View.of(open_store(), selection))
    except (DataError, MetricsError):  # shown where the page is drawn
        return frozenset()


def pages_without_content(view: View | None) -> frozenset[str]:
    """Return the names of the pages that would be empty in the project on display."""
    if view is None:
        return frozenset()
    empty = set() if len(view.runs) > 1 else set(PAIRED)
    metrics = [view.summary(run) for run in view.sampled]
    there = {
        "checks": any(CHECKED in summaries for summaries in metrics),
        "chunking": _has_grid(view.runs),
        "experiments": any(run.config.get("experiment") for run in view.runs),
        "judge": any(
            source in summary.sources
            for summaries in metrics
            for summary in summaries.values()
            for source in TRUSTED
        )
        or any(view.store.ledger.labels(run.run_id) for run in view.runs),
        "benchmarks": _is_published(view),
    }
    return frozenset(empty | {name for name, has in there.items() if not has})


@kept
def _has_grid(runs: tuple[Run, ...]) -> bool:
    return bool(grids_of(runs))


def _is_published(view: View) -> bool:
    """Return whether results on the data set of a run are published, or the workspace has its own."""
    data_sets = {run.dataset.casefold() for run in view.runs if run.dataset}
    tables = read_published(view.store.workspace).tables
    return any(run.means for run in view.runs) or any(
        table.dataset.casefold().startswith(name) for table in tables for name in data_sets
    )


@dataclass(frozen=True)
class ExampleRow:
    """A row of the picture, as the bundled example has it."""

    name: str
    value: str
    note: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Example:
    """What a page tells of a bundled project; tests hold the numbers to those of the project."""

    project: str  # that opens
    tells: str  # the question that the page answers
    statement: str  # its conclusion there
    rows: tuple[ExampleRow, ...]
    start: float = 0.0  # ends of the scale
    end: float = 1.0
    gate: float | None = None  # tick on it


EXAMPLES: Mapping[str, Example] = {
    "checks": Example(
        "tau-bench",
        "Which checks fail, why, and in which cases?",
        "gpt-4o, airline: 123 of 200 cases have a wrong tool call",
        (
            ExampleRow("Tools", "77 of 200", "38 %", 0.385, 0.279, 0.503),
            ExampleRow("Task outcome", "84 of 200", "42 %", 0.42, 0.317, 0.531),
        ),
        gate=0.9,
    ),
    "experiments": Example(
        "experiments",
        "What does one change of the context or of a setting do to the answers?",
        "built-in extractive, 800 words: answers get worse towards the end",
        (
            ExampleRow("Gold first", "25 of 48", "52 %", 0.521, 0.383, 0.655),
            ExampleRow("Gold at rank 8", "23 of 48", "48 %", 0.479, 0.345, 0.617),
            ExampleRow("Gold last", "11 of 48", "23 %", 0.229, 0.133, 0.365),
        ),
    ),
    "judge": Example(
        "mtrag, judged",
        "Does the judge agree with people?",
        "Doubt the judge on faithfulness: it passes 5 of 10 bad answers",
        (
            ExampleRow("Faithfulness", "0.79", "rank correlation with people", 0.79, 0.59, 0.88),
            ExampleRow("Completeness", "0.12", "could be chance", 0.12, -0.10, 0.36),
        ),
        start=-1.0,
    ),
    "chunking": Example(
        "state_of_the_union",
        "Which way of splitting the documents brings back the most gold text?",
        "512 / 32 tokens is best; 256 / 32, half the size, is tied with it",
        (
            ExampleRow("512 / 32 tokens", "100 %", "of the gold text: best", 1.0, 0.953, 1.0),
            ExampleRow("256 / 32 tokens", "98 %", "tied with the best", 0.979, 0.926, 0.997),
            ExampleRow("128 / 0 tokens", "91 %", "worse", 0.907, 0.836, 0.952),
        ),
        start=0.8,
    ),
}


def example_section(page: str, begin: Callable[[], object] | None = None, heading: str = "") -> None:
    """Draw what an empty page would tell, a button that opens the example, and below it how to begin.

    Args:
        page: its name.
        begin: draws the form that begins; None for a page that has its own below.
        heading: above the form.
    """
    example = EXAMPLES[page]
    sides = st.grid(2, min_column_width=350, gap="large")
    with sides.container(border=True, gap="xsmall"):
        st.caption(f"Example, from another project: {markdown_text(example.project)}")
        st.markdown(f"**{example.statement}**")
        for row in example.rows:
            with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
                st.markdown(row.name, width=130)
                draw_html(scale_row(_picture(row, example)), 40)
    with sides.container(gap="small", vertical_alignment="center"):
        st.markdown(f"##### {example.tells}")
        st.markdown("This project has no such results yet.")
        _open_button(example)
    if begin is not None and may_write():
        st.markdown(f"##### {heading}")
        begin()


def _picture(row: ExampleRow, example: Example) -> ScaleRow:
    label = f"{row.name}: {row.value}"
    strip = Strip(
        row.mean, row.low, row.high, example.gate, None, "not measured", label, example.start, example.end,
        higher_is_better=True,
    )  # fmt: skip
    return ScaleRow("not measured", row.value, row.note, strip)


def _open_button(example: Example) -> None:
    there = bool(open_store().runs(example.project))
    if not there and not may_write():
        st.caption("`ragtriage demo` has this example.")
        return

    def show() -> None:
        """Load what is missing of the example and choose its newest run."""
        from ragtriage.data.demo import load_project  # loads importers and experiments

        runs = load_project(open_store(), example.project)
        keep(
            project=example.project,
            run=runs[-1].run_id,
            **{
                "baseline": "",
                "versions": (),
                "other": "",
                "case": "",
                "page": 1,
                "experiment": "",
                "grid": "",
            },
        )

    st.button(
        "Open the example", key=f"example_{example.project}", type="primary", on_click=attempt, args=(show,),
        icon=":material/visibility:",
    )  # fmt: skip
