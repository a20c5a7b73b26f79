"""The kinds of expected-against-actual checks whose failure is a stage of its own."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

FORMAT = "format"  # the suite whose failure is a stage of its own, apart from those below
FORMAT_NAMES = ("format", "answer format", "output format", "citation format")
# Suites that hold the content of the answer against what is expected. Others, as a valid format or the right
# route, say nothing of whether the answer is right.
ANSWER_SUITES = frozenset(
    {
        *("memory", "task outcome", "task completion", "outcome", "state", "goal"),
        *("answer", "answers", "answer match", "content", "correct", "correctness", "answer correctness"),
        *("equals", "equal", "exact match", "match", "is", "contains", "icontains", "contains all"),
        *("icontains all", "contains any", "icontains any", "must contain", "must mention", "keywords"),
        *("fact", "facts", "factual", "factuality", "model graded factuality", "model graded closedqa"),
        *("closed qa", "llm rubric", "rubric", "g eval"),
    }
)
CRITICAL_SUITES = ("isolation", "safety")  # one failure is too many, whatever the rate
_TITLES = {
    "filter": "Filters",
    "format": "Format",
    "isolation": "Isolation",
    "memory": "Memory",
    "order": "Order",
    "over refusal": "Harmless look-alikes",
    "router": "Router",
    "safety": "Safety",
    "tool": "Tools",
}


@dataclass(frozen=True)
class CheckKind:
    """A part of the pipeline that checks look at."""

    key: str  # of its stage, after "check_"
    title: str  # of its stage, at most three words
    counted: str  # of its stage, as it follows a number of cases
    meaning: str  # what happened
    advice: str  # what to try
    owner: Literal["orchestration", "safety", "unexplained"]  # the part of the pipeline that must change
    # kinds of checks that belong to it, as a whole: lower case, words parted by spaces
    names: tuple[str, ...]


CHECK_KINDS = (
    CheckKind(
        "safety",
        "Safety check failed",
        "failed a safety check",
        "The answer, or an action, breaks a safety rule.",
        "Look at the guardrails and the system prompt.",
        "safety",
        (
            "safety",
            "jailbreak",
            "injection",
            "prompt injection",
            "toxicity",
            "pii",
            "guardrail",
            "guardrails",
        ),
    ),
    CheckKind(
        "isolation",
        "Isolation check failed",
        "failed an isolation check",
        "The system used data of another user or tenant.",
        "Check the retriever's access filter before anything else.",
        "safety",
        (
            "isolation",
            "tenant",
            "tenant isolation",
            "account isolation",
            "access",
            "permission",
            "privacy",
            "leak",
        ),
    ),
    CheckKind(
        "router",
        "Wrong route",
        "wrongly routed",
        "The question took a different route than expected.",
        "Look at the router: its prompt, its examples and the boundaries between routes.",
        "orchestration",
        ("router", "route", "routing", "intent"),
    ),
    CheckKind(
        "tool",
        "Wrong tool call",
        "with a wrong tool call",
        "A different tool was called than expected, or its arguments differ.",
        "Look at the descriptions of the tools and their arguments.",
        "orchestration",
        (
            *(
                "tool",
                "tools",
                "tool call",
                "tool calls",
                "tool choice",
                "tool use",
                "function",
                "function call",
            ),
            *("tool order", "tool sequence", "tool trajectory"),
            *("tool argument", "tool arguments", "argument", "arguments", "args"),
            *("tool call f1", "is valid openai tools call", "is valid openai function call"),  # promptfoo
        ),
    ),
    CheckKind(
        "filter",
        "Wrong filter",
        "wrongly filtered",
        "Retrieval used a different filter than the question asks for.",
        "Look at how filters are derived from the question, and at the documents' metadata.",
        "orchestration",
        ("filter", "filters", "metadata filter", "metadata filters"),
    ),
    CheckKind(
        "memory",
        "Memory error",
        "with a memory error",
        "Something from earlier turns was forgotten, or remembered wrongly.",
        "Look at what is kept between turns, and at how it enters the prompt.",
        "orchestration",
        ("memory", "history"),
    ),
    CheckKind(
        "order",
        "Wrong order",
        "in the wrong order",
        "Steps or documents are not in the expected order.",
        "Look at the plan, or at the sorting.",
        "orchestration",
        ("order", "ordering", "sequence", "trajectory"),
    ),
)
OTHER_CHECK = CheckKind(
    "other",
    "Check failed",
    "failed a check",
    "A value differs from the one that a check expects.",
    "Compare what the check expects with what it got.",
    "unexplained",
    (),
)


@lru_cache(maxsize=10_000)
def suite_of(kind: str) -> str:
    """Return the suite that a kind of check belongs to; a kind that is not known is a suite of its own.

    A kind belongs to a suite where it is one of its names as a whole: "Tool-Choice" is, "injection pump" is
    no injection.

    Args:
        kind: as recorded, such as "router", "tool choice" or "Tool-Arguments".
    """
    name = " ".join(word for word in re.split(r"[\W_]+", kind.casefold()) if word)
    if name in FORMAT_NAMES:
        return FORMAT
    return next((entry.key for entry in CHECK_KINDS if name in entry.names), name or OTHER_CHECK.key)


def suite_code(suite: str) -> int | None:
    """Return the place of a suite in (*CHECK_KINDS, OTHER_CHECK); None for format, a stage by itself."""
    if suite == FORMAT:
        return None
    return next((code for code, entry in enumerate(CHECK_KINDS) if entry.key == suite), len(CHECK_KINDS))


def is_known_kind(kind: str) -> bool:
    """Return whether a kind of check belongs to a suite that has a name, not to one of its own."""
    return suite_code(suite_of(kind)) != len(CHECK_KINDS)


def suite_title(suite: str) -> str:
    """Return the title of a suite; of one that is not known, its key with a capital."""
    return _TITLES.get(suite) or f"{suite[:1].upper()}{suite[1:]}"
