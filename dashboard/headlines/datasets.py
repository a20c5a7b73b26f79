"""What the Datasets page concludes: whether a test set can be trusted, how far its review is."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.datasets.resolution import Resolution
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.statistics.intervals import Interval

LONGEST_NAME = 24
TOLERATED_BARE = 0.1  # share of the text that may be on pages without a question
FEWEST_READ, TOLERATED = 10, 0.2  # decisions, and the share rejected, from which on items are regenerated
EMPTY = Headline(
    "empty",
    "Make a first test set",
    "`ragtriage dataset make CORPUS -n 100` writes questions from your documents with their answers; "
    "`ragtriage dataset from-questions FILE CORPUS` takes questions that you have.",
)


@dataclass(frozen=True)
class DatasetFacts:
    """What is known of a dataset, or of one of its versions."""

    name: str
    n: int  # questions that are offered to readers
    read: int  # of them, those that people decided on
    kept: int  # of them, those that they kept
    disputed: int  # of them, those on which readers differ
    used: int  # of them, those that are neither rejected nor disputed; all that follows is about them
    with_gold: int  # with gold, or unanswerable, which needs none
    spans: int  # of gold
    gone: int  # of them, those whose text does not stand in its page
    dev_in_runs: int  # dev questions in the numbers of the newest run
    pages: int  # of the corpus, with text
    covered: int  # of them, those with a question
    bare: float  # share of the text on pages without a question
    missing: tuple[str, ...]  # kinds that a usual set has and this one has not
    marked: int  # questions with a mark of the free checks
    resolution: Resolution  # what changes it can show


def datasets_headline(facts: DatasetFacts) -> Headline:
    """Return whether a dataset can be trusted, and what is missing first.

    Gone gold comes before dev questions in test numbers, then what nobody read or readers dispute, bare pages
    and the mix.
    """
    name, detail = shorten(facts.name, LONGEST_NAME), _dataset_detail(facts)
    of = count(facts.n, "question")
    if not facts.used:
        return Headline("bad", f"{name}: none of {of} kept", "Regenerate them, or settle the disputed ones.")
    if facts.gone:
        spans = count(facts.spans, "gold span")
        verb = "is" if facts.gone == 1 else "are"
        return Headline("bad", f"{name}: {facts.gone:,} of {spans} {verb} gone", detail)
    if facts.dev_in_runs:
        questions = count(facts.dev_in_runs, "dev question")
        return Headline("bad", f"{name}: {questions} in the test numbers", detail)
    if not facts.with_gold:
        return Headline("not measured", f"{name}: no gold, only questions", detail)
    if facts.read < facts.n:
        lacking = f", none {facts.missing[0]}" if facts.missing else ""
        return Headline("cannot tell", f"{name}: {facts.read:,} of {of} reviewed{lacking}", detail)
    if facts.disputed:
        return Headline("cannot tell", f"{name}: readers differ on {facts.disputed:,} of {of}", detail)
    if facts.bare >= TOLERATED_BARE:
        bare = facts.pages - facts.covered
        pages = f"{bare:,} of {count(facts.pages, 'page')} have no question"
        return Headline("cannot tell", f"{name}: {pages}", detail)
    if facts.missing:
        return Headline("cannot tell", f"{name}: no {' and no '.join(facts.missing[:2])} questions", detail)
    all_covered = facts.covered == facts.pages
    pages = (
        "all pages covered" if all_covered else f"{facts.covered:,} of {count(facts.pages, 'page')} covered"
    )
    kept = f"{of} reviewed" if facts.kept == facts.n else f"{facts.kept:,} of {of} kept"
    return Headline("good", f"{name}: {kept}, {pages}", detail)


def _dataset_detail(facts: DatasetFacts) -> str:
    parts = []
    if facts.spans and not facts.gone:
        parts.append(f"All {facts.spans:,} gold spans stand in their page")
    parts.append(f"{count(facts.marked, 'question')} {'carries' if facts.marked == 1 else 'carry'} a mark")
    return f"{'; '.join(parts)}. {resolution_text(facts.resolution)}"


def resolution_text(resolution: Resolution) -> str:
    """Return what change a number of questions can show, and how many would show a smaller one."""
    of = count(resolution.questions, "question")
    assumed = (
        f", if {percent(resolution.differing)} differ between two versions" if resolution.assumed else ""
    )
    needed = next((pair for pair in resolution.needed if pair[1] > resolution.questions), None)
    more = f", {needed[1]:,} would show {100 * needed[0]:.0f}" if needed else ""
    if resolution.smallest is None:
        return f"{of} can show no change{more}{assumed}."
    verb = "shows" if resolution.questions == 1 else "show"
    points = f"{100 * resolution.smallest:.0f} points"
    return f"{of} {verb} a change of {points}{more}{assumed}."


@dataclass(frozen=True)
class ReviewCounts:
    """How far a review is, over the items that are offered to one reader, or to all where none is named."""

    total: int  # items in the queue
    read: int  # of them, those with a decision
    kept: int  # read and kept, edited ones included
    rejected: int  # read and rejected
    listed: int  # items that the filter keeps
    rate: Interval | None = None  # share kept of those read
    disputed: int = 0  # read, and kept by one and rejected by another


def review_headline(counts: ReviewCounts) -> Headline:
    """Return how far the review of a dataset is, and whether its questions are worth reading on."""
    left = counts.total - counts.read
    progress = f"{counts.read:,} of {counts.total:,} read, {left:,} to go"
    if not counts.listed:
        return Headline("empty", "Nothing to read with this filter", progress)
    surely_bad = counts.rate is not None and 1 - counts.rate.high > TOLERATED
    if counts.read >= FEWEST_READ and surely_bad:
        return Headline("bad", f"{counts.rejected:,} of {counts.read:,} rejected: regenerate them", progress)
    if not left:
        out = [f"{counts.rejected:,} rejected"] if counts.rejected else []
        out += [f"{counts.disputed:,} disputed"] if counts.disputed else []
        if out:
            kept = f"{counts.kept:,} of {counts.total:,} kept"
            return Headline("good", ", ".join([kept, *out]), "All are read.")
        return Headline("good", f"All {counts.total:,} read, {counts.kept:,} kept")
    return Headline("cannot tell", progress, f"{count(left, 'question')} without a decision")


@dataclass(frozen=True)
class VersionFacts:
    """The draft of a dataset beside its newest version, and what became of its gold."""

    name: str
    newest: int  # number of the newest version; 0 for none
    n: int  # questions of that version
    n_read: int  # of them, those that people had read
    edited: int  # questions that differ in the draft
    rejected: int  # questions of the version that the draft rejects
    added: int  # questions that readers keep and the version has not
    waiting: int = 0  # questions that the version has not and nobody has read
    fates: Mapping[str, int] = field(default_factory=dict)  # same, moved, changed, gone -> spans
    to_read: int = 0  # questions whose gold changed or is gone
    questions: int = 0  # that were looked at


def versions_headline(facts: VersionFacts) -> Headline:
    """Return what a dataset's versions are worth: whether their gold still stands, and what changed since."""
    name, spans = shorten(facts.name, LONGEST_NAME), sum(facts.fates.values())
    if spans:
        fates = (
            f"{facts.fates['same']:,} of {count(spans, 'gold span')} unchanged, {facts.fates['moved']:,} "
            f"moved and found again, {facts.fates['changed']:,} changed, {facts.fates['gone']:,} gone."
        )
        if facts.to_read:
            need = f"{facts.to_read:,} of {count(facts.questions, 'question')} need another look"
            return Headline(
                "doubted", f"The corpus changed: {need}", f"{fates} Runs stay with the old corpus."
            )
        if facts.fates["moved"]:
            return Headline("good", "The corpus changed, and all gold stands in it", fates)
        return Headline("good", "All gold stands in this corpus where it was", fates)
    if not facts.newest:
        return Headline(
            "cannot tell", f"{name}: no version yet", "Runs are compared on a version, which never changes."
        )
    version, changes = f"{name} v{facts.newest}", difference_text(facts)
    if facts.edited or facts.rejected or facts.added:
        return Headline("cannot tell", f"The draft differs from v{facts.newest}", changes)
    unread = facts.n - facts.n_read
    if unread:
        statement = f"{version}: {unread:,} of {count(facts.n, 'question')} unread"
        return Headline("cannot tell", statement, _waiting(facts) or "The draft has the same questions.")
    same = _waiting(facts) or "The draft is the same."
    return Headline("good", f"{version}: {count(facts.n, 'question')}, all read", same)


def _waiting(facts: VersionFacts) -> str:
    return f"The draft has {count(facts.waiting, 'more question')} to review." if facts.waiting else ""


def difference_text(facts: VersionFacts) -> str:
    """Return what the draft changed since the newest version."""
    waiting = f"{facts.waiting:,} more to review. " if facts.waiting else ""
    return (
        f"{count(facts.edited, 'question')} edited, {facts.rejected:,} rejected, {facts.added:,} added. "
        f"{waiting}Freezing makes v{facts.newest + 1} and leaves v{facts.newest} as it is."
    )
