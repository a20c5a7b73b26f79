"""The header of every page in one row: project, run and what it is compared with, findings, sharing."""

from dataclasses import dataclass

import streamlit as st

from ragtriage.dashboard.shell.components import finding_list
from ragtriage.dashboard.shell.kept_tests import live_test_link
from ragtriage.dashboard.shell.session import View, keep
from ragtriage.dashboard.shell.user import may_write
from ragtriage.dashboard.shell.widgets import choose, show_in
from ragtriage.dashboard.wording.baselines import baseline_text
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.dashboard.wording.formatting import finding_counts
from ragtriage.data.store.versions import releases_of
from ragtriage.data.store.workspace import Run

CLEAR_RUN = {
    "baseline": "",
    "since": "",
    "versions": (),
    "other": "",
    "slices": {},
    "cohort": "",
    "grid": "",
    "page": 1,
}
CONVENTIONS = {
    "default": "ragtriage (undefined stays undefined)",
    "ragchecker": "RAGChecker (empty lists give 0)",
    "refusals_0": "refusals count 0 (as in Ragas)",
    "alce": "citations as in ALCE",
}
WITHOUT_FINDINGS = ("runs", "present", "experiments")  # about many runs, which score none by themselves
WITHOUT_BASELINE = ("diagnosis", "experiments", "judge")  # pages that compare with no baseline
LIVE = ("", "triage", "compare")  # pages that say what users did with the version
PROJECT_WIDTHS = (124, 190)  # pixels, by the length of the name; the runs share the rest of the row


def draw_header(view: View, page: str) -> None:
    """Draw the pickers, the findings and the menu to share a view."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="header"):
        _pick_project(view)
        if page != "experiments":  # its arms are chosen on it
            _pick_run(view)
        if page not in WITHOUT_BASELINE:
            _pick_baseline(view, page)
        if page in LIVE:
            live_test_link(view)
        if not may_write():
            st.badge("Read only", icon=":material/lock:", color="gray", help="Nothing can be changed here.")
        if not view.run.means and page not in WITHOUT_FINDINGS:
            _findings(view)
        with st.popover(
            ":material/ios_share:", type="tertiary", key="share", on_change="rerun", help="Share this view"
        ) as box:
            if box.open:
                st.caption("The address of this page opens the same view, with every choice made on it.")
                st.page_link("present/present.py", label="Slides, report or PDF", icon=":material/slideshow:")


def _pick_project(view: View) -> None:
    choose(
        "Project",
        "project",
        view.store.projects(),
        str,
        {**CLEAR_RUN, "run": "", "case": ""},
        shown=view.project,
        label_visibility="collapsed",
        width=min(PROJECT_WIDTHS[1], max(PROJECT_WIDTHS[0], 52 + 8 * len(view.project))),
    )


def _pick_run(view: View) -> None:
    newest = [run.run_id for run in reversed(view.runs)]
    choose(
        "Run",
        "run",
        newest,
        view.labels,
        {"page": 1, "since": ""},
        shown=view.run.run_id,
        label_visibility="collapsed",
        width="stretch",
    )


def _pick_baseline(view: View, page: str) -> None:
    """Draw the choice of what the run is compared with; Compare shows what it compares with."""
    others = [run.run_id for run in reversed(view.sampled) if run.run_id != view.run.run_id]
    if not others:
        return
    st.text("against")
    base = compared_base(view) if page == "compare" else None
    if base is not None and base != view.run:
        show_in("pick_compared", base.run_id)
        st.selectbox(
            "Compared with",
            others,
            format_func=view.labels.__getitem__,
            key="pick_compared",
            on_change=_compare_with,
            args=(view,),
            label_visibility="collapsed",
            width="stretch",
        )
        return
    note = markdown_text(baseline_text(view.found, view.previous, view.labels))
    choose(
        f"Baseline: {note}",
        "baseline",
        ["", *others],
        {**view.labels, "": _usual_baseline(view)},
        {"since": ""},
        label_visibility="collapsed",
        width="stretch",
    )


def _compare_with(view: View) -> None:
    """Compare with the chosen run: by its word where it has one, so that the address pins no baseline."""
    chosen = st.session_state["pick_compared"]
    words = {base.run.run_id: word for word, base in offered_bases(view).items()}
    word = words.get(chosen, "")
    keep(since=word, baseline="" if word else chosen, versions=(), other="")


def _usual_baseline(view: View) -> str:
    """Return what the run is compared with where nothing is chosen; unlike the label of any run."""
    if view.found.run is not None and not view.selection.baseline:
        return f"{view.labels[view.found.run.run_id]} (baseline)"
    if view.previous is not None:
        return f"{view.labels[view.previous.run_id]} (run before)"
    named = view.selection.baseline and not view.found.itself
    return "the usual baseline" if named else "none: it is the baseline"


def _findings(view: View) -> None:
    findings = view.findings(view.run)
    serious = [finding for finding in findings if finding.severity != "note"]
    with st.popover(
        f"{len(serious)}",
        icon=":material/warning:" if serious else ":material/verified:",
        type="tertiary",
        help=f"Checks on the numbers: {finding_counts(each.severity for each in findings)}. "
        "How undefined values are treated.",
        key="findings",
        on_change="rerun",
    ) as box:
        if box.open:
            finding_list(findings)
            st.divider()
            choose("Undefined values", "convention", list(CONVENTIONS), CONVENTIONS)


@dataclass(frozen=True)
class ComparedBase:
    """A run that Compare offers to compare with."""

    run: Run
    title: str  # what it is to the run on display, as "previous version, release 1.2"


def offered_bases(view: View) -> dict[str, ComparedBase]:
    """Return word in the address -> base, the one that Compare opens with first; a run is offered once.

    The version before and the last release are offered where they are later than the baseline, and of the
    same dataset as the run.
    """
    usual = view.comparison_base
    if usual is None or view.found.itself:
        return {} if usual is None else {"baseline": ComparedBase(usual, "baseline")}
    since = view.found.run.created_at if view.found.run is not None else None
    releases = releases_of(view.store.ledger, view.project)
    earlier = [
        run
        for run in view.sampled
        if run.created_at < view.run.created_at
        and (since is None or run.created_at > since)
        and (run.dataset, run.dataset_version) == (view.run.dataset, view.run.dataset_version)
        and not run.config.get("generated_from")
    ]
    offered: dict[str, ComparedBase] = {}
    if earlier and view.found.run is not None:
        release = releases.get(earlier[-1].run_id)
        title = f"previous version, release {release.name}" if release else "previous version"
        offered["before"] = ComparedBase(earlier[-1], title)
    released = [run for run in earlier if run.run_id in releases]
    if released and (not offered or released[-1] != earlier[-1]):
        offered["release"] = ComparedBase(released[-1], f"release {releases[released[-1].run_id].name}")
    offered["baseline"] = ComparedBase(usual, "run before" if view.found.run is None else "baseline")
    return offered


def compared_base(view: View) -> Run | None:
    """Return what Compare compares with: what was chosen there, else a named baseline, else the usual."""
    offered, word = offered_bases(view), base_word(view)
    return offered[word].run if word in offered else view.comparison_base


def base_word(view: View) -> str:
    """Return the word for what Compare compares with; "" where that is a baseline that was named."""
    offered, chosen = offered_bases(view), view.selection.since
    if chosen in offered:
        return chosen
    named = view.selection.baseline
    # the address of other pages names the project's baseline too, which nobody has chosen for Compare
    if named and named != view.store.ledger.baselines().get(view.project):
        return ""
    return next(iter(offered), "")
