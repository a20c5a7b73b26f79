"""The conclusion of the Alignment page: whether the answers use the document that ranks first."""

from collections.abc import Sequence

from ragtriage.dashboard.headlines.headline import Headline, State
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.analysis.alignment import ALERT, Group, Rate
from ragtriage.data.scoring.context_use import ORIGINS
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.sanity.documents import read_first
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.statistics.intervals import METHODS

LONGEST_NAME = 24
FEWEST = 5  # answers of which a share can be said at all


def no_use_headline(name: str, has_answers: bool, findings: Sequence[Finding] = ()) -> Headline:
    """Return that it is not known which documents the answers use.

    Args:
        name: of the run.
        has_answers: whether the run has any answer that is not a refusal.
        findings: of its sanity checks.
    """
    name, doubt = shorten(name, LONGEST_NAME), _doubt("", findings)
    if not has_answers:
        detail = "Only answers that are not refusals can use a document"
        return Headline("empty", f"{name} has no answers with context", detail, doubt)
    detail = "Record retrieved texts (use is then estimated from words), `used` ranks or `citations`"
    return Headline("not measured", f"{name}: used documents are not recorded", detail, doubt)


def alignment_headline(
    name: str, rate: Rate, by_relevance: Sequence[Group], findings: Sequence[Finding] = ()
) -> Headline:
    """Return how many answers use the top-ranked document, and whether it depends on its being gold.

    Args:
        name: of the run.
        rate: of the answers that ignore it, by one source of use.
        by_relevance: the same rate where that document is relevant and where it is not; may be empty.
        findings: of the sanity checks of the run.
    """
    name, value = shorten(name, LONGEST_NAME), rate.value
    doubt, questions = _doubt(rate.source, findings), count(value.n_scored, "question")
    gold = next((group.value for group in by_relevance if group.key == "relevant"), None)
    other = next((group.value for group in by_relevance if group.key == "not relevant"), None)
    apart = gold is not None and other is not None and other.low > gold.high
    state: State = "good" if value.high <= ALERT else "bad" if value.low > ALERT else "cannot tell"
    if value.n_scored < FEWEST:
        verb = "is" if value.n_scored == 1 else "are"
        statement = f"{name}: {questions} {verb} too few to tell what answers use"
        return Headline("cannot tell", statement, _detail(rate, by_relevance), doubt)
    if state == "good":
        statement = f"{name} uses the top document for {_amount(1 - value.mean, value.n_scored)}"
    elif apart and gold is not None:
        degree = "only" if gold.mean == 0 else "mainly"
        statement = f"{name} ignores the top document {degree} where it is not gold"
    elif state == "bad" and gold is not None and gold.low > ALERT:
        statement = f"{name} ignores the top document even where it is gold"
    elif state == "bad":
        statement = f"{name} ignores the top document for {_amount(value.mean, value.n_scored)}"
    else:
        statement = f"{name}: {questions} cannot tell if {percent(1 - ALERT)} use the top document"
    if read_first(findings) or (rate.source == "lexical" and state != "cannot tell"):
        state = "doubted"
    return Headline(state, statement, _detail(rate, by_relevance), doubt)


def _amount(share: float, n: int) -> str:
    held = share * n
    whole = abs(held - round(held)) < 1e-6
    return f"{held:,.0f} of {n:,} questions" if whole else f"{percent(share)} of questions"


def _detail(rate: Rate, by_relevance: Sequence[Group]) -> str:
    """Return the rate with its interval and source, and the rates by relevance of the top document."""
    value = rate.value
    few = "; few questions: only a hint" if value.too_few else ""
    parts = [
        f"{percent(value.mean)} of the answers ignore the top-ranked document ({span(value)}, "
        f"n = {count(value.n_scored, 'question')}, {ORIGINS[rate.source]}, {METHODS[value.method]}{few}); "
        f"target: at most {percent(ALERT)}"
    ]
    groups = {group.key: group.value for group in by_relevance}
    if len(groups) == 2:
        gold, other = groups["relevant"], groups["not relevant"]
        parts.append(
            f"Where it is gold, {percent(gold.mean)} ignore it (n = {gold.n_scored:,}), "
            f"elsewhere {percent(other.mean)} (n = {other.n_scored:,})"
        )
    return ". ".join(parts) + "."


def _doubt(source: str, findings: Sequence[Finding]) -> str:
    estimated = ["use is estimated from shared words"] if source == "lexical" else []
    touching = [
        finding
        for finding in findings
        if finding.severity in ("error", "warning") and "ignored_top_ranked" in finding.metrics
    ]
    clauses = (finding.clause for finding in [*read_first(findings), *touching])
    return "; ".join(dict.fromkeys([*estimated, *clauses]))
