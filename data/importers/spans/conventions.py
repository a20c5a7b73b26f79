"""Attributes of a span, flat (`llm.input_messages.0.message.role`), nested, or both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.shapes import decoded, items, question_in, reference_in
from ragtriage.data.importers.parsing.values import fields_in, number, question_id_in, text_in, value_in
from ragtriage.data.importers.spans.span import NAMES, Labels, Span, kind_of
from ragtriage.data.importers.spans.traces import with_labels

MOST_PARTS = 20


class Attributes:
    """Attributes looked up by their full name; what stands below a name comes as an object or a list."""

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self._flat = dict(_flat(attributes, "", 0))

    @cached_property
    def _parents(self) -> set[str]:
        """The names below which others stand."""
        parents = set()
        for name in self._flat:
            dot = name.rfind(".")
            while dot > 0 and name[:dot] not in parents:
                parents.add(name[:dot])
                dot = name.rfind(".", 0, dot)
        return parents

    def at(self, name: str) -> Any:
        """Return the value of a name, or what stands below it; None where there is neither.

        Numbered parts are a list in their order, objects in a list are nested themselves.
        """
        value = self._flat.get(name)
        if value is None and name in self._parents:
            start = f"{name}."
            listed = self._flat.items()
            return _nested({key.removeprefix(start): item for key, item in listed if key.startswith(start)})
        if isinstance(value, list):
            flat = (dict(_flat(item, "", 0)) if isinstance(item, dict) and item else item for item in value)
            return [_nested(item) if isinstance(item, dict) and item else item for item in flat]
        return value

    def first(self, *names: str) -> Any:
        """Return what stands at the first of some names where there is something."""
        for name in names:
            if name in self._flat or name in self._parents:
                value = self.at(name)
                if value is not None and value not in ("", [], {}):
                    return value
        return None

    def or_else(self, others: Mapping[str, Any]) -> Attributes:
        """Return these attributes, with others where there is none of the name."""
        return Attributes({**others, **self._flat})

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield full names and values."""
        yield from self._flat.items()


def _flat(attributes: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    for name, value in attributes.items():
        if isinstance(value, dict) and depth < MOST_PARTS:
            yield from _flat(value, f"{prefix}{name}.", depth + 1)
        elif value is not None:
            yield f"{prefix}{name}", value


def _nested(below: Mapping[str, Any]) -> Any:
    """Return flat names as nested objects; numbered ones as a list."""
    root: dict[str, Any] = {}
    for name, value in below.items():
        *path, last = name.split(".", MOST_PARTS)
        node = root
        for part in path:
            inner = node.get(part)
            if not isinstance(inner, dict):
                inner = node[part] = {}
            node = inner
        if not isinstance(node.get(last), dict):
            node[last] = value
    return _with_lists(root)


def _with_lists(values: dict[str, Any]) -> Any:
    for name, value in values.items():
        if isinstance(value, dict):
            values[name] = _with_lists(value)
    if all(map(str.isdecimal, values)):
        return [values[name] for name in sorted(values, key=lambda name: (len(name), name))]
    return values


Event = tuple[str, Mapping[str, Any]]  # its name and attributes
EVALUATION = "gen_ai.evaluation.result"
ASKED = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant")}
REPLIED = "gen_ai.choice"
LONGEST_EXTRA = 500


def span_of_attributes(span: Span, recorded: Mapping[str, Any], events: Iterable[Event] = ()) -> Span:
    """Return a span with what its attributes and events say."""
    listed = list(events)
    attributes = Attributes(recorded)
    for name, values in listed:
        if name in NAMES["message_events"]:
            attributes = attributes.or_else(values)
    documents = _documents(attributes, listed)
    kind = span.kind if span.kind != "other" else _kind(attributes, documents)
    read = replace(
        span,
        kind=kind,
        input=_payload(attributes, kind, "input"),
        output=_payload(attributes, kind, "output"),
        query=question_in(attributes.first(*NAMES["query"])),
        documents=documents,
        input_documents=attributes.at("reranker.input_documents"),
        input_tokens=number(attributes.first(*NAMES["input_tokens"])),
        output_tokens=number(attributes.first(*NAMES["output_tokens"])),
        cost=number(attributes.first(*NAMES["cost"])),
        model=text_in(attributes.first(*NAMES["model"])),
        finish_reason=_last_text(decoded(attributes.first(*NAMES["finish_reason"]))),
        tool=text_in(attributes.first(*NAMES["tool"])) or "" if kind == "tool" else "",
        call_id=text_in(attributes.first(*NAMES["call_id"])) or "" if kind == "tool" else "",
        tools=_tools(attributes, kind),
        instructions=attributes.at("gen_ai.system_instructions"),
        fields=_fields(attributes),
        tags=_tags(attributes),
        attributes=_rest(attributes),
    )
    for name, values in listed:
        labels = labels_of_event(name, values) or messages_of_event(name, values)
        read = read if labels is None else with_labels(read, labels)
    return read


def _last_text(value: object) -> str | None:
    return text_in(value[-1] if isinstance(value, list | tuple) and value else value)


def labels_of_event(name: str, recorded: Mapping[str, Any]) -> Labels | None:
    """Return the score in an evaluation event; None for any other event."""
    if name != EVALUATION:
        return None
    attributes = Attributes(recorded)
    metric = text_in(attributes.at("gen_ai.evaluation.name"))
    if metric is None:
        return None
    return score_of(
        metric,
        attributes.at("gen_ai.evaluation.score.value"),
        label=attributes.at("gen_ai.evaluation.score.label"),
        reason=attributes.first("gen_ai.evaluation.explanation", "gen_ai.evaluation.reason"),
        error=attributes.first("error.type", "error.message"),
    )


def score_of(metric: str, value: Any, *, label: Any = None, reason: Any = None, error: Any = None) -> Labels:
    """Return a score under our name of its metric: a number, or what a label such as "pass" stands for.

    A label that says neither is a tag. One with neither number nor label failed; its error is the reason.
    """
    key = metric_name(metric)[0]
    amount = value_in(value) if value is not None else None
    label = text_in(label)
    why = text_in(reason)
    if amount is None and label is not None and error is None:
        amount = value_in(label)
        if amount is None:
            return Labels(tags={key: label})
    if amount is None:
        return Labels(scores={key: {"value": None, "reason": text_in(error) or why or "no value recorded"}})
    return Labels(scores={key: {"value": amount, "reason": why} if why else amount})


def messages_of_event(name: str, values: Mapping[str, Any]) -> Labels | None:
    """Return a message that stands in an event of its own; None for any other event."""
    if name not in ASKED and name != REPLIED:
        return None
    message = decoded(values.get("message", values.get("gen_ai.event.content")))
    content = message.get("content") if isinstance(message, Mapping) else message
    content = values.get("content", content)
    if content is None:
        return None
    if name == REPLIED:
        return Labels(output=({"role": "assistant", "content": content},))
    return Labels(input=({"role": ASKED[name], "content": content},))


def _kind(attributes: Attributes, documents: Any) -> str:
    for path in NAMES["kind"]:
        kind = kind_of(attributes.at(path))
        if kind != "other":
            return kind
    kind = kind_of(decoded(attributes.at("mlflow.spanType")))
    operation = str(attributes.at("ai.operationId") or "")
    if operation.startswith(("ai.generate", "ai.stream")):
        return "llm"
    if operation.startswith("ai."):
        named = {"ai.embed": "embedding", "ai.toolC": "tool", "ai.reran": "reranker"}
        return named.get(operation[:8], named.get(operation[:9], kind))
    if kind == "other" and documents is not None:
        return "retriever"
    return "llm" if kind == "other" and attributes.first(*NAMES["output_tokens"]) is not None else kind


def _payload(attributes: Attributes, kind: str, side: str) -> Any:
    # Of a call of a model the messages are clearer than its value, which holds its parameters as well.
    messages = NAMES["messages_in" if side == "input" else "messages_out"] if kind == "llm" else ()
    value = attributes.first(*messages, *NAMES[side])
    if isinstance(value, list):
        return [item.get("message", item) if isinstance(item, Mapping) else item for item in value]
    value = decoded(value) if attributes.first("traceloop.span.kind", "traceloop.entity.name") else value
    if isinstance(value, Mapping):  # how OpenLLMetry keeps the arguments and the result of a function
        inner = next((value[key] for key in (f"{side}s", "kwargs") if value.get(key)), None)
        arguments = value.get("args")
        inner = inner or (arguments[0] if isinstance(arguments, list) and arguments else None)
        return value if inner is None else inner
    return value


def _tools(attributes: Attributes, kind: str) -> Any:
    """Return the schemas of tools that a span states, as recorded; None where it states none."""
    if kind == "tool":
        return attributes.first(*NAMES["tools"], *NAMES["tool_schema"])
    stated = attributes.first(*NAMES["tools"])
    parameters = decoded(attributes.first(*NAMES["parameters"])) if stated is None else None
    return parameters.get("tools") if isinstance(parameters, Mapping) else stated


def _documents(attributes: Attributes, events: Iterable[Event]) -> Any:
    """Return the documents that a span names, as recorded; None where it names none."""
    for name in NAMES["documents"]:
        documents = attributes.at(name)
        if isinstance(documents, str | list):
            return documents
    results = [
        _vector_result(Attributes(values)) for name, values in events if name in NAMES["vector_results"]
    ]
    return [document for document in results if document] or None


def _vector_result(attributes: Attributes) -> dict[str, Any]:
    """Return a document that OpenLLMetry writes as an event of a query to a vector database."""
    result = attributes.first("db.query.result", "db.pinecone.query.result")
    if not isinstance(result, dict):
        return {}
    kept = {name: result.get(name) for name in ("id", "distance", "metadata")}
    return {**kept, "text": result.get("document"), "score": number(result.get("score"))}


def _fields(attributes: Attributes) -> dict[str, Any]:
    metadata = fields_in(attributes.at("metadata"))
    ids = ((name, value) for name, value in attributes.items() if name.endswith(tuple(NAMES["question_id"])))
    named = {name.rpartition(".")[2]: value for name, value in ids}
    expected = (metadata[key] for key in NAMES["reference_answer"] if metadata.get(key) is not None)
    fields = {
        "question_id": question_id_in(metadata, named) if metadata or named else None,
        "conversation_id": text_in(attributes.first(*NAMES["conversation_id"])),
        "reference_answer": next(map(reference_in, expected), None),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _tags(attributes: Attributes) -> dict[str, Any]:
    source = text_in(attributes.at("gen_ai.data_source.id"))
    listed = items(decoded(attributes.first("tag.tags", "langfuse.trace.tags")))
    tags = {f"tag_{tag}": True for tag in listed if isinstance(tag, str)}
    return {**tags, **({"data_source": source} if source else {})}


def _rest(attributes: Attributes) -> dict[str, Any]:
    """Return the short attributes that are read nowhere else."""
    return {
        name: value
        for name, value in attributes.items()
        if name.partition(".")[0] not in NAMES["read_elsewhere"] and len(str(value)) <= LONGEST_EXTRA
    }
