"""One run: its facts, the controls that change it, its configuration and findings."""

import json
from pathlib import Path

import numpy as np
import streamlit as st

from ragtriage.dashboard.shell.components import (
    config_section,
    facts,
    finding_list,
    run_facts,
    tool_downloads,
)
from ragtriage.dashboard.shell.session import View, go_to_page, keep
from ragtriage.dashboard.shell.user import attempt, current_user, may_write, name_box, only_reads
from ragtriage.dashboard.shell.widgets import draw_folded
from ragtriage.dashboard.wording.baselines import baseline_move_text
from ragtriage.dashboard.wording.diagnosis import rate_name
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.dashboard.wording.formatting import finding_counts
from ragtriage.data.cases.export import export_rows
from ragtriage.data.diagnosis.run_digest import RunDigest
from ragtriage.data.store.versions import (
    LONGEST_RELEASE,
    baseline_history,
    clear_baseline,
    mark_release,
    releases_of,
    unmark_release,
)
from ragtriage.data.store.workspace import Run, flat_settings, setting_text
from ragtriage.metrics.number_text import NOT_MEASURED, count, interval_text, number

MOST_WARNINGS = 4
HISTORY = 12  # changes of the baseline that are listed


def run_labels(view: View) -> dict[str, list[str]]:
    """Return the labels of each run by id: baseline, release, tags."""
    ledger = view.store.ledger
    labels: dict[str, list[str]] = {}
    baseline = ledger.baselines().get(view.project)
    if baseline:
        labels[baseline] = ["baseline"]
    for run_id, release in releases_of(ledger, view.project).items():
        labels.setdefault(run_id, []).append(f"release {release.name}")
    for run_id, tags in ledger.tags().items():
        labels.setdefault(run_id, []).extend(tags)
    return labels


def run_changes(view: View, run: Run) -> None:
    """Draw the controls that change a run, the exports, and the history of the baseline."""
    if may_write():
        _name_and_tags(view, run)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if may_write():
            _baseline_and_release(view, run)
        with st.popover("Export", on_change="rerun") as box:
            if box.open:
                _exports(view, run)
        if may_write():
            with st.popover("Delete"):
                st.write(f"Delete {markdown_text(view.labels[run.run_id])}? Its labels stay in the ledger.")
                st.button("Delete this run", key="delete", on_click=_delete, args=(view, run))
    if not may_write():
        only_reads("Changes")
    _history(view)


def _name_and_tags(view: View, run: Run) -> None:
    ledger = view.store.ledger
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input(
            "Display name", value=view.store.names()[run.run_id], key=f"name_{run.run_id}", width=220
        )
        st.button(
            "Rename",
            key="rename",
            on_click=lambda: ledger.rename(run.run_id, name, current_user()),
            disabled=not name.strip(),
        )
        tag = st.text_input("Tag", key=f"tag_{run.run_id}", placeholder="nightly", width=140)
        st.button(
            "Add tag",
            key="add_tag",
            on_click=lambda: ledger.tag(run.run_id, tag, current_user()),
            disabled=not tag.strip(),
        )
        tags = ledger.tags().get(run.run_id, [])
        if tags:
            removed = st.selectbox("Tags", tags, key=f"tags_{run.run_id}", width=140)
            st.button("Remove tag", key="remove_tag", on_click=lambda: ledger.untag(run.run_id, removed))


def _baseline_and_release(view: View, run: Run) -> None:
    """Draw the controls that make the run the baseline or a release."""
    ledger = view.store.ledger
    release = releases_of(ledger, run.project).get(run.run_id)
    name_box(160)
    release_name = st.text_input(
        "Release",
        value="" if release is None else release.name,
        key=f"release_{run.run_id}",
        placeholder="2.4.0",
        width=220,
        max_chars=LONGEST_RELEASE,
    )
    st.button(
        "Mark as release", key="mark_release", on_click=attempt, disabled=not release_name.strip(),
        args=(lambda: mark_release(ledger, run.project, run.run_id, release_name, current_user()),),
    )  # fmt: skip
    if release is not None:
        st.button("Remove release", key="unmark_release", on_click=_unmark, args=(view, run))
    if ledger.baselines().get(run.project) == run.run_id:
        st.button("Remove baseline", key="clear_baseline", on_click=_clear, args=(view, run))
    elif not run.means:
        st.button("Make it the baseline", key="set_baseline", on_click=_set_baseline, args=(view, run))


def _history(view: View) -> None:
    """Show which run is the baseline, who set it and when, and the baselines before it."""
    moves = baseline_history(view.store.ledger, view.project)
    if not moves:
        st.caption("No baseline is set: the run before this one is used.")
        return
    newest, *earlier = [markdown_text(baseline_move_text(move, view.labels)) for move in moves[:HISTORY]]
    facts(f"Baseline: {newest}", "" if earlier else "never changed")
    if earlier:
        more = len(moves) - HISTORY
        earlier += [f"and {more:,} earlier ones: `ragtriage baseline`"] if more > 0 else []
        lines = "  \n".join(earlier)
        draw_folded(f"Earlier baselines ({len(moves) - 1:,})", "baselines", lambda: st.caption(lines))


def _exports(view: View, run: Run) -> None:
    diagnosis = view.diagnosis(run)
    for form in ("jsonl", "csv", "parquet"):
        st.download_button(
            form.upper(),
            lambda form=form: export_rows(diagnosis, np.arange(run.n), form),  # type: ignore[misc] # binds the loop's value
            file_name=f"{run.run_id}.{form}",
            key=f"export_run_{form}",
        )
    tool_downloads(diagnosis, view.store.ledger, np.arange(run.n), "export_run")
    st.download_button(
        "Facts (JSON)", json.dumps(json.loads(run.to_json()), indent=1), file_name=f"{run.run_id}.json"
    )


def _set_baseline(view: View, run: Run) -> None:
    def change() -> str:
        view.store.ledger.set_baseline(run.project, run.run_id, current_user())
        keep(baseline="")
        return "This run is now the baseline of its project."

    attempt(change)


def _clear(view: View, run: Run) -> None:
    def change() -> str:
        clear_baseline(view.store.ledger, run.project, current_user())
        keep(baseline="")
        return "The project has no baseline now."

    attempt(change)


def _unmark(view: View, run: Run) -> None:
    def change() -> str:
        unmark_release(view.store.ledger, run.project, run.run_id, current_user())
        st.session_state[f"release_{run.run_id}"] = ""
        return "This run is no longer a release."

    attempt(change)


def _delete(view: View, run: Run) -> None:
    def change() -> str:
        view.store.workspace.delete_run(run.run_id)
        keep(run="", baseline="", case="")
        return "Deleted."

    attempt(change)


def run_detail(view: View) -> None:
    """Show the details of the run on display, its settings and its sanity checks."""
    run = view.run
    facts(
        f"id {run.run_id}",
        f"from {markdown_text(shorten(Path(run.origin['file']).name, 60))} ({run.origin['format']})",
        f"loaded {run.imported_at:%Y-%m-%d %H:%M} UTC",
        f"dataset {markdown_text(run.dataset) or 'not recorded'} {markdown_text(run.dataset_version)}",
    )
    if run.notes:
        st.caption("\n".join(f"- {markdown_text(note)}" for note in run.notes))
    run_changes(view, run)
    findings = view.findings(run)
    checks = f"Sanity checks: {finding_counts(each.severity for each in findings)}"
    settings = count(len(flat_settings(run.config)), "setting")
    fields = f"Fields recorded: {len(run.fields):,}"
    with st.container(gap="xsmall"):
        draw_folded(checks, "run_checks", lambda: finding_list(findings))
        draw_folded(f"Configuration: {settings}", "run_settings", lambda: config_section(view, [run]))
        draw_folded(fields, "run_fields", lambda: st.caption(", ".join(run.fields)))


def run_card(view: View, digest: RunDigest | None) -> None:
    """Show the chosen run in short: pass rate, what the checks warn of, what differs, where to go next."""
    run = view.run
    st.markdown(f"### {markdown_text(view.labels[run.run_id])}")
    st.caption(markdown_text(f"{run.project} · {' · '.join(run_facts(view))}"))
    if digest is not None and digest.pass_rate is not None:
        interval = interval_text(digest.low, digest.high)
        labels = f", {count(digest.set_by_people, 'case')} set by people" if digest.set_by_people else ""
        st.markdown(
            f"{rate_name(digest.answers_checked)} **{number(digest.pass_rate)}** {interval}, "
            f"n = {digest.n_scored:,}{labels}"
        )
    else:
        st.markdown("No pass rate: nothing in this run says whether an answer is good.")
    severities = [] if digest is None else ["error"] * len(digest.errors) + ["warning"] * len(digest.warnings)
    if digest is not None and severities:
        warned = (*digest.errors, *digest.warnings)[:MOST_WARNINGS]
        st.warning(
            "\n".join(f"- {markdown_text(title)}" for title in warned), title=finding_counts(severities)
        )
    if view.baseline is not None:
        differing = _differing_settings(view.baseline, run)
        if differing:
            st.markdown(f"**Differs from {markdown_text(view.labels[view.baseline.run_id])} in**")
            for name, (before, after) in list(differing.items())[:MOST_WARNINGS]:
                st.caption(markdown_text(f"{name}: {shorten(before, 40)} → {shorten(after, 40)}"))
    with st.container(horizontal=True):
        if st.button("Open triage", icon=":material/health_metrics:", key="card_triage"):
            go_to_page("triage")
        if view.baseline is not None and st.button(
            "Compare", icon=":material/compare_arrows:", key="card_compare"
        ):
            go_to_page("compare", since="baseline")


def _differing_settings(base: Run, run: Run) -> dict[str, tuple[str, str]]:
    """Return setting -> its texts in both runs, where they differ."""
    before, after = (
        {path: setting_text(value) for path, value in flat_settings(side.config).items()}
        for side in (base, run)
    )
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return {name: (before.get(name, NOT_MEASURED), after.get(name, NOT_MEASURED)) for name in names}
