"""The kind of question a query type stands for, inferred from its name, and the metric that suits it."""

from __future__ import annotations

import re
from collections.abc import Mapping

KINDS: Mapping[str, tuple[str, str]] = {
    "single fact": ("mrr", "one document answers it: how early is it ranked"),
    "broad coverage": ("recall", "several documents are needed: how many were retrieved"),
    "ranked quality": ("ndcg", "the best documents must be ranked first"),
    "multi-hop": ("all_hops_recall", "every step needs its document"),
}
_ONE_HOP = re.compile(r"(?<![a-z0-9])(?:single|one|1)[\W_]*hops?(?![a-z])")
_MANY_HOPS = re.compile(r"(?<![a-z])(?:(?:multi|two|three|four|five|many|n|\d+)[\W_]*)?hops?(?![a-z])")
_WORDS = {  # a trailing * matches any ending
    "multi-hop": "multihop bridge compar* compos* inference intersect* multistep",
    "single fact": "fact* single lookup simple entity who when where date number numeric short definition*",
    "broad coverage": "broad summar* list set overview aggregat* explor* coverage open survey exhaustive",
    "ranked quality": "rank* ranked recommend* best top quality relevance graded",
}


def query_type_named(name: str) -> str | None:
    """Return the key of KINDS that the name of a query type suggests; None where it suggests none.

    Whole words are matched, split at non-alphanumeric characters and between lower and upper case;
    the kinds are tried in the order multi-hop, single fact, broad coverage, ranked quality.
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    if _ONE_HOP.search(spaced):
        return "single fact"
    if _MANY_HOPS.search(spaced):
        return "multi-hop"
    words_in_name = re.findall(r"[^\W_]+", spaced)
    for kind, patterns in _WORDS.items():
        if any(_matches(word, pattern) for pattern in patterns.split() for word in words_in_name):
            return kind
    return None


def _matches(word: str, pattern: str) -> bool:
    return word.startswith(pattern[:-1]) if pattern.endswith("*") else word == pattern
