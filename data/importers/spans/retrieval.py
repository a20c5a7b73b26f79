"""What a trace retrieved: the list that the answering call of a model was given, and longer ones before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ragtriage.data.importers.parsing.payloads import answer_in, decoded, question_in
from ragtriage.data.importers.spans.span import Span
from ragtriage.data.importers.spans.trace import Trace
from ragtriage.data.importers.spans.values import documents_in, ranked

Documents = list[dict[str, Any]]
STEPS = ("retriever", "reranker")
NAMED = ("retriev", "search", "knowledge_base")


@dataclass(frozen=True)
class Retrieval:
    """The retrieval of a trace.

    Attributes:
        documents: what was handed to the model; None where that is not recorded.
        candidates: the longest list before it, if longer; None where there is none.
        query: the first query; None where none is recorded.
        calls: number of different queries.
        milliseconds: time spent; None where not known.
        error: of a retrieval that failed; None where none did.
    """

    documents: Documents | None = None
    candidates: Documents | None = None
    query: str | None = None
    calls: int = 0
    milliseconds: float | None = None
    error: str | None = None


@dataclass(eq=False)
class _Call:
    """A retrieval for one query, with the reranking of its list."""

    query: str | None
    documents: Documents | None
    reranked: bool = False
    longest: Documents = field(default_factory=list)  # of the lists before this one
    marks: set[str] = field(init=False)
    place: int = 0  # among the calls

    def __post_init__(self) -> None:
        self.marks = _marks(self.documents)

    def came_after(self, *lists: Documents | None) -> None:
        """Keep the longest of the lists that this one was made from."""
        self.longest = max((self.longest, *(listed or [] for listed in lists)), key=len)


def query_of(span: Span) -> str | None:
    """Return the query of a retriever or reranker."""
    query = span.query if span.query is not None else question_in(span.input)
    return query if query and query.strip() else None


def retrieval_of(trace: Trace, answer: str | None, *, null_is_empty: bool) -> Retrieval:
    """Return what a trace retrieved.

    Args:
        trace: the trace.
        answer: its answer, which tells which call of the model gave it.
        null_is_empty: whether a retriever that did not fail and has no list returned an empty one, as tools
            write it that record the lists of others.
    """
    steps = trace.outermost(*STEPS) or _by_name(trace)
    if not steps:
        return Retrieval(documents_in(trace.root.output))
    before = _before(trace, steps, answer)
    calls = _Calls()
    for step in sorted(before, key=lambda step: step.end or step.start or 0):
        inner = trace.inside(step, *STEPS)
        documents = _documents(step, inner, null_is_empty=null_is_empty)
        if step.kind == "reranker":
            calls.rerank(step, documents)
        else:
            calls.retrieve(step, documents, _inner_lists(inner, len(documents or ())))
    made = sorted(calls.by_query.values(), key=lambda call: call.place)
    known = [call.documents for call in made if call.documents is not None]
    documents = [document for listed in known for document in listed] if known else None
    longest = max((call.longest for call in made), key=len, default=[])
    durations = [step.end - step.start for step in steps if step.end is not None and step.start is not None]
    return Retrieval(
        documents,
        longest if documents is not None and len(longest) > len(documents) else None,
        next((call.query for call in made if call.query), None),
        len(made),
        sum(durations) / 1e6 if durations else None,
        next((step.error for step in before if step.error is not None), None),
    )


def _by_name(trace: Trace) -> list[Span]:
    """Return the spans that retrieve by their name and return documents, e.g. tools of an agent."""
    named = [
        span
        for span in trace.of_pipeline
        if span.kind in ("tool", "chain", "other")
        and any(word in span.name.lower() for word in NAMED)
        and (span.documents is not None or documents_in(span.output))
    ]
    return trace.topmost(named)


def _before(trace: Trace, steps: Sequence[Span], answer: str | None) -> Sequence[Span]:
    """Return the steps that ended before the call that gave the answer began.

    That call is the first that says the answer. Where none does, it is the last, if anything was retrieved
    before it: the call that answered may not be recorded, or have failed. Where clocks disagree, the steps
    that began before it.
    """
    said = [call for call in trace.model_calls if answer is not None and answer_in(call.output) == answer]
    call = next(iter(said), None) or next(iter(trace.model_calls[-1:]), None)
    if call is None or call.start is None or answer is None:
        return steps
    ended = [step for step in steps if step.end is None or step.end <= call.start]
    began = [step for step in steps if step.start is None or step.start <= call.start]
    return ended or began or ([] if said else steps)


def _documents(step: Span, inner: Sequence[Span], *, null_is_empty: bool) -> Documents | None:
    """Return what a step returned; what those inside it did where it does not say so itself."""
    for span in (step, *reversed(inner)):
        documents = ranked(span.documents) if span.documents is not None else documents_in(span.output)
        if documents is not None:
            return documents
    silent = step.error is None and not any(decoded(span.output) for span in (step, *inner))
    return [] if null_is_empty and silent and step.documents is None else None


def _inner_lists(inner: Sequence[Span], length: int) -> list[Documents]:
    """Return the lists inside a step that are longer than its own: they were fused or reranked into it."""
    recorded = [listed for span in inner for listed in (span.documents, span.input_documents)]
    lists = [ranked(listed) for listed in recorded if not isinstance(listed, list) or len(listed) > length]
    return [listed for listed in lists if listed]


class _Calls:
    """The calls so far, one for each query, with the marks of those that were not reranked yet."""

    def __init__(self) -> None:
        self.by_query: dict[str | None, _Call] = {}
        self._fresh: dict[int, _Call] = {}  # by place
        self._by_mark: dict[str, dict[int, _Call]] = {}
        self._count = 0

    def retrieve(self, step: Span, documents: Documents | None, inner_lists: list[Documents]) -> None:
        """Add a retrieval, which stands for an earlier one for its query where both share documents.

        Lists for one query that share none come from several indexes: they are put together.
        """
        query, marks = query_of(step), _marks(documents)
        same = self.by_query.get(query)
        if same is None:
            self._count += 1
            same = self.by_query[query] = _Call(query, None, place=self._count)
        same.came_after(*inner_lists)
        if not same.marks.isdisjoint(marks):
            self._forget(same)
            same.came_after(same.documents)
            same.documents, same.marks, same.reranked = None, set(), False
        if documents is not None:
            same.documents = [] if same.documents is None else same.documents
            same.documents += documents
            same.marks |= marks
        if not same.reranked:
            self._fresh[same.place] = same
            for mark in marks:
                self._by_mark.setdefault(mark, {})[same.place] = same

    def rerank(self, step: Span, documents: Documents | None) -> None:
        """Put a reranked list in the place of the lists that it was made from.

        Those share documents with what it was given, or have its query; where neither is known, all lists
        that were not reranked yet.
        """
        if documents is None:  # what it made of them is not recorded
            return
        query, given = query_of(step), ranked(step.input_documents)
        sharing = {
            place: call for mark in _marks(given) for place, call in self._by_mark.get(mark, {}).items()
        }
        of_query = [self.by_query[query]] if query in self.by_query else []
        replaced = [call for _, call in sorted(sharing.items())] or of_query
        replaced = replaced or list(self._fresh.values()) or list(self.by_query.values())
        reranked = _Call(query, documents, reranked=True)
        for call in replaced:
            reranked.came_after(call.longest, call.documents)
            self._forget(call)
            del self.by_query[call.query]
        reranked.came_after(given)
        self._count += 1
        reranked.place = self._count
        if replaced:
            first = min(replaced, key=lambda call: call.place)
            reranked.query, reranked.place = first.query, first.place
        self.by_query[reranked.query] = reranked

    def _forget(self, call: _Call) -> None:
        """Take a call out of those that were not reranked."""
        if self._fresh.pop(call.place, None) is not None:
            for mark in call.marks:
                self._by_mark[mark].pop(call.place, None)


def _marks(documents: Documents | None) -> set[str]:
    return {str(document.get("id") or document.get("text")) for document in documents or ()}
