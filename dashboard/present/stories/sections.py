"""The kinds of sections: each returns heading, sentence, chart, table, cases and facts from the runs."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragtriage.dashboard.charts.version_lines import Point, trend
from ragtriage.dashboard.present.stories.causes_slides import next_section, why_section
from ragtriage.dashboard.present.stories.comparison_slides import change_section, example_section
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.diagnostic_sections import (
    alignment_section,
    citations_section,
    experiment_section,
    f1_section,
    grid_section,
    oracle_gap_section,
    retrieval_section,
    suite_section,
)
from ragtriage.dashboard.present.stories.story import (
    AUDIENCES,
    RENAMED,
    Audience,
    RenderedSection,
    Story,
    StorySection,
    unmeasured,
)
from ragtriage.dashboard.present.stories.users_slide import users_section
from ragtriage.dashboard.present.stories.verdict_slide import HEADLINE, foot_of, verdict_section
from ragtriage.dashboard.tables.gates import gate_table
from ragtriage.dashboard.tables.run import finding_table, metric_table, pattern_table, worst_slice_table
from ragtriage.dashboard.wording.diagnosis import context_metric_text, doubted_by, rate_labels, rate_title
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.dashboard.wording.formatting import finding_counts
from ragtriage.dashboard.wording.gates import rule_texts, state_text, verdict_text
from ragtriage.data.cases.cases import read_judged_cases
from ragtriage.data.cases.export import native_record
from ragtriage.data.comparison.published_results import band_scale, interpretations
from ragtriage.data.comparison.trend import versions_of
from ragtriage.data.demo import WHO, SampleStory, sample_stories
from ragtriage.data.diagnosis.diagnosis import row_of
from ragtriage.data.diagnosis.doubts import metric_doubts, pass_rate_doubts
from ragtriage.data.errors import DataError
from ragtriage.data.experiments.run_experiment import EXPERIMENT
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.stories import add_stories_once
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.diagnosis.stages import STAGES
from ragtriage.metrics.gates.gates import ORDER
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.result_table import Number, ResultTable, ends_of
from ragtriage.metrics.sanity.documents import read_first
from ragtriage.metrics.schema.metric import whole_number

MOST_CASES, USUAL_CASES, MOST_SLICES = 50, 3, 8


def chosen_cases(view: StoryView, chosen: Mapping[str, str]) -> RenderedSection:
    """Return cases in full.

    `chosen` has `cases`, names as in the address ("question_id~repeat") on lines; else `stage`, a failure
    stage or "" for the one with the most bad cases, and `n`, how many.
    """
    names = [name.strip() for name in chosen.get("cases", "").splitlines() if name.strip()][:MOST_CASES]
    rows = _named_rows(view, names) if chosen.get("cases") else _rows_of_stage(view, chosen)
    missing = len(names) - len(rows) if chosen.get("cases") else 0
    heading = ""
    if rows and not chosen.get("cases"):
        code = int(view.diagnosis.stages.stage[rows[0]])
        heading = f"Examples: {STAGES[code].title if code >= 0 else 'not bad'}"
    samples = read_judged_cases(view.scored, rows)
    return RenderedSection(
        heading=heading,
        sentence="" if rows else "This run has no such case.",
        measured=bool(rows),
        cases=[
            native_record({key: value for key, value in sample.items() if key != "judged"})
            for sample in samples
        ],
        facts=[
            count(len(rows), "case") + " in full",
            f"{count(missing, 'case')} chosen before are not in this run" if missing else "",
        ],
    )


def _named_rows(view: StoryView, names: Sequence[str]) -> list[int]:
    rows = []
    for name in names:
        question, _, repeat = name.rpartition("~")
        number = whole_number(repeat)
        row = row_of(view.scored, question, number) if question and number is not None else None
        rows += [] if row is None else [row]
    return rows


def _rows_of_stage(view: StoryView, chosen: Mapping[str, str]) -> list[int]:
    entries = view.diagnosis.fix_first
    key = chosen.get("stage") or (entries[0].key if entries else "")
    codes = [code for code, stage in enumerate(STAGES) if stage.key == key]
    if not codes:
        return []
    wanted = whole_number(chosen.get("n", ""))
    n = USUAL_CASES if wanted is None else min(wanted, MOST_CASES)
    return [int(row) for row in np.flatnonzero(view.diagnosis.stages.stage == codes[0])[:n]]


def trend_section(view: StoryView, chosen: Mapping[str, str]) -> RenderedSection:
    """Return a metric over versions; `chosen` may name it, else it is the first headline metric."""
    metric = chosen.get("metric") or next((name for name in HEADLINE if name in view.summary), "")
    versions = versions_of(view.runs, [run.run_id for run in (view.run, view.baseline) if run is not None])
    points = [_trend_point(view, run, metric) for run in versions.runs]
    measured = [point for point in points if point.mean is not None]
    title = capital(title_of(metric)) if metric else "Metric"
    heading = f"{title} over versions"
    if not measured:
        return unmeasured("No version has this metric.", heading)
    baseline = _trend_point(view, view.baseline, metric).mean if view.baseline else None
    return RenderedSection(
        heading=heading,
        chart=trend(points, title, baseline),
        table=ResultTable(
            heading,
            tuple(
                {
                    "Version": point.label,
                    "Made": point.when,
                    "Mean": Number(point.mean, 2),
                    "95 % interval": ends_of(point, 2),
                    "n": point.n,
                }
                for point in measured
            ),
        ),
        facts=[count(len(measured), "version"), "95 % intervals over questions", "dashed: the baseline"],
        alt=f"{title} of each version with 95 % intervals",
    )


def _trend_point(view: StoryView, run: Run, metric: str) -> Point:
    summary = view.store.summary(run).get(metric)
    when, current = f"{run.created_at:%Y-%m-%d %H:%M}", run.run_id == view.run.run_id
    if summary is None:
        return Point(view.names[run.run_id], when, None, None, None, 0, current)
    name = view.names[run.run_id]
    return Point(name, when, summary.mean, summary.low, summary.high, summary.n_scored, current)


MOST_QUOTED = 3  # gates in the sentence
GATE_COLUMNS = ("Verdict", "Gate", "Measured", "95 % interval", "Distance", "n", "If it fails")


def gate_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return a row for each gate, those that decide first."""
    report = view.gates
    blocking = [result for result in report.results if result.gate.severity == "block" and not result.excused]
    failing = [result for result in blocking if result.verdict == "FAIL"]
    open_gates = [result for result in blocking if result.verdict in ("INCONCLUSIVE", "UNMEASURED")]
    quoted = failing or open_gates
    more = f" And {len(quoted) - MOST_QUOTED} more below." if len(quoted) > MOST_QUOTED else ""
    sentence = " ".join(result.sentence for result in quoted[:MOST_QUOTED]) + more
    newly_failing = count(len(report.newly_failing), "question")
    ranked = sorted(report.results, key=lambda result: (not result.blocks, ORDER.index(result.verdict)))
    return RenderedSection(
        heading=f"Gates: {state_text(report)}",
        sentence=sentence or f"{capital(verdict_text(report))}.",
        table=gate_table(ranked).only(*GATE_COLUMNS),
        facts=[
            f"baseline: {report.baseline_name or 'none'} ({report.baseline.note})",
            f"{newly_failing} newly failing of {report.n_compared:,} compared" if report.n_compared else "",
            *(rule.replace("*", "") for rule in rule_texts(report)),
            *report.warnings,
        ],
    )


@dataclass(frozen=True)
class SectionKind:
    """A kind of section."""

    title: str  # in the list to choose from
    # returns the section from the runs and the author's choices
    render: Callable[[StoryView, Mapping[str, str]], RenderedSection]
    heading: str = ""  # of a section that has none of its own
    audiences: tuple[Audience, ...] = ("engineer",)  # those whose new stories begin with it


def _headline(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    metrics = [name for name in HEADLINE if name in view.summary and view.summary[name].n_scored]
    if not metrics:
        return unmeasured("This run has no headline metric.")
    interpreted = interpretations(
        view.scored, {name: view.summary[name] for name in metrics}, band_scale(view.store.workspace)
    )
    rate = view.diagnosis.pass_rate
    sentence = "Pass rate not measured: no metric separates good cases from bad ones."
    if rate.n_scored:
        labels = rate_labels(view.diagnosis)
        sentence = (
            f"{rate_title(view.diagnosis)}: {percent(rate.mean)} of cases "
            f"(95 % interval {percent(rate.low)} to {percent(rate.high)}, "
            f"{count(rate.n_scored, 'question')}{f'; {labels}' if labels else ''})."
        )
        doubts = doubted_by(pass_rate_doubts(view.diagnosis, view.findings))
        sentence = f"{sentence[:-1]}, {doubts}." if doubts else sentence
    if len(metrics) == 1:
        sentence += f" {interpreted[metrics[0]].sentence}"
    return RenderedSection(
        sentence=sentence,
        table=metric_table(
            {name: view.summary[name] for name in metrics},
            interpreted,
            {name: doubted_by(metric_doubts(view.scored, view.findings, name)) for name in metrics},
        ),
        facts=["means over questions; repeats are averaged first", "95 % intervals"],
    )


def _patterns(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    diagnosis, metric = view.diagnosis, context_metric_text(view.diagnosis)
    return RenderedSection(
        table=pattern_table(diagnosis),
        facts=[f"context metric: {metric}", count(diagnosis.scored.n, "case")],
    )


def _slices(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    slices = view.diagnosis.worst_slices
    if not slices:
        return unmeasured("No slice with enough questions does worse than the rest.")
    n_worse = sum(piece.adjusted_p < 0.05 for piece in slices)
    return RenderedSection(
        sentence=f"{n_worse} of {slices[0].n_looked_at} slices do significantly worse than the rest.",
        table=worst_slice_table(slices[:MOST_SLICES]),
        facts=[f"{slices[0].n_looked_at} slices tested by one-sided exact tests, corrected by Holm"],
    )


def _sanity_checks(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    if not view.findings:
        return RenderedSection(sentence="No sanity check found a contradiction in the numbers.")
    counts = finding_counts(each.severity for each in view.findings)
    return RenderedSection(sentence=f"The sanity checks have {counts}.", table=finding_table(view.findings))


TECHNICAL: tuple[Audience, ...] = ("engineer", "lead")
SECTION_KINDS: Mapping[str, SectionKind] = {
    "verdict": SectionKind("Verdict", verdict_section, "", AUDIENCES),
    "why": SectionKind("Why: losses by step", why_section, "", AUDIENCES),
    "users": SectionKind("What people who ask get", users_section, "What people who ask get", AUDIENCES),
    "change": SectionKind("What changed since the baseline", change_section, "What changed", TECHNICAL),
    "experiment": SectionKind(
        "Experiment of the run", experiment_section, "What did the experiment show?", ()
    ),
    "suites": SectionKind("Check suites", suite_section, "Which checks fail?", TECHNICAL),
    "example": SectionKind("One example", example_section, "One example", AUDIENCES),
    "next": SectionKind("What comes next", next_section, "", AUDIENCES),
    "gates": SectionKind("All gates", gate_section, "", TECHNICAL),
    "headline": SectionKind("Headline metrics", _headline, "How good is it?"),
    "patterns": SectionKind("Metric patterns", _patterns, "Retrieval or generation?"),
    "f1": SectionKind("Why F1 is low", f1_section, "Why is F1 low, and what could it become?", TECHNICAL),
    "slices": SectionKind("Worst slices", _slices, "Where does it do worst?", TECHNICAL),
    "cases": SectionKind("Cases in full", chosen_cases, "Cases", TECHNICAL),
    "trend": SectionKind("A metric over versions", trend_section, "", TECHNICAL),
    "retrieval": SectionKind("Retrieval over k", retrieval_section, "How good is retrieval?"),
    "alignment": SectionKind(
        "Use of documents by rank", alignment_section, "Do answers use what ranks first?"
    ),
    "citations": SectionKind("Citations", citations_section, "Do the citations support their sentences?"),
    "losses": SectionKind(
        "Retrieval errors and generation errors", oracle_gap_section, "Retrieval errors or generation errors?"
    ),
    "chunking": SectionKind("Chunking grid", grid_section, "Which chunking is best?"),
    "checks": SectionKind("Sanity checks", _sanity_checks, "Can the numbers be trusted?"),
    "text": SectionKind("Text", lambda _view, _chosen: RenderedSection(), audiences=()),
}  # the keys are stored in stories


RESTS_ON_RETRIEVAL = (
    *("verdict", "why", "users", "change", "gates", "headline", "patterns", "slices"),
    *("retrieval", "alignment", "losses"),
)


def default_sections(audience: Audience, run: Run | None = None) -> tuple[StorySection, ...]:
    """Return the sections that a new story for an audience begins with.

    An arm of an experiment brings what the experiment showed.
    """
    of_experiment = run is not None and bool(run.config.get(EXPERIMENT))
    return tuple(
        StorySection(key)
        for key, kind in SECTION_KINDS.items()
        if audience in kind.audiences or (key == "experiment" and of_experiment)
    )


def render_section(view: StoryView, section: StorySection) -> RenderedSection:
    """Return a section as it is shown; for an unknown or failing kind, one that says so."""
    key = RENAMED.get(section.kind, section.kind)
    kind = SECTION_KINDS.get(key)
    if kind is None:
        sentence = f"No section kind {section.kind[:40]!r}; known: {', '.join(SECTION_KINDS)}"
        return RenderedSection(section.kind, section.heading or "Unknown section", sentence)
    try:
        with view.names_of_metrics():
            rendered = kind.render(view, section.chosen)
    except DataError as error:
        rendered = RenderedSection(heading=kind.title, sentence=f"This section cannot be shown: {error}")
    if slide := rendered.slide:
        state = None if slide.layout == "next" else view.headline.state
        rendered = replace(rendered, slide=replace(slide, state=state, foot=foot_of(view)))
    if section.kind in RESTS_ON_RETRIEVAL:
        first = " ".join(f"{finding.title}." for finding in read_first(view.findings))
        rendered = replace(rendered, sentence=f"{first} {rendered.sentence}".strip())
    return replace(
        rendered,
        kind=key,
        heading=section.heading or rendered.heading or kind.heading,
        note=section.note,
        facts=[fact for fact in rendered.facts if fact],
    )


def add_sample_stories(store: RunStore) -> None:
    """Store the stories of the bundled samples, once for each project."""
    by_project = defaultdict[str, dict[str, str]](dict)
    for sample in sample_stories(store):
        by_project[sample.run.project][sample.title] = _story(sample).to_json()
    for project, bodies in by_project.items():
        add_stories_once(store.ledger, project, bodies, WHO)


def _story(sample: SampleStory) -> Story:
    audience = next(name for name in AUDIENCES if name == sample.audience)
    first, *others = default_sections(audience)
    return Story(
        title=sample.title,
        run=sample.run.run_id,
        baseline=sample.baseline.run_id,
        audience=audience,
        sections=(replace(first, note=sample.note), *others),
        author=WHO,
    )
