"""The runs of the workspace: where each stands, a list to search, and what can be done with several."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from ragtriage.dashboard.charts.project_strips import project_strips, strips_height
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.pages.runs.chosen_run import run_labels
from ragtriage.dashboard.present.page_html.pictures import measured_image, pass_strip_image
from ragtriage.dashboard.shell.components import WITHOUT_BAR, current_theme, draw, facts
from ragtriage.dashboard.shell.kept_results import forget, kept
from ragtriage.dashboard.shell.session import View, go_to_page, keep
from ragtriage.dashboard.shell.user import attempt, current_user, may_write
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.diagnosis.run_digest import RunDigest, read_digests, stored_digests
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run, flat_settings, setting_text
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.number_text import NOT_MEASURED, count, number

AT_FIRST, AT_ONCE = 0.7, 0.5  # seconds that a visit, and a step beside it, read runs for the first time
PAUSE = 1.0  # seconds between these steps
_READ = "runs_read"  # ids that were read beside the page, in the session state
MOST_LISTED = 200
LIST_HEIGHT, ROWS_IN_SIGHT = 330, 8
OWN, ALL, WARNED, UNRATED = "this project", "all", "warnings", "no pass rate"
BASELINES = "baselines"
MOST_NAMED = 8


def all_digests(store: RunStore, runs: tuple[Run, ...]) -> dict[str, RunDigest]:
    """Return run id -> digest; a first visit reads runs that were never read for a moment, newest first."""
    scores = tuple(store.options(run).folder for run in runs)
    digests = _stored(store, runs, scores)
    missing = [run for run in reversed(runs) if run.run_id not in digests]
    if not missing:
        return digests
    forget(_stored)  # the next visit finds what this one reads
    if _READ in st.session_state:  # they are being read beside the page
        return digests
    return {**digests, **read_digests(store, missing, AT_FIRST)}


def read_on(store: RunStore, runs: tuple[Run, ...], known: Collection[str]) -> None:
    """Read the runs that no visit has read yet, a few at a time beside the page, and draw the page anew."""
    missing = [run for run in reversed(runs) if run.run_id not in known]
    if missing and may_write():
        st.fragment(run_every=PAUSE)(_read_on)(store, missing)


def _read_on(store: RunStore, missing: Sequence[Run]) -> None:
    read: set[str] = st.session_state.setdefault(_READ, set())
    left = [run for run in missing if run.run_id not in read]
    st.caption(f"Reading runs: {count(len(left), 'run')} left. The numbers above follow.")
    read |= read_digests(store, left, AT_ONCE).keys()
    if len(read & {run.run_id for run in missing}) == len(missing):
        st.session_state.pop(_READ)
        st.rerun()


@kept
def _stored(store: RunStore, runs: tuple[Run, ...], scores: tuple[str, ...]) -> dict[str, RunDigest]:
    """Return the stored digests; `scores` tells the cache when a run was scored or judged anew."""
    del scores
    return stored_digests(store, runs)


def strip_chart(view: View, runs: Sequence[Run], digests: Mapping[str, RunDigest]) -> None:
    """Draw the pass rate of every run; a click chooses it."""
    n_projects = len({run.project for run in runs})
    figure = project_strips(runs, digests, view.store.names(), THEMES[current_theme()])
    height = strips_height(n_projects)
    shown = f"Pass rate of {count(len(runs), 'run')} in {count(n_projects, 'project')}, one row per project"
    with st.container(height=height, border=False):  # it moves nothing when it is drawn
        draw(
            figure,
            "run_strips",
            shown,
            theme=None,
            on_click=lambda point: _choose(next((run for run in runs if run.run_id == point[0]), None)),
            height=height,
            config=WITHOUT_BAR,
        )


def strip_legend(everywhere: bool) -> None:
    """Write how the dots of the chart are read."""
    facts(
        "one dot per run: ● 30 questions or more, ○ fewer, amber: has warnings",
        "projects ask different questions: do not rank them against each other" if everywhere else "",
    )


def _choose(run: Run | None) -> None:
    if run is not None:
        keep(project=run.project, run=run.run_id, baseline="", versions=(), case="", page=1)


def run_filters(
    view: View, runs: Sequence[Run], digests: Mapping[str, RunDigest], baselines: set[str]
) -> None:
    """Draw the search and the filters with their counts; the runs of the project are shown at first."""
    counts = {
        OWN: len(view.runs),
        ALL: len(runs),
        WARNED: sum(_is_warned(digests.get(run.run_id)) for run in runs),
        UNRATED: sum(_is_unrated(digests.get(run.run_id)) for run in runs),
        BASELINES: sum(run.run_id in baselines for run in runs),
    }
    st.text_input(
        "Find a run",
        type="search",
        key="runs_search",
        placeholder="Run, tag, model, file",
        label_visibility="collapsed",
        width=170,
    )
    st.segmented_control(
        "Show",
        list(counts),
        default=OWN,
        format_func=lambda name: f"{name.capitalize()} {counts[name]:,}",
        key="runs_shown",
        required=True,
        label_visibility="collapsed",
    )


def _is_warned(digest: RunDigest | None) -> bool:
    return digest is not None and bool(digest.errors or digest.warnings)


def _is_unrated(digest: RunDigest | None) -> bool:
    return digest is not None and digest.pass_rate is None


def matching_runs(
    view: View, runs: Sequence[Run], digests: Mapping[str, RunDigest], baselines: set[str]
) -> list[Run]:
    """Return the runs that the search and the filter leave: those of the project on display first."""
    shown = st.session_state.get("runs_shown", OWN)
    ids = {
        OWN: {run.run_id for run in view.runs},
        ALL: {run.run_id for run in runs},
        WARNED: {run.run_id for run in runs if _is_warned(digests.get(run.run_id))},
        UNRATED: {run.run_id for run in runs if _is_unrated(digests.get(run.run_id))},
        BASELINES: baselines,
    }[shown]
    wanted = str(st.session_state.get("runs_search") or "").casefold().strip()
    names, tags = view.store.names(), view.store.ledger.tags()
    problems = []
    for run in reversed(runs):
        settings = map(setting_text, flat_settings(run.config).values())
        file = str(run.origin.get("file", ""))
        texts = (run.project, names[run.run_id], run.dataset, file, *tags.get(run.run_id, ()), *settings)
        is_match = run.run_id.startswith(wanted) or any(wanted in text.casefold() for text in texts)
        if run.run_id in ids and is_match:
            problems.append(run)
    order = {run.run_id: bool((digest := digests.get(run.run_id)) and digest.errors) for run in problems}
    return sorted(problems, key=lambda run: (run.project != view.project, not order[run.run_id]))


def run_list(view: View, runs: Sequence[Run], digests: Mapping[str, RunDigest]) -> None:
    """List runs: a click on a cell opens the run, ticked rows can be changed together."""
    if not runs:
        st.caption("No run matches. Clear the search, or show all.")
        return
    listed = list(runs[:MOST_LISTED])
    labels, names = run_labels(view), view.store.names()
    theme = current_theme()
    frame = pd.DataFrame(
        [_row(run, digests.get(run.run_id), names, labels.get(run.run_id, []), theme) for run in listed]
    )
    one_project = len({run.project for run in listed}) == 1
    if one_project:
        del frame["Project"]
    chosen = [run.run_id == view.run.run_id for run in listed]
    tint = f"background-color: {THEMES[theme].flow}"
    styled = frame.style.apply(lambda row: [tint if chosen[row.name] else ""] * len(row), axis=1)
    key = _table_key(listed)
    st.dataframe(
        styled,
        key=key,
        hide_index=True,
        height="content" if len(listed) <= ROWS_IN_SIGHT else LIST_HEIGHT,
        on_select=lambda: _choose_cell(listed, key),
        selection_mode=["multi-row", "single-cell"],
        column_config={
            "Pass rate": st.column_config.ImageColumn(width=124),
            "Fix first": st.column_config.TextColumn(
                width=130,
                help="The failure stage with the most bad cases, at the usual thresholds; empty where no bad "
                "case points to a stage, or a check doubts what it rests on",
            ),
            "Measured": st.column_config.ImageColumn(
                width=116, help="Context, Faithfulness, Relevancy, Answer (correctness), People's labels"
            ),
            "Rate": st.column_config.TextColumn(
                width=90,
                help="Unchecked: nothing checked whether the answers are right. Retrieval: without answers, "
                "the share of questions with a good context.",
            ),
            "Run": st.column_config.TextColumn(width=196 if one_project else 150),
            "Cases": st.column_config.TextColumn(width=56),
        },
        alt="Runs with cases, pass rate, what is measured, findings and date",
    )
    if len(runs) > MOST_LISTED:
        st.caption(f"The first {MOST_LISTED:,} of {len(runs):,} runs; search to narrow the list.")
    _bulk_actions(view, listed, key)


def _table_key(listed: Sequence[Run]) -> str:
    """Return the key of the table: another one for other rows, so that no tick moves to another run."""
    ids = " ".join(run.run_id for run in listed)
    return f"runs_table_{hashlib.sha256(ids.encode()).hexdigest()[:12]}"


def _row(
    run: Run, digest: RunDigest | None, names: Mapping[str, str], labels: Sequence[str], theme: Any
) -> dict[str, Any]:
    rate, findings, fix_first = NOT_MEASURED, "", ""
    if digest is not None and digest.pass_rate is not None:
        of = "" if digest.answers_checked else " unchecked"
        rate = f"{number(digest.pass_rate)}{of if digest.has_answers else ' retrieval'}"
    if digest is not None:
        if digest.fix_first is not None:
            fix_first = STAGES[stage_code(digest.fix_first)].count(digest.stages[digest.fix_first])
        counts = {"error": len(digest.errors), "warning": len(digest.warnings), "note": digest.n_notes}
        findings = next((count(n, kind) for kind, n in counts.items() if n), "")
    return {
        "Project": run.project,
        "Run": f"{'★ ' if 'baseline' in labels else ''}{names[run.run_id]}",
        "Cases": f"{run.n:,}" if run.n else "summary",
        "Pass rate": pass_strip_image(digest, theme),
        "Rate": rate,
        "Measured": measured_image(() if digest is None else digest.measured, theme),
        "Findings": findings,
        "Fix first": fix_first,
        "Date": f"{run.created_at:%Y-%m-%d}",
        "Labels": ", ".join(label for label in labels if label != "baseline"),
    }


def _choose_cell(listed: Sequence[Run], key: str) -> None:
    cells = st.session_state[key]["selection"].get("cells") or []
    if cells:
        _choose(listed[cells[0][0]])


def _bulk_actions(view: View, listed: Sequence[Run], key: str) -> None:
    """Offer what can be done with the ticked runs."""
    state: Any = st.session_state.get(key)
    rows = [] if not state else [row for row in state["selection"].get("rows", []) if row < len(listed)]
    ticked = [listed[row] for row in rows]
    with st.container(horizontal=True, vertical_alignment="center", height=44, border=False):
        if not ticked:
            st.caption("Click a cell to open its run; tick rows to compare, tag or delete several.")
            return
        st.markdown(f"**{count(len(ticked), 'run')}**")
        one_project = len({run.project for run in ticked}) == 1 and not any(run.means for run in ticked)
        if st.button("Compare", key="compare_ticked", disabled=len(ticked) < 2 or not one_project):
            first, *others = ticked
            go_to_page(
                "compare",
                project=first.project,
                run=others[0].run_id,
                baseline=first.run_id,
                versions=tuple(run.run_id for run in others),
                case="",
            )
        if not may_write():
            return
        with st.popover("Tag"):
            tag = st.text_input("Tag", key="bulk_tag", placeholder="nightly")
            st.button("Add the tag", key="bulk_add_tag", on_click=_tag, args=(view, ticked, tag))
        with st.popover("Delete"):
            named = ", ".join(markdown_text(view.store.names()[run.run_id]) for run in ticked[:MOST_NAMED])
            named += f" and {len(ticked) - MOST_NAMED:,} more" if ticked[MOST_NAMED:] else ""
            st.write(f"Delete {count(len(ticked), 'run')} ({named})? Their labels stay in the ledger.")
            st.button("Delete these runs", key="bulk_delete", on_click=_delete, args=(view, ticked))


def _tag(view: View, runs: Sequence[Run], tag: str) -> None:
    def change() -> str:
        for run in runs:
            view.store.ledger.tag(run.run_id, tag, current_user())
        return f"{count(len(runs), 'run')} tagged."

    if tag.strip():
        attempt(change)


def _delete(view: View, runs: Sequence[Run]) -> None:
    def change() -> str:
        for run in runs:
            view.store.workspace.delete_run(run.run_id)
        keep(run="", baseline="", case="")
        return f"{count(len(runs), 'run')} deleted."

    attempt(change)
