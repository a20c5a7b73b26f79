"""The types of attacks, and which of them a name stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

OTHER_ATTACK = "other"
ATTACK_TYPES: Mapping[str, str] = {
    "direct injection": "Direct injection",
    "indirect injection": "Indirect injection",
    "prompt leak": "Leak of the system prompt",
    "personal data": "Personal data",
    "unsafe advice": "Unsafe advice",
    "jailbreak": "Jailbreak template",
    OTHER_ATTACK: "Other attacks",
}
_WORDS: tuple[tuple[str, frozenset[str]], ...] = (  # the first that has a word of the name
    ("indirect injection", frozenset({"indirect"})),
    ("jailbreak", frozenset({"jailbreak", "jailbreaks", "dan", "roleplay"})),
    ("direct injection", frozenset({"injection", "injections", "hijack", "direct"})),
    (
        "prompt leak",
        frozenset({"leak", "leaks", "leakage", "extraction", "exfiltration", "canary", "prompt"}),
    ),
    ("personal data", frozenset({"personal", "pii", "privacy", "private"})),
    ("unsafe advice", frozenset({"advice", "misinformation", "medical", "harmful", "unsafe", "toxicity"})),
)


@lru_cache(maxsize=10_000)
def attack_type(name: str) -> str:
    """Return the key of the type that a name stands for, such as "Direct_injection" or "prompt leak"."""
    words = set(re.split(r"[\W_]+", name.casefold()))
    return next((key for key, signs in _WORDS if not signs.isdisjoint(words)), OTHER_ATTACK)
