"""A span in the form that all tracing tools are brought to, and a trace as a tree of spans."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

# Field of a span -> the attributes that hold it by the conventions, and kind -> what tools call it.
NAMES: dict[str, Any] = json.loads(Path(__file__).with_name("span_names.json").read_text(encoding="utf-8"))
_KIND_OF: dict[str, str] = {name: kind for kind, names in NAMES["kinds"].items() for name in names}


@dataclass(frozen=True)
class Span:
    """A span."""

    trace_id: str
    span_id: str = ""  # its own; "" where the tool has none
    parent_id: str | None = None  # span that it is part of; None for a root
    name: str = ""
    kind: str = "other"  # see `kind_of`
    start: int | None = None  # begin in nanoseconds since 1970; None where not known
    end: int | None = None  # end likewise
    input: Any = None  # as recorded: text, messages, an object, or JSON in text
    output: Any = None
    query: str | None = None  # query of a retriever or reranker where it is told apart from its input
    documents: Any = None  # what a retriever or reranker returned, in any usual form; None where not recorded
    input_documents: Any = None  # what a reranker was given
    error: str | None = None  # why it failed, as recorded, "" where no reason is; None where it did not fail
    input_tokens: float | None = None  # tokens that a model read
    output_tokens: float | None = None  # tokens that it wrote
    cost: float | None = None
    model: str | None = None
    finish_reason: str | None = None  # why the model stopped, such as "stop" or "length"
    tool: str = ""  # name of the tool that was called, where the name of the span is another
    call_id: str = ""  # id under which a model asked for the call of a tool
    tools: Any = None  # schemas of the tools that could be called, as recorded
    instructions: Any = None  # system instructions of a model or an agent that stand beside its input
    run: str = ""  # run that its trace belongs to; that of the root counts
    # metric -> score as in the native form: a number, None where it failed, or {value, reason}
    scores: Mapping[str, Any] = field(default_factory=dict)
    human: Sequence[Mapping[str, Any]] = ()  # human labels in the native form
    # fields of the sample that the tool itself states, e.g. question_id, reference_answer, conversation_id,
    # relevant, history; those of the root win.
    fields: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, Any] = field(default_factory=dict)  # tags of the sample; those of the root win
    # what else a span says; kept as extra where it is the root
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Labels:
    """Scores and labels that a tool keeps apart from the span or trace that they belong to."""

    scores: Mapping[str, Any] = field(default_factory=dict)  # as in a span
    human: Sequence[Mapping[str, Any]] = ()  # as in a span
    fields: Mapping[str, Any] = field(default_factory=dict)  # as in a span
    tags: Mapping[str, Any] = field(default_factory=dict)  # as in a span
    # 0-based position of a document of the span -> whether it is relevant
    relevant: Mapping[int, bool] = field(default_factory=dict)
    # messages that the span was given, where they are kept apart from it one by one
    input: Sequence[Any] = ()
    output: Sequence[Any] = ()  # messages that it gave, likewise


def kind_of(name: object) -> str:
    """Return the kind of a span by what its tool calls it, e.g. "RETRIEVER", "invoke_agent"; else "other"."""
    return _KIND_OF.get(str(name).strip().lower().replace(" ", "_").replace("-", "_"), "other")


OF_EVALUATION = ("evaluator", "guardrail")


class Trace:
    """The spans of one trace. Their order does not matter; a span that is there twice is one.

    Parents may be missing, or form a chain of any length or a ring: the tree is laid out once, depth first
    and without recursion. What is asked of it then takes one pass, also with many thousand spans.
    """

    def __init__(self, spans: Iterable[Span]) -> None:
        versions: dict[str, list[Span]] = {}
        for position, span in enumerate(spans):
            versions.setdefault(span.span_id or f"#{position}", []).append(span)
        distinct = sorted((_latest(same) for same in versions.values()), key=lambda span: _in_time(span, 0))
        self._by_id = {span.span_id: span for span in distinct if span.span_id}
        # By the identity of a span: the span around it, how deep it is, and where those inside it end.
        self._parents: dict[int, Span] = {}
        self._depths: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._places: dict[int, int] = {}
        self._top_down: list[Span] = []  # each span is followed by those inside it
        self._lay_out(distinct)
        self.spans = sorted(distinct, key=lambda span: _in_time(span, self._depths[id(span)]))

    def _lay_out(self, distinct: Sequence[Span]) -> None:
        children: dict[str, list[Span]] = {}
        for span in distinct:
            children.setdefault(span.parent_id or "", []).append(span)
        for some_span in distinct:
            if id(some_span) in self._places:
                continue
            top = self._top_above(some_span)
            waiting: list[tuple[Span, Span | None]] = [(top, None)]
            while waiting:
                span, parent = waiting.pop()
                if id(span) in self._places:  # where a ring closes
                    continue
                self._places[id(span)] = len(self._top_down)
                self._top_down.append(span)
                self._depths[id(span)] = 0 if parent is None else self._depths[id(parent)] + 1
                if parent is not None:
                    self._parents[id(span)] = parent
                if span.span_id:
                    waiting += ((child, span) for child in children.get(span.span_id, ()))
        for place, span in reversed([*enumerate(self._top_down, start=1)]):
            end = self._ends.setdefault(id(span), place)
            parent = self._parents.get(id(span))
            if parent is not None:
                self._ends[id(parent)] = max(end, self._ends.get(id(parent), 0))

    def _top_above(self, span: Span) -> Span:
        """Return the outermost span around a span; of a ring of parents the first in time."""
        passed: dict[int, Span] = {}
        while id(span) not in passed:
            passed[id(span)] = span
            parent = self._by_id.get(span.parent_id or "")
            if parent is None:
                return span
            span = parent
        on_the_way = list(passed)
        ring = on_the_way[on_the_way.index(id(span)) :]
        return min((passed[identity] for identity in ring), key=lambda member: _in_time(member, 0))

    def _within(self, holds: Callable[[Span], bool]) -> set[int]:
        """Return the identities of the spans that are inside one that holds."""
        within: set[int] = set()
        for span in self._top_down:
            parent = self._parents.get(id(span))
            if parent is not None and (id(parent) in within or holds(parent)):
                within.add(id(span))
        return within

    @cached_property
    def root(self) -> Span:
        """The span without a parent; where it is not in the file, the first whose parent is not in it.

        Of several, the first that has an input, and rather one that is not a call of a model.
        """
        tops = [span for span in self.spans if not span.parent_id]
        tops = tops or [span for span in self.spans if span.parent_id not in self._by_id] or self.spans
        return min(tops, key=lambda span: (span.input is None and span.query is None, span.kind == "llm"))

    @property
    def is_partial(self) -> bool:
        """True where its root is not in the file."""
        return bool(self.root.parent_id)

    @cached_property
    def of_pipeline(self) -> list[Span]:
        """The spans that are not part of an evaluation."""
        evaluated = self._within(lambda span: span.kind in OF_EVALUATION)
        return [
            span
            for span in self.spans
            if span is self.root or (span.kind not in OF_EVALUATION and id(span) not in evaluated)
        ]

    @cached_property
    def _ranks(self) -> dict[int, int]:
        return {id(span): rank for rank, span in enumerate(self.of_pipeline)}

    def topmost(self, spans: Sequence[Span]) -> list[Span]:
        """Return those of some spans that are not inside another of them."""
        among = {id(span) for span in spans}
        within = self._within(lambda span: id(span) in among)
        return [span for span in spans if id(span) not in within]

    def outermost(self, *kinds: str) -> list[Span]:
        """Return the spans of some kinds that are not inside one of these kinds."""
        return self.topmost([span for span in self.of_pipeline if span.kind in kinds])

    def inside(self, outer: Span, *kinds: str) -> list[Span]:
        """Return the spans of some kinds inside a span."""
        held = self._top_down[self._places[id(outer)] + 1 : self._ends[id(outer)]]
        inner = [span for span in held if span.kind in kinds and id(span) in self._ranks]
        return sorted(inner, key=lambda span: self._ranks[id(span)])

    @cached_property
    def model_calls(self) -> list[Span]:
        """The calls of a model that hold no other: a wrapper around several is not a call of its own."""
        calls = [span for span in self.of_pipeline if span.kind == "llm"]
        around: set[int] = set()
        for call in calls:
            parent = self._parents.get(id(call))
            while parent is not None and id(parent) not in around:
                around.add(id(parent))
                parent = self._parents.get(id(parent))
        return [call for call in calls if id(call) not in around]

    def total(self, field: str) -> float | None:
        """Return the sum of a figure over a trace, where a span that states it speaks for those inside it."""
        tops = self.topmost([span for span in self.of_pipeline if getattr(span, field) is not None])
        return sum(getattr(span, field) for span in tops) if tops else None


def _in_time(span: Span, depth: int) -> tuple[bool, int, int, int, str]:
    return (span.start is None, span.start or 0, depth, span.end or 0, span.span_id)


def _latest(same: list[Span]) -> Span:
    """Return one of several records of a span: the one that was written last or says most."""
    if len(same) == 1:
        return same[0]
    shown = {id(span): repr(span) for span in same}
    return max(same, key=lambda span: (span.end or 0, len(shown[id(span)]), shown[id(span)]))
