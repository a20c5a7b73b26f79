"""A story as a report: its points with what a reader without the tool must know of where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from shlex import quote

from dashboard import __version__
from dashboard.stories.context import StoryView
from dashboard.stories.story import Audience, RenderedSection, Story
from dashboard.wording.formatting import count
from data.store.judge_replies import EVALUATION
from data.store.judge_results import judge_of

__all__ = [
    "OBTAINED",
    "REPRODUCE",
    "Report",
    "report_facts",
    "report_of",
]

REPRODUCE = "how to reproduce"  # the fact that holds command lines
HEADLINE = ("run", "baseline", "data set", "date", "written")  # facts that stand below the title
OBTAINED = "How these numbers were obtained"


@dataclass(frozen=True)
class Report:
    """What the exports write.

    Attributes:
        title: of the whole.
        subtitle: one line below it, "" for none.
        audience: whom it is for.
        sections: in order.
        facts: name -> text: run, baseline, data set and its version, judge, date, version of ragtriage, and
            under REPRODUCE the command lines.
        caveats: what a reader has to know before quoting a number.
    """

    title: str
    subtitle: str = ""
    audience: Audience = "stakeholder"
    sections: tuple[RenderedSection, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()

    @property
    def commands(self) -> tuple[str, ...]:
        """The command lines that give these numbers again."""
        return tuple(line.strip() for line in self.facts.get(REPRODUCE, "").splitlines() if line.strip())

    @property
    def headline(self) -> list[str]:
        """The facts that stand below the title."""
        return [f"{name}: {text}" for name, text in self.plain_facts.items() if name.lower() in HEADLINE]

    @property
    def plain_facts(self) -> dict[str, str]:
        """The facts without the command lines, those that are not known left out."""
        return {name: text for name, text in self.facts.items() if name != REPRODUCE and text.strip()}


FEW_QUESTIONS = 30


def report_facts(view: StoryView) -> dict[str, str]:
    """Say what the numbers rest on: run, baseline, data, judge, date, version, how to get them again."""
    run = view.run
    questions = count(run.n_questions, "question")
    facts = {
        "Run": f"{view.name} ({run.run_id}), made {run.created_at:%Y-%m-%d %H:%M} UTC",
        "Cases": f"{questions}, {count(run.n, 'case')}",
        "Baseline": "none",
        "Data set": " ".join(filter(None, [run.dataset, run.dataset_version])) or "not named",
        "Corpus": run.corpus_version or "no version named",
        "Judge": _judge(view) or "none",
        "Written": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC by ragtriage {__version__}",
        REPRODUCE: "\n".join(_commands(view)),
    }
    if view.baseline is not None:
        base = view.baseline
        facts["Baseline"] = (
            f"{view.names[base.run_id]} ({base.run_id}), made {base.created_at:%Y-%m-%d %H:%M} UTC"
        )
    return facts


def _judge(view: StoryView) -> str:
    path = view.scored.judge_result_path(EVALUATION)
    return judge_of(path) if path else str(view.run.config.get("judge", ""))


def _commands(view: StoryView) -> list[str]:
    run = quote(view.run.run_id)
    found = [f"ragtriage metrics {run}", f"ragtriage diagnose {run}"]
    if view.baseline is not None:
        found.append(f"ragtriage compare {quote(view.baseline.run_id)} {run} --family headline")
    return found


def caveats_of(view: StoryView) -> tuple[str, ...]:
    """Name what a reader must bear in mind: estimates, what failed, few questions, findings of the checks."""
    found = []
    if view.run.n_questions < FEW_QUESTIONS:
        found.append(
            f"Only {count(view.run.n_questions, 'question')}: most differences cannot be told from chance."
        )
    estimated = [name for name, one in view.summary.items() if set(one.sources) == {"estimated"}]
    if estimated:
        found.append(f"Estimated from words, without a judge: {', '.join(sorted(estimated)[:8])}.")
    failed = {name: one.n_failed for name, one in view.summary.items() if one.n_failed}
    if failed:
        most = max(failed.values())
        found.append(
            f"Up to {count(most, 'question')} could not be scored ({', '.join(sorted(failed)[:5])}); "
            f"they are left "
            "out of the means."
        )
    serious = [one.title for one in view.findings if one.severity in ("error", "warning")]
    found += [f"The checks on the numbers found: {title}." for title in serious[:5]]
    if view.comparison is not None:
        found += list(view.comparison.warnings)
    return tuple(found)


def report_of(view: StoryView, story: Story, made: Sequence[RenderedSection]) -> Report:
    """Make the report of a story."""
    told = f"for the {story.audience}" + (f", by {story.author}" if story.author else "")
    return Report(
        title=story.title,
        subtitle=f"{view.name}, {count(view.run.n_questions, 'question')}, {told}",
        audience=story.audience,
        sections=tuple(made),
        facts=report_facts(view),
        caveats=caveats_of(view),
    )
