"""Records the calls of LangChain's chains, retrievers and agents: a callback handler.

>>> from langchain_core.runnables import RunnableLambda
>>> from ragtriage.langchain import Recorder
>>> recorder = Recorder()
>>> RunnableLambda(lambda question: "Paris").invoke("Capital of France?", config={"callbacks": [recorder]})
'Paris'
>>> [(record["question"], record["answer"]) for record in recorder.records]
[('Capital of France?', 'Paris')]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import LLMResult

from ragtriage.data.importers.parsing.objects import document_fields, plain, structured_text, usage
from ragtriage.recorder import CallRecorder, error_text

__all__ = ["Recorder"]

OF_A_SAMPLE = ("question_id", "conversation_id")  # what the metadata of a call may state


class Recorder(CallRecorder, BaseCallbackHandler):
    """Records each outermost run that it is given to as a callback, with the runs inside it.

    `config={"callbacks": [recorder]}` does so; the metadata `question_id` and `conversation_id` of the same
    config are those of the record. It is safe in threads and in asynchronous code.
    """

    tool = "LangChain"
    run_inline = True  # in asynchronous code too, in the order of the events

    def _start(
        self, kind: str, serialized: Mapping[str, Any] | None, call: Mapping[str, Any], **facts: Any
    ) -> None:
        """Begin a run; `call` is what LangChain tells of each: run_id, parent_run_id, name, metadata."""
        metadata, parent = call.get("metadata") or {}, call.get("parent_run_id")
        name = call.get("name") or (serialized or {}).get("name") or ""
        stated = {key: str(metadata[key]) for key in OF_A_SAMPLE if metadata.get(key) is not None}
        above = None if parent is None else str(parent)
        self._calls.begin(str(call["run_id"]), above, kind=kind, name=str(name), fields=stated, **facts)

    def _failed(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """End a run that failed."""
        self._calls.end(str(run_id), error=error_text(error))

    on_chain_error = on_retriever_error = on_llm_error = on_tool_error = _failed

    def on_chain_start(self, serialized: dict[str, Any], inputs: Any, **call: Any) -> None:
        """Begin a chain."""
        self._start("chain", serialized, call, input=plain(inputs))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """End a chain; one from documents to documents is a reranker."""
        facts: dict[str, Any] = {"output": plain(structured_text(outputs))}
        inputs = kwargs.get("inputs")
        if inputs is not None:  # of a stream, which has read them by now
            facts["input"] = plain(inputs)
        before = facts.get("input", self._calls.facts(str(run_id)).get("input"))
        from_documents = isinstance(before, list) and all(
            isinstance(value, Mapping) and "text" in value and "role" not in value for value in before
        )
        if _are_documents(outputs) and before and from_documents:
            facts |= {
                "kind": "reranker",
                "documents": facts["output"],
                "input_documents": before,
                "input": None,
            }
        self._calls.end(str(run_id), **facts)

    def on_retriever_start(self, serialized: dict[str, Any], query: str, **call: Any) -> None:
        """Begin a retrieval."""
        self._start("retriever", serialized, call, query=query, input=query)

    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **_: Any) -> None:
        """End a retrieval."""
        self._calls.end(str(run_id), documents=plain(list(documents)))

    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], **call: Any) -> None:
        """Begin a call of a model with a text."""
        self._model(serialized, prompts[0] if prompts else None, call)

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[Any]], **call: Any) -> None:
        """Begin a call of a model with messages."""
        self._model(serialized, plain(messages[0] if messages else []), call)

    def _model(self, serialized: Any, given: Any, call: Mapping[str, Any]) -> None:
        model = (call.get("metadata") or {}).get("ls_model_name")
        tools = (call.get("invocation_params") or {}).get("tools")
        self._start("llm", serialized, call, input=given, model=model, tools=tools)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """End a call of a model."""
        generation = next((options[0] for options in response.generations if options), None)
        message = getattr(generation, "message", None)
        output = getattr(generation, "text", None) if message is None else plain(message)
        figures = usage(response.llm_output or {}) | usage(getattr(generation, "generation_info", None) or {})
        self._calls.end(str(run_id), output=output, **figures, **({} if message is None else usage(message)))

    def on_tool_start(
        self, serialized: dict[str, Any], input_str: str, *, inputs: dict[str, Any] | None = None, **call: Any
    ) -> None:
        """Begin a call of a tool."""
        given = input_str if inputs is None else plain(inputs)
        self._start("tool", serialized, call, input=given)

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        """End a call of a tool; documents beside its message are what it retrieved."""
        artifact = getattr(output, "artifact", None)
        found = {"documents": plain(artifact)} if _are_documents(artifact) else {}
        self._calls.end(str(run_id), output=plain(output), **found)


def _are_documents(value: Any) -> bool:
    """Return whether a value is a list of documents, which may be empty."""
    return isinstance(value, list) and all(document_fields(item) is not None for item in value)
