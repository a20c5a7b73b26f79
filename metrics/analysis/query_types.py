"""What kind of question a query type is, read from its name, and the metric that kind calls for."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["KINDS", "query_type_named"]

KINDS: Mapping[str, tuple[str, str]] = {
    "single fact": ("mrr", "one document answers it: how early does it stand"),
    "broad coverage": ("recall", "several documents are needed: how many of them are there"),
    "ranked quality": ("ndcg", "better documents must stand before good ones"),
    "multi-hop": ("all_hops_recall", "every step needs its document"),
}
_ONE_HOP = re.compile(r"(?<![a-z0-9])(?:single|one|1)[\W_]*hops?(?![a-z])")
_MANY_HOPS = re.compile(r"(?<![a-z])(?:(?:multi|two|three|four|five|many|n|\d+)[\W_]*)?hops?(?![a-z])")
_WORDS = {  # a word ending in * stands for every word that begins so
    "multi-hop": "multihop bridge compar* compos* inference intersect* multistep",
    "single fact": "fact* single lookup simple entity who when where date number numeric short definition*",
    "broad coverage": "broad summar* list set overview aggregat* explor* coverage open survey exhaustive",
    "ranked quality": "rank* ranked recommend* best top quality relevance graded",
}


def query_type_named(name: str) -> str | None:
    """Give the key of KINDS that the name of a query type speaks of; None where it says nothing.

    Whole words count, split at anything that is no letter or digit and where small letters meet capitals;
    the kinds are tried in the order multi-hop, single fact, broad coverage, ranked quality.
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    if _ONE_HOP.search(spaced):
        return "single fact"
    if _MANY_HOPS.search(spaced):
        return "multi-hop"
    said = re.findall(r"[^\W_]+", spaced)
    for kind, words in _WORDS.items():
        if any(_fits(one, word) for word in words.split() for one in said):
            return kind
    return None


def _fits(said: str, word: str) -> bool:
    return said.startswith(word[:-1]) if word.endswith("*") else said == word
