"""What the Compare page compares, and the picture that opens it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import streamlit as st

from ragtriage.dashboard.charts.comparison import QuestionCounts, forest, forest_height, question_bars
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.headlines.compare import (
    compare_headline,
    drawn_metrics,
    drawn_versions,
    leading_metric,
    metric_doubts_of,
    most_decisive,
)
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.present.page_html.blocks import bars_legend, forest_legend
from ragtriage.dashboard.shell.components import clicked, current_theme, draw, metric_title
from ragtriage.dashboard.shell.header import base_word, offered_bases
from ragtriage.dashboard.shell.session import View, current_selection, keep, open_cases
from ragtriage.dashboard.shell.widgets import choose, show_in
from ragtriage.dashboard.wording.comparisons import cost_text, for_whom_text
from ragtriage.dashboard.wording.escaping import capital, markdown_text
from ragtriage.data.cases.comparison_cohorts import changed_cohort_key
from ragtriage.data.comparison.compare import Comparison
from ragtriage.data.comparison.compared_metrics import (
    DEFAULT_FAMILY,
    FAMILIES,
    in_family,
    pair_metrics,
    shared_metrics,
)
from ragtriage.data.comparison.trend import versions_of
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import declared, ordered
from ragtriage.metrics.number_text import count

FIRST_VERSIONS, MOST_VERSIONS = 6, 20
WIDTHS = (57, 43)


@dataclass(frozen=True)
class Compared:
    """Versions with their comparisons with a baseline."""

    view: View
    base: Run
    versions: Mapping[str, Run]  # run id -> version, in the order of choice
    metrics: tuple[str, ...]  # the family of metrics that all of them have
    comparisons: Mapping[str, Comparison]  # run id -> comparison with the baseline
    names: Mapping[str, str]  # run id -> short name, of the baseline too

    @cached_property
    def subject(self) -> str:
        """Id of the version of the headline: the run on display, else the one that differs most."""
        shown = self.view.run.run_id
        return shown if shown in self.versions else most_decisive(self.comparisons)

    @cached_property
    def drawn(self) -> list[str]:
        """Ids of the versions in the forest plot."""
        return drawn_versions(self.comparisons, self.subject)

    @cached_property
    def drawn_metrics(self) -> list[str]:
        """The metrics in the forest plot: those of the headline's version, whatever else is selected."""
        return drawn_metrics(self.comparisons[self.subject])

    @property
    def other(self) -> str:
        """Id of the version in detail."""
        chosen = current_selection().other
        return chosen if chosen in self.versions else self.subject

    @property
    def base_name(self) -> str:
        """Short name of the baseline."""
        return self.names[self.base.run_id]

    @property
    def options(self) -> list[str]:
        """The metrics that questions can be shown by."""
        return list(dict.fromkeys([GOOD_SHARE, *self.metrics]))

    @property
    def metric(self) -> str:
        """The metric that questions are shown by: the chosen one, else the one that the headline names."""
        chosen = current_selection().metric
        if chosen in self.options:
            return chosen
        leading = leading_metric(self.comparisons[self.subject], self.drawn_metrics)
        return leading if leading in self.options else GOOD_SHARE


def compared_versions(view: View, base: Run) -> Compared:
    """Return the chosen versions with their comparisons; they follow from the selection alone."""
    versions = _chosen_versions(view, base)
    # each pair has its own family, which no other version changes
    families = {
        run.run_id: pair_metrics(view.scored(base), view.scored(run), _chosen_family()) for run in versions
    }
    metrics = ordered(tuple({name for names in families.values() for name in names}))
    comparisons = {run.run_id: view.comparison(base, run, families[run.run_id]) for run in versions}
    names = version_names(view, [base, *versions])
    by_id = {run.run_id: run for run in versions}
    return Compared(view, base, by_id, tuple(metrics), comparisons, names)


def draw_choices(compared: Compared) -> None:
    """Draw the choice of versions and metrics, and the warnings, in one row."""
    view, base = compared.view, compared.base
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        _base_switch(view)
        _versions_picker(view, base, list(compared.versions))
        shared = {
            name
            for run in compared.versions.values()
            for name in shared_metrics([view.scored(base), view.scored(run)])
        }
        offered = [key for key in FAMILIES if key == "all" or any(in_family(name, key) for name in shared)]
        choose(
            "Family of metrics",
            "family",
            offered,
            FAMILIES,
            {"metric": ""},
            shown=_chosen_family() if _chosen_family() in offered else "all",
            width=150,
            label_visibility="collapsed",
        )
        warnings = [
            (compared.names[run_id], warning)
            for run_id, comparison in compared.comparisons.items()
            for warning in comparison.warnings
        ]
        if warnings:
            with st.popover(count(len(warnings), "warning"), icon=":material/warning:", width=126):
                for name, warning in warnings:
                    st.warning(f"{markdown_text(name)}: {markdown_text(warning)}")


def _base_switch(view: View) -> None:
    """Draw the choice between previous version, release and baseline, where there is more than one."""
    offered = offered_bases(view)
    if len(offered) < 2:
        return
    show_in("pick_since", base_word(view) or None)
    st.segmented_control(
        "Compared with",
        list(offered),
        format_func=lambda word: markdown_text(capital(offered[word].title)),
        key="pick_since",
        required=bool(base_word(view)),
        on_change=lambda: keep(
            since=st.session_state["pick_since"] or "", baseline="", versions=(), other="", case=""
        ),
        label_visibility="collapsed",
    )


def draw_answers(compared: Compared) -> None:
    """Draw in a line each for whom the version of the headline changed, and its guardrails."""
    comparison, run = compared.comparisons[compared.subject], compared.versions[compared.subject]
    cost = cost_text(compared.view.guardrails(compared.base, run))
    lines = {
        "slices": ("For whom", markdown_text(for_whom_text(comparison.slices, comparison.matched.sampled))),
        "cost": ("Guardrails", cost),
    }
    for column, (word, (title, text)) in zip(st.columns(2, gap="medium"), lines.items(), strict=True):
        with column, st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
            st.button(
                f"**{title}**",
                icon=":material/arrow_downward:",
                key=f"answer_{word}",
                type="tertiary",
                on_click=keep,
                kwargs={"tab": word},
            )
            st.markdown(text, width="stretch")


def _chosen_family() -> str:
    chosen = current_selection().family
    return chosen if chosen in FAMILIES else DEFAULT_FAMILY


def version_names(view: View, runs: Sequence[Run]) -> dict[str, str]:
    """Return run id -> the name of the run alone; its full label where two of the runs are named alike."""
    names = [run.name for run in runs]
    return {run.run_id: run.name if names.count(run.name) == 1 else view.labels[run.run_id] for run in runs}


def direction(metric: str) -> bool | None:
    """Return whether higher values of a metric are better; None where neither is."""
    declaration = declared(metric)
    return True if metric == GOOD_SHARE else None if declaration is None else declaration.higher_is_better


def _chosen_versions(view: View, base: Run) -> list[Run]:
    """Return the versions to compare: by default the run on display and its batch, else those like it."""
    by_id = _others(view, base)
    chosen = [run_id for run_id in view.selection.versions if run_id in by_id]
    if not chosen:
        same_batch = [run.run_id for run in view.sampled if run.created_at == view.run.created_at]
        candidates = dict.fromkeys([view.run.run_id, *same_batch])
        chosen = [run_id for run_id in candidates if run_id in by_id][:FIRST_VERSIONS] or list(by_id)[:1]
        if len(chosen) == 1:
            chosen += _alike(view, base, by_id[chosen[0]], list(by_id.values()))
    return [by_id[run_id] for run_id in chosen]


def _others(view: View, base: Run) -> dict[str, Run]:
    """Return run id -> run of all that the base can be compared with, the newest first."""
    return {run.run_id: run for run in reversed(view.sampled) if run.run_id != base.run_id}


def _versions_picker(view: View, base: Run, chosen: Sequence[str]) -> None:
    others = _others(view, base)
    show_in("pick_versions", list(chosen))
    every = [run.run_id for run in versions_of(view.sampled, chosen).runs if run != base][-MOST_VERSIONS:]
    title = f"{len(chosen) + 1} of {count(len(every) + 1, 'version')}"
    with st.popover(
        title if len(chosen) == len(every) else f"Add versions: {title}",
        icon=":material/compare_arrows:",
        help="Choose the versions to compare; the one that they are compared with counts too",
        width=216,
    ):
        if len(chosen) < len(every):
            st.button(
                f"All {count(len(every) + 1, 'version')}",
                key="all_versions",
                on_click=keep,
                kwargs={"versions": tuple(reversed(every)), "case": "", "other": ""},
                help="Without trials of a grid search, which have no answers."
                if len(others) > len(every)
                else None,
            )
        st.multiselect(
            "Versions",
            list(others),
            format_func=lambda run_id: view.labels[run_id],
            key="pick_versions",
            on_change=lambda: keep(versions=tuple(st.session_state["pick_versions"]), case="", other=""),
            max_selections=MOST_VERSIONS,
            help="One to twenty versions, each compared with the baseline chosen above.",
            width=480,
        )


def _alike(view: View, base: Run, run: Run, others: Sequence[Run]) -> list[str]:
    """Return the newest other versions with the dataset, the questions and the headline metrics of a run."""
    wanted = set(shared_metrics([view.scored(base), view.scored(run)], family="headline"))
    alike = [
        other
        for other in others[:MOST_VERSIONS]
        if other != run
        and other.created_at >= base.created_at  # what came before it is no version to compare with it
        and (other.dataset, other.dataset_version) == (run.dataset, run.dataset_version)
        and other.n_questions == run.n_questions
        and not other.config.get("generated_from")
        and wanted <= set(view.scored(other).metrics)
    ]
    return [other.run_id for other in alike[: FIRST_VERSIONS - 1]] if wanted else []


def metric_switch(compared: Compared) -> str:
    """Draw the choice of the metric that questions are shown by; return it."""
    return choose(
        "Metric",
        "metric",
        compared.options,
        metric_title,
        {},
        shown=compared.metric,
        width=260,
        label_visibility="collapsed",
    )


def page_headline(compared: Compared) -> Headline:
    """Conclude what changed from the baseline to the version that the page is about."""
    view = compared.view
    sides = [
        (run.name, view.diagnosis(run), view.findings(run))
        for run in (compared.versions[compared.subject], compared.base)
    ]
    doubts = {metric: metric_doubts_of(sides, metric) for metric in compared.drawn_metrics}
    run, base, names, base_name = compared.versions[compared.subject], compared.base, compared.names, ""
    if run.name != base.name:  # the header above names both in full
        names, base_name = {**names, run.run_id: run.name}, base.name
    guarded = replace(
        compared.comparisons[compared.subject],
        guardrails=view.guardrails(base, compared.versions[compared.subject]),
    )
    return compare_headline(
        compared.subject,
        {**compared.comparisons, compared.subject: guarded},
        names,
        base_name or compared.base_name,
        compared.drawn_metrics,
        doubts,
        _without_answers(compared),
    )


def _without_answers(compared: Compared) -> set[str]:
    """Return the versions that record no answer, as trials of chunk sizes, where the baseline does."""
    if not compared.view.diagnosis(compared.base).answers.n:
        return set()
    versions = compared.versions.items()
    return {run_id for run_id, run in versions if not compared.view.diagnosis(run).answers.n}


def draw_hero(compared: Compared) -> None:
    """Draw the forest plot beside the bars of questions; nothing where no metric can be drawn."""
    if not compared.drawn_metrics:
        return
    height = max(
        forest_height(len(compared.drawn_metrics), len(compared.drawn)), 30 + 22 * len(compared.versions)
    )
    left, right = st.columns(WIDTHS, gap="medium")
    with left:
        _forest(compared)
    with right:
        _question_bars(compared, height)


def _forest(compared: Compared) -> None:
    tokens = THEMES[current_theme()]
    st.subheader(f"Difference to {markdown_text(compared.base_name)}, 95 % intervals", anchor=False)
    rows = [
        (
            run_id,
            compared.names[run_id],
            {row.metric: row for row in compared.comparisons[run_id].differences},
        )
        for run_id in compared.drawn
    ]
    draw(
        forest(rows, compared.drawn_metrics, tokens),
        "forest",
        f"Differences of each version to {compared.base_name}; the numbers are in the tab Numbers",
        theme=None,
        on_click=lambda point: keep(other=point[0], metric=point[1]),
        height=forest_height(len(compared.drawn_metrics), len(compared.drawn)),
    )
    metrics = len(compared.comparisons[compared.subject].differences)
    parts = []
    if len(compared.drawn) < len(compared.versions):
        parts.append(
            f"{len(compared.drawn)} of {count(len(compared.versions), 'version')}, all in Leaderboard"
        )
    if len(compared.drawn_metrics) < metrics:
        parts.append(
            f"{len(compared.drawn_metrics)} of {count(metrics, 'metric')}; all of them under Numbers"
        )
    st.html(forest_legend([compared.names[run_id] for run_id in compared.drawn], tokens, "; ".join(parts)))


def _question_bars(compared: Compared, height: int) -> None:
    metric, base = compared.metric, compared.base_name
    higher = direction(metric)
    title = f"{metric_title(metric)} per question against {base}"
    st.subheader(markdown_text(title), anchor=False)
    if all(comparison.matched.sampled for comparison in compared.comparisons.values()):
        st.info("Samples of calls share no questions: the means are compared, unpaired and weighted.")
        return
    counts = [_counts(compared, run_id, metric) for run_id in compared.versions]
    figure = question_bars(counts, THEMES[current_theme()], height, higher is not None)
    alt = f"{title}: " + "; ".join(f"{at.name} {at.worse} worse, {at.better} better" for at in counts)
    bar = clicked(figure, "question_bars", alt, theme=None, height=height)
    st.html(bars_legend(base, higher is not None))
    if bar is not None:
        run_id, outcome = bar
        sign = {"worse": -1, "same": 0, "better": 1}[outcome] * (-1 if higher is False else 1)
        open_cases(run=run_id, cohort=changed_cohort_key(sign, compared.base.run_id, metric))


def _counts(compared: Compared, run_id: str, metric: str) -> QuestionCounts:
    """Count the questions of a version by their change in a metric of the comparison."""
    rows = {row.metric: row.difference for row in compared.comparisons[run_id].differences}
    found = rows.get(metric)
    name = compared.names[run_id]
    if found is None:
        return QuestionCounts(run_id, name, 0, 0, 0)
    return QuestionCounts(run_id, name, found.worse, found.same, found.better)
