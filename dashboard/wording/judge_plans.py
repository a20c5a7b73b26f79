"""Words about the judge that the page and the command share."""

from ragtriage.data.judge.plan import OtherWay


def other_way_text(other: OtherWay) -> str:
    """Return what an evaluation would take with the reference answer shown the other way."""
    ways = {
        "apart": "with the reference in a request of its own, so that support and relevance are judged "
        "without it",
        "along": "with the reference in the same request",
    }
    cost = "" if other.cost_usd is None else f", about ${other.cost_usd:,.4f}"
    tokens = f"{other.input_tokens:,} tokens in, {other.output_tokens:,} out"
    return f"{ways[other.reference]}: {other.calls:,} calls, {tokens}{cost}"
