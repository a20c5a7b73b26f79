"""The conclusion of the Retrieval page: whether the top k hold the gold that the questions need."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragtriage.dashboard.headlines.headline import Headline, State
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.analysis.gold_reach import Need
from ragtriage.metrics.number_text import count, percent, rounded_up
from ragtriage.metrics.sanity.documents import read_first
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.statistics.intervals import Interval, questions_to_exclude

ENOUGH = 0.9  # share of questions that the top k should serve
LONGEST_NAME = 24
LEAST_DISTANCE = 0.005  # from there on a sample that settles it is not advice


@dataclass(frozen=True)
class TopGold:
    """How much gold the top k hold."""

    k: int  # the rank in use
    need: Need  # what a question needs
    hops: int  # most hops that a question needs; 1 without hops
    share: Interval  # of questions whose top k hold it
    longest: int  # length of the longest list
    in_list: int  # cases whose whole list holds it
    asked: int  # cases that need gold
    # hop -> cases that have it in the top k, and cases that need it
    hop_counts: tuple[tuple[str, int, int], ...] = ()
    has_candidates: bool = False  # whether the run records candidates beyond its lists
    reachable: int = 0  # cases whose list and candidates together hold it


def needed_text(need: Need, hops: int) -> str:
    """Return what the top k should hold: "both hops", "all hops", "the gold document", "gold"."""
    if need == "hops":
        return "both hops" if hops == 2 else "all hops"
    return "the gold document" if need == "gold" else "gold"


def no_gold_headline(name: str, findings: Sequence[Finding] = (), asks_gold: bool = False) -> Headline:
    """Return that retrieval cannot be scored, and what to record.

    Args:
        name: of the run.
        findings: of its sanity checks.
        asks_gold: whether the run names gold of which nothing could be matched.
    """
    name = shorten(name, LONGEST_NAME)
    unmatched = next((finding for finding in findings if finding.rule == "ids"), None)
    if unmatched is not None:
        return Headline(
            "doubted",
            f"{name}: no gold id occurs among the retrieved ids",
            unmatched.message,
            _doubt(findings),
        )
    if asks_gold:
        return nothing_retrieved(name, findings)
    return Headline(
        "not measured",
        f"{name} records no gold, so retrieval cannot be scored",
        "Record relevant documents (`relevant`) or text (`relevant_spans`), or import labels with --qrels",
        _doubt(findings),
    )


def nothing_retrieved(name: str, findings: Sequence[Finding] = ()) -> Headline:
    """Return that no question has both gold and retrieved documents."""
    return Headline(
        "empty",
        f"{shorten(name, LONGEST_NAME)}: nothing was retrieved for a question with gold",
        "Samples with a given context (oracle or closed_book) and questions without gold are left out",
        _doubt(findings),
    )


def retrieval_headline(name: str, top: TopGold, findings: Sequence[Finding] = ()) -> Headline:
    """Return whether the top k hold what the questions need, against 9 questions in 10.

    Args:
        name: of the run.
        top: what the top k hold.
        findings: of its sanity checks.
    """
    name, doubt = shorten(name, LONGEST_NAME), _doubt(findings)
    needed, share = needed_text(top.need, top.hops), top.share
    if top.need == "hops" and top.k < top.hops:
        statement = f"{name}: the top {top.k} cannot hold {needed}"
        return Headline(
            "cannot tell", statement, f"Up to {top.hops} hops are needed; choose k ≥ {top.hops}", doubt
        )
    top = replace(top, k=max(1, min(top.k, top.longest)))  # no list goes further
    questions = count(share.n_scored, "question")
    held = share.mean * share.n_scored
    amount = f"{held:,.0f}" if abs(held - round(held)) < 1e-6 else percent(share.mean)
    documents = f"the top {top.k} hold" if top.k > 1 else "the top document holds"
    state: State
    if share.low >= ENOUGH:
        state, statement = "good", f"{name}: {documents} {needed} for {amount} of {questions}"
    elif share.high < ENOUGH:
        state, statement = "bad", f"{name}: {documents} {needed} for {amount} of {questions}"
    else:
        state = "cannot tell"
        suffice = f"{top.k} documents are enough" if top.k > 1 else "one document is enough"
        statement = f"{name}: too few questions ({share.n_scored:,}) to say whether {suffice}"
    if read_first(findings):
        state = "doubted"
    return Headline(state, statement, _detail(top), doubt)


def _detail(top: TopGold) -> str:
    """Return the share with its interval, and where the rest is lost."""
    share = top.share
    method = f"{percent(share.mean)} [{span(share)}], n = {count(share.n_scored, 'question')}"
    parts = [f"{method}; target {percent(ENOUGH)}"]
    if share.low < ENOUGH <= share.high and (needed := _questions_needed(share)):
        parts[0] += f"; about {needed:,} questions would settle it"
    if top.hop_counts:
        parts.append(", ".join(f"hop {hop} is there for {n:,} of {of:,}" for hop, n, of in top.hop_counts))
    more = top.in_list - round(share.mean * top.asked)
    if top.longest > top.k and more > 0:
        parts.append(f"Reading all {top.longest} adds {count(more, 'case')}")
    if top.has_candidates and top.reachable > top.in_list:
        parts.append(f"the candidates hold it for {top.reachable - top.in_list:,} more")
    return ". ".join(part[:1].upper() + part[1:] for part in parts) + "."


def _questions_needed(share: Interval) -> int | None:
    """Return how many questions would settle the share; None where far too many, or no more than it has."""
    if abs(share.mean - ENOUGH) < LEAST_DISTANCE:
        return None
    needed = questions_to_exclude(share, ENOUGH)
    return rounded_up(needed) if needed is not None and needed > share.n_scored else None


def _doubt(findings: Sequence[Finding]) -> str:
    doubting = [*read_first(findings), *(finding for finding in findings if _touches_gold(finding))]
    return "; ".join(dict.fromkeys(finding.clause for finding in doubting))


def _touches_gold(finding: Finding) -> bool:
    """Return whether a finding doubts a metric that is computed from gold."""
    from_gold = ("recall@", "hit@", "all_hops_recall@", "span_recall@", "ndcg@", "mrr")
    return finding.severity in ("error", "warning") and any(
        name.startswith(from_gold) for name in finding.metrics
    )
