"""A span of a trace in the form that all tracing tools are brought to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_NAMES = {
    "root": ("root", "record_root"),
    "retriever": ("retriever", "retrieval", "retrieve"),
    "reranker": ("reranker", "rerank", "reranking"),
    "llm": (
        *("llm", "chat", "chat_model", "generation", "text_completion", "completion", "completions"),
        *("generate_content",),
    ),
    "tool": ("tool", "execute_tool", "mcp_tool", "tool_call"),
    "chain": ("chain", "workflow", "task", "invoke_workflow", "prompt", "parser", "step"),
    "agent": ("agent", "invoke_agent", "create_agent", "workflow_step", "plan"),
    "evaluator": ("evaluator", "scorer", "score", "eval", "eval_root", "evaluation"),
    "embedding": ("embedding", "embeddings", "embed"),
    "guardrail": ("guardrail",),
    "other": (),
}
_KIND_OF = {name: kind for kind, names in _NAMES.items() for name in names}
KINDS = tuple(_NAMES)


@dataclass(frozen=True)
class Span:
    """A span.

    Attributes:
        trace_id: of its trace.
        span_id: its own; "" where the tool has none.
        parent_id: span that it is part of; None for a root.
        name: as the tool shows it.
        kind: one of KINDS (see `kind_of`).
        start: begin in nanoseconds since 1970; None where not known.
        end: end likewise.
        input: as recorded: text, messages, an object, or JSON in text.
        output: likewise.
        query: query of a retriever or reranker where it is told apart from its input.
        documents: what a retriever or reranker returned, in any usual form; None where not recorded.
        input_documents: what a reranker was given.
        error: why it failed, as recorded, "" where no reason is; None where it did not fail.
        input_tokens: tokens that a model read.
        output_tokens: tokens that it wrote.
        cost: cost in US dollars.
        model: name of the model.
        tool: name of the tool that was called, where the name of the span is another.
        call_id: id under which a model asked for the call of a tool.
        tools: schemas of the tools that could be called, as recorded.
        instructions: system instructions of a model or an agent that stand beside its input.
        run: run that its trace belongs to; that of the root counts.
        scores: metric -> score as in the native form: a number, None where it failed, or {value, reason}.
        human: human labels in the native form.
        fields: fields of the sample that the tool itself states, e.g. question_id, reference_answer,
            conversation_id, relevant, history; those of the root win.
        tags: tags of the sample; those of the root win.
        attributes: what else a span says; kept as extra where it is the root.
    """

    trace_id: str
    span_id: str = ""
    parent_id: str | None = None
    name: str = ""
    kind: str = "other"
    start: int | None = None
    end: int | None = None
    input: Any = None
    output: Any = None
    query: str | None = None
    documents: Any = None
    input_documents: Any = None
    error: str | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    cost: float | None = None
    model: str | None = None
    tool: str = ""
    call_id: str = ""
    tools: Any = None
    instructions: Any = None
    run: str = ""
    scores: Mapping[str, Any] = field(default_factory=dict)
    human: Sequence[Mapping[str, Any]] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Labels:
    """Scores and labels that a tool keeps apart from the span or trace that they belong to.

    Attributes:
        scores: as in a span.
        human: as in a span.
        fields: as in a span.
        tags: as in a span.
        relevant: 0-based position of a document of the span -> whether it is relevant.
        input: messages that the span was given, where they are kept apart from it one by one.
        output: messages that it gave, likewise.
    """

    scores: Mapping[str, Any] = field(default_factory=dict)
    human: Sequence[Mapping[str, Any]] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, Any] = field(default_factory=dict)
    relevant: Mapping[int, bool] = field(default_factory=dict)
    input: Sequence[Any] = ()
    output: Sequence[Any] = ()


def kind_of(name: object) -> str:
    """Return the kind of a span by what its tool calls it, e.g. "RETRIEVER", "invoke_agent"; else "other"."""
    return _KIND_OF.get(str(name).strip().lower().replace(" ", "_").replace("-", "_"), "other")
