"""A story as a report: its sections with what a reader needs to know about where the numbers come from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from shlex import quote

from ragtriage import __version__
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.story import Audience, RenderedSection, Story
from ragtriage.dashboard.wording.escaping import in_sentence
from ragtriage.data.demo import WHO
from ragtriage.data.store.judge_results import EVALUATION, judge_of
from ragtriage.data.text.shown_case import shown_cases
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count

REPRODUCE = "how to reproduce"  # the fact whose text is command lines
HEADLINE = ("run", "baseline", "dataset", "date", "written")  # facts shown below the title
OBTAINED = "How these numbers were obtained"


@dataclass(frozen=True)
class Report:
    """The content of an export."""

    title: str  # of the whole
    subtitle: str = ""  # one line below it, "" for none
    audience: Audience = "stakeholder"  # whom it is for
    sections: tuple[RenderedSection, ...] = ()  # in order
    # name -> text: run, baseline, data set and its version, judge, date, version of ragtriage, and under
    # REPRODUCE the command lines
    facts: Mapping[str, str] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()  # to read before quoting a number

    @property
    def commands(self) -> tuple[str, ...]:
        """The command lines that reproduce the numbers."""
        return tuple(line.strip() for line in self.facts.get(REPRODUCE, "").splitlines() if line.strip())

    @property
    def headline(self) -> list[str]:
        """The facts shown below the title."""
        return [f"{name}: {text}" for name, text in self.plain_facts.items() if name.lower() in HEADLINE]

    @property
    def plain_facts(self) -> dict[str, str]:
        """The facts without the command lines and without empty ones."""
        return {name: text for name, text in self.facts.items() if name != REPRODUCE and text.strip()}


FEW_QUESTIONS = 30
MOST_ESTIMATED = 8
MOST_FAILED = 5
MOST_FINDINGS = 5


def report_facts(view: StoryView, audience: Audience = "stakeholder") -> dict[str, str]:
    """Return where the numbers come from: run, baseline, data, judge, date, version, how to reproduce."""
    run, judge_path = view.run, view.scored.judge_result_path(EVALUATION)
    judge = judge_of(judge_path) if judge_path else str(run.config.get("judge", ""))
    if not judge and any({"judged", "imported"} & set(each.sources) for each in view.summary.values()):
        labels_by = run.config.get("labels_by", "")
        judge = f"scores from the file{f', by {labels_by}' if labels_by else ''}"
    questions = count(run.n_questions, "question")
    facts = {
        "Run": f"{view.name} ({run.run_id}), made {run.created_at:%Y-%m-%d %H:%M} UTC",
        "Cases": f"{questions}, {count(run.n, 'case')}",
        "Baseline": f"none: {view.baseline_facts.note}",
        "Dataset": " ".join(filter(None, [run.dataset, run.dataset_version])) or "not named",
        "Corpus": run.corpus_version or "version not named",
        "Judge": judge or "none",
        "Written": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC by ragtriage {__version__}",
        REPRODUCE: "\n".join(_commands(view, audience)),
    }
    if view.baseline is not None:
        base = view.baseline
        facts["Baseline"] = (
            f"{view.names[base.run_id]} ({base.run_id}), {view.baseline_facts.note}, "
            f"made {base.created_at:%Y-%m-%d %H:%M} UTC"
        )
    return facts


def _commands(view: StoryView, audience: Audience) -> list[str]:
    run = quote(view.run.run_id)
    commands = [f"ragtriage metrics {run}", f"ragtriage diagnose {run}"]
    if view.baseline is not None:
        commands.append(f"ragtriage compare {quote(view.baseline.run_id)} {run} --family headline")
    against = "" if view.baseline is None else f" --baseline {quote(view.baseline.run_id)}"
    return [
        *commands,
        f"ragtriage gate {run}{against}",
        f"ragtriage report {run}{against} --audience {audience} -o report.html",
    ]


def _named(metrics: Iterable[str], most: int) -> str:
    """Return the first metrics, each once whatever its k, and how many more there are."""
    names = sorted({in_sentence(title_of(metric)).partition("@")[0] for metric in metrics})
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def caveats_of(view: StoryView) -> tuple[str, ...]:
    """Return what limits the numbers: few questions, estimates, failures, findings of the sanity checks."""
    caveats = []
    if view.run.n_questions < FEW_QUESTIONS:
        questions = count(view.run.n_questions, "question")
        caveats.append(f"Only {questions}: too few to separate most differences from chance.")
    estimated = [name for name, summary in view.summary.items() if set(summary.sources) == {"estimated"}]
    if estimated:
        caveats.append(f"Estimated from words, without a judge: {_named(estimated, MOST_ESTIMATED)}.")
    failed = {name: summary.n_failed for name, summary in view.summary.items() if summary.n_failed}
    if failed:
        caveats.append(
            f"Up to {count(max(failed.values()), 'question')} could not be scored "
            f"({_named(failed, MOST_FAILED)}); they are left out of the means."
        )
    serious = [finding.title for finding in view.findings if finding.severity in ("error", "warning")]
    caveats += [f"Sanity checks: {title}." for title in serious[:MOST_FINDINGS]]
    if len(serious) > MOST_FINDINGS:
        caveats.append(f"Sanity checks: {len(serious) - MOST_FINDINGS:,} more findings.")
    if view.comparison is not None:
        caveats += list(view.comparison.warnings)
    return tuple(caveats)


def with_shown_cases(sections: Sequence[RenderedSection]) -> tuple[RenderedSection, ...]:
    """Return the sections of a report with the long texts of their cases cut, and told as cut."""
    shown = iter(shown_cases([case for section in sections for case in section.cases]))
    return tuple(
        replace(section, cases=list(islice(shown, len(section.cases)))) if section.cases else section
        for section in sections
    )


def report_of(view: StoryView, story: Story, sections: Sequence[RenderedSection]) -> Report:
    """Return the report of a story with its rendered sections."""
    author = f", by {story.author}" if story.author not in ("", WHO) else ""
    questions = count(view.run.n_questions, "question")
    return Report(
        title=story.title,
        subtitle=f"{'' if story.title == view.name else f'{view.name}, '}{questions}{author}",
        audience=story.audience,
        sections=with_shown_cases(sections),
        facts=report_facts(view, story.audience),
        caveats=caveats_of(view),
    )
