"""How the citations of a run are worded: on the page, in the terminal, in reports."""

from collections.abc import Mapping

from ragtriage.dashboard.wording.formatting import methods
from ragtriage.data.analysis.citations import RunCitations
from ragtriage.metrics.number_text import count

NOT_CITED = (
    "The answers of this run do not cite: fewer than one in ten has a mark such as [1], and no `citations` "
    "are recorded. Another form is declared as `citation_pattern`."
)
LEFT_OUT: Mapping[str, str] = {
    "supported": "{n:,} citations whose support is not known: a label of several together, or no claim",
    "recalled": "{n:,} sentences whose support is not known",
}
SUPPORT_NOTE: Mapping[str, str] = {
    "estimated": "support estimated from shared words: paraphrase is missed, and negation unseen",
    "computed": "support from labels of sentences or claims",
    "judged": "support from the judge's labels of claims",
}


def citations_sentence(citations: RunCitations) -> str:
    """Return what the citations of a run come to, in a sentence or two."""
    by_key = {share.key: share for share in citations.shares}
    parts = [f"{citations.citing:,} of {count(citations.answers, 'answer')} cite their context."]
    supported, cited = by_key.get("supported"), by_key.get("cited")
    if supported is not None:
        how = " by their words (an estimate)" if "estimated" in supported.sources else ""
        parts.append(f"{supported.part:,} of {supported.whole:,} citations support their sentence{how}.")
    if cited is not None and cited.part < cited.whole:
        parts.append(
            f"{cited.whole - cited.part:,} of {cited.whole:,} sentences that need a citation "
            f"{'has' if cited.whole - cited.part == 1 else 'have'} none."
        )
    return " ".join(parts)


def citation_facts(citations: RunCitations) -> list[str]:
    """Return the small print: sources, what is left out, how intervals are made."""
    left_out = [
        f"left out: {LEFT_OUT[share.key].format(n=share.left_out)}"
        for share in citations.shares
        if share.left_out
    ]
    sources = {name for share in citations.shares[:2] for name in share.sources}
    return [
        f"{count(citations.answers, 'answer')}, refusals left out",
        *(SUPPORT_NOTE[name] for name in SUPPORT_NOTE if name in sources),
        *left_out,
        methods([share.value for share in citations.shares]) + ", answers drawn as wholes",
    ]
