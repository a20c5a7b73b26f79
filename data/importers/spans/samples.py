"""A sample from the spans of one trace: what was asked and answered, and what was retrieved before."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.shapes import answer_in, decoded, question_in
from ragtriage.data.importers.parsing.values import Fields, documents_in, error_line, ranked, without_blanks
from ragtriage.data.importers.spans.span import Span, Trace
from ragtriage.data.importers.spans.tool_calls import call_count, schemas_of, tool_checks
from ragtriage.data.store.parsed_run import Record

Documents = list[dict[str, Any]]
STEPS = ("retriever", "reranker")
NAMED = ("retriev", "search", "knowledge_base")


@dataclass(frozen=True)
class Retrieval:
    """The retrieval of a trace."""

    documents: Documents | None = None  # what was handed to the model; None where that is not recorded
    candidates: Documents | None = None  # the longest list before it, if longer; None where there is none
    query: str | None = None  # the first query; None where none is recorded
    calls: int = 0  # number of different queries
    milliseconds: float | None = None  # time spent; None where not known
    error: str | None = None  # of a retrieval that failed; None where none did


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
    """Return what a trace retrieved before the call of a model that gave its answer.

    With `null_is_empty`, a retriever that did not fail and has no list returned an empty one, as tools write
    it that record the lists of others.
    """
    steps = trace.outermost(*STEPS)
    if not steps:  # those that retrieve by their name and return documents, e.g. tools of an agent
        named = [
            span
            for span in trace.of_pipeline
            if span.kind in ("tool", "chain", "other")
            and any(word in span.name.lower() for word in NAMED)
            and (span.documents is not None or documents_in(span.output))
        ]
        steps = trace.topmost(named)
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
            # The lists inside a step that are longer than its own were fused or reranked into it.
            recorded = [listed for span in inner for listed in (span.documents, span.input_documents)]
            lists = map(ranked, recorded)
            longer = [listed for listed in lists if listed and len(listed) > len(documents or ())]
            calls.retrieve(step, documents, longer)
    in_order = sorted(calls.by_query.values(), key=lambda call: call.place)
    known = [call.documents for call in in_order if call.documents is not None]
    documents = [document for listed in known for document in listed] if known else None
    longest = max((call.longest for call in in_order), key=len, default=[])
    durations = [step.end - step.start for step in steps if step.end is not None and step.start is not None]
    return Retrieval(
        documents,
        longest if documents is not None and len(longest) > len(documents) else None,
        next((call.query for call in in_order if call.query), None),
        len(in_order),
        sum(durations) / 1e6 if durations else None,
        next((step.error for step in before if step.error is not None), None),
    )


def _before(trace: Trace, steps: Sequence[Span], answer: str | None) -> Sequence[Span]:
    """Return the steps that ended before the call that gave the answer began.

    That call is the first that says the answer. Where none does, it is the last, if anything was retrieved
    before it: the call that answered may not be recorded, or have failed. Where clocks disagree, the steps
    that began before it.
    """
    calls = [call for call in trace.model_calls if answer is not None and answer_in(call.output) == answer]
    call = next(iter(calls), None) or next(iter(trace.model_calls[-1:]), None)
    if call is None or call.start is None or answer is None:
        return steps
    ended = [step for step in steps if step.end is None or step.end <= call.start]
    began = [step for step in steps if step.start is None or step.start <= call.start]
    return ended or began or ([] if calls else steps)


def _documents(step: Span, inner: Sequence[Span], *, null_is_empty: bool) -> Documents | None:
    """Return what a step returned; what those inside it did where it does not say so itself."""
    for span in (step, *reversed(inner)):
        documents = ranked(span.documents) if span.documents is not None else documents_in(span.output)
        if documents is not None:
            return documents
    silent = step.error is None and not any(decoded(span.output) for span in (step, *inner))
    return [] if null_is_empty and silent and step.documents is None else None


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
        query, before = query_of(step), ranked(step.input_documents)
        by_mark = (self._by_mark.get(mark, {}) for mark in _marks(before))
        sharing = {place: call for calls in by_mark for place, call in calls.items()}
        of_query = [self.by_query[query]] if query in self.by_query else []
        replaced = [call for _, call in sorted(sharing.items())] or of_query
        replaced = replaced or list(self._fresh.values()) or list(self.by_query.values())
        reranked = _Call(query, documents, reranked=True)
        for call in replaced:
            reranked.came_after(call.longest, call.documents)
            self._forget(call)
            del self.by_query[call.query]
        reranked.came_after(before)
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


SCORED_WITHOUT_ANSWER = "scored although there is no answer"
PARTIAL = "the root span of a trace is not in the file: question and answer are those of the spans that are"
SEVERAL_SCORES = "a metric is scored on several spans of a trace: the root's score is read, else the last"
UNFIT = {"evaluator": "a trace of an evaluator", "guardrail": "a trace of a guardrail"}
NO_ANSWER = ("retriever", "reranker", "embedding", "evaluator", "guardrail")
NO_OBJECT = {"role", "content", "tool_calls", "toolCalls", "messages", "choices", "parts"}
ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant"}


def sample_of_trace(
    spans: Iterable[Span],  # the spans of one trace in any order
    errors: ValidationErrors | None = None,  # takes remarks, and the count of traces that become no sample
    line: int | None = None,  # line of the trace in its file, for the remarks
    *,
    null_is_empty: bool = True,  # see `retrieval_of`
) -> dict[str, Any] | None:
    """Return the sample of a trace in the native form; None where it holds no question."""
    trace = Trace(spans)
    root = trace.root
    errors = errors if errors is not None else ValidationErrors("")
    unfit = UNFIT.get(root.kind, "")
    if not unfit and all(span.kind == "embedding" for span in trace.spans):
        unfit = "a trace of embeddings alone"
    question = None if unfit else _question(trace)
    if question is not None and _lists_nodes(question):
        question, unfit = None, "a trace of documents that are taken in"
    if question is None:
        errors.leave_out(unfit or "a trace without a question")
        return None
    if trace.is_partial:
        errors.remark(PARTIAL, line)
    answer = _answer(trace)
    retrieval = retrieval_of(trace, answer, null_is_empty=null_is_empty)
    tools = schemas_of(trace)
    checks = tool_checks(trace, tools)
    seconds = None if root.start is None else root.start // 1_000_000_000
    started = None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    timed = not trace.is_partial and root.start is not None and (root.end or 0) >= root.start
    sample = {
        "question": question,
        "answer": answer,
        "retrieved": retrieval.documents,
        "candidates": retrieval.candidates,
        "search_query": None if retrieval.query == question else retrieval.query,
        "history": _history(root),
        "latency_ms": ((root.end or 0) - (root.start or 0)) / 1e6 if timed else None,
        "retrieval_ms": retrieval.milliseconds,
        "input_tokens": trace.total("input_tokens"),
        "output_tokens": trace.total("output_tokens"),
        "cost_usd": trace.total("cost"),
        "checks": checks or None,
        "tools": tools,
        "scores": _scores(trace, errors, line),
        "human": [dict(label) for span in trace.spans for label in span.human] or None,
        "tags": _tags(trace, retrieval, answer, call_count(checks)),
        "trace_id": root.trace_id,
        "span_id": root.span_id or None,
        "started_at": None if started is None else started.isoformat().replace("+00:00", "Z"),
        "attributes": dict(root.attributes),
    }
    for span in (*trace.spans, root):
        sample.update(span.fields)
    if sample["answer"] is None and sample["scores"]:
        errors.remark(SCORED_WITHOUT_ANSWER, line)
    return {key: value for key, value in sample.items() if value is not None and value not in ({}, "")} | (
        {"answer": None} if answer is None else {}
    )


def _lists_nodes(text: str) -> bool:
    """Return whether a text is nodes of LlamaIndex alone, as its splitters record their input."""
    lines = text.splitlines()
    return text.startswith("<") and all("(id_=" in line and line.endswith(")>") for line in lines)


def _question(trace: Trace) -> str | None:
    """Return the question: the input of the root; else the first query, then what a model was asked."""
    queries = [query_of(span) for span in trace.of_pipeline if span.kind in ("retriever", "reranker")]
    root = trace.root
    asked = query_of(root) if root.kind in ("retriever", "reranker") else question_in(root.input)
    # A prompt may hold the context: a query says more clearly what was asked. Not where the call retrieves.
    prompted = root.kind == "llm" and not trace.inside(root, *STEPS)
    calls = [question_in(span.input) for span in trace.of_pipeline if span.kind in ("agent", "chain", "llm")]
    candidates = (*queries, asked) if prompted else (asked, *queries, *calls)
    return next((question for question in candidates if question and question.strip()), None)


def _answer(trace: Trace) -> str | None:
    root = trace.root
    fragment = trace.is_partial and root.kind in ("tool", "llm")
    lists_documents = isinstance(decoded(root.output), list) and documents_in(root.output) is not None
    silent = root.kind in NO_ANSWER or fragment or lists_documents
    answer = None if silent else answer_in(root.output)
    if answer is None and root.error is None and root.kind not in NO_ANSWER[2:]:
        for call in reversed([call for call in trace.model_calls if call.error is None]):
            answer, written = answer_in(call.output), decoded(call.output)
            # An object that a model was asked to write is its answer, as JSON.
            if answer is None and isinstance(written, Mapping) and not written.keys() & NO_OBJECT:
                answer = json.dumps(written, default=str, ensure_ascii=False) if written else None
            if answer:
                break
    return answer if answer and answer.strip() else None


def _history(root: Span) -> list[dict[str, str]] | None:
    """Return the turns before the user's last message in the input of the root."""
    value = decoded(root.input)
    messages = value.get("messages") if isinstance(value, Mapping) else value
    messages = decoded(messages)
    if not isinstance(messages, list):
        return None
    turns = []
    for message in messages:
        if isinstance(message, Mapping):
            role = ROLES.get(str(message.get("role") or message.get("type")).lower())
            text = (answer_in if role == "assistant" else question_in)([message]) if role else None
            if role and text:
                turns.append({"role": role, "text": text})
    last = max((place for place, turn in enumerate(turns) if turn["role"] == "user"), default=0)
    return turns[:last] or None


def _scores(trace: Trace, errors: ValidationErrors, line: int | None) -> dict[str, Any]:
    """Return the scores of all spans; the root's win, then those of later spans."""
    scores: dict[str, Any] = {}
    for span in (*(span for span in trace.spans if span is not trace.root), trace.root):
        if scores.keys() & span.scores.keys():
            errors.remark(SEVERAL_SCORES, line)
        scores.update(span.scores)
    return scores


def _tags(trace: Trace, retrieval: Retrieval, answer: str | None, calls: int) -> dict[str, Any]:
    tags: dict[str, Any] = {}
    for span in (*trace.spans, trace.root):
        for key, value in span.tags.items():
            plain = value is None or isinstance(value, str | int | float)
            tags[str(key)] = value if plain else json.dumps(value, default=str, ensure_ascii=False)
    models = [span.model for span in trace.model_calls if span.model]
    finish = next((span.finish_reason for span in reversed(trace.model_calls) if span.finish_reason), None)
    failed = [span.error for span in reversed(trace.of_pipeline) if span.error is not None]
    error = trace.root.error if trace.root.error is not None else next(iter(failed), None)
    return {
        **tags,
        **({"model": models[-1]} if models else {}),
        **({"finish_reason": finish} if finish else {}),
        **({"tool_calls": calls} if calls else {}),
        **({"retrieval_calls": retrieval.calls} if retrieval.calls > 1 else {}),
        **({"retrieval_error": error_line(retrieval.error)} if retrieval.error is not None else {}),
        **({"error": error_line(error)} if error is not None and answer is None else {}),
    }


def samples_of(
    rows: Iterable[Record],  # the rows; what is not an object is read as an empty one
    # returns the sample of a row on a line, or None; blank fields of it are left out
    sample: Callable[[Fields, int], dict[str, Any] | None],
    errors: ValidationErrors,  # takes remarks, and the count of rows without a question
    lacking: str,  # what such a row is called
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the samples of rows that hold one each, numbered where a question comes again."""
    asked: Counter[str] = Counter()
    for line, row in rows:
        record = sample(Fields(row), line)
        question = record["question"] if record else None
        if record is None or not question or not question.strip():
            errors.leave_out(lacking)
            continue
        if record.get("scores") and not record["answer"]:
            errors.remark(SCORED_WITHOUT_ANSWER, line)
        key = str(record.get("question_id") or question)
        yield line, without_blanks({**record, "repeat": asked[key]})
        asked[key] += 1
