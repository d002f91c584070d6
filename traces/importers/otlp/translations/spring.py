"""Spans of Spring AI: tools, searches in vector stores and clients, under names of its own."""

from typing import Final

from traces.core.json_access import as_text
from traces.core.json_types import JSONObject

_KIND: Final = "spring.ai.kind"
MARKS: Final = frozenset({_KIND})
_KINDS: Final = {
    "tool_call": "TOOL",
    "vector_store": "RETRIEVER",
    "chat_client": "CHAIN",
    "advisor": "CHAIN",
}
# Names that other tracers have for these.
_NAMES: Final = {
    "spring.ai.tool.definition.name": "gen_ai.tool.name",
    "spring.ai.tool.definition.description": "gen_ai.tool.description",
    "spring.ai.tool.definition.schema": "tool.parameters",
    "spring.ai.tool.call.id": "gen_ai.tool.call.id",
    "spring.ai.tool.call.arguments": "gen_ai.tool.call.arguments",
    "spring.ai.tool.call.result": "gen_ai.tool.call.result",
    "spring.ai.chat.client.input": "input.value",
    "spring.ai.chat.client.output": "output.value",
    "db.vector.query.content": "gen_ai.retrieval.query.text",
    "db.vector.query.top_k": "retrieval.top_k",
    "db.vector.query.response.documents": "gen_ai.retrieval.documents",
}


def is_span(attributes: JSONObject) -> bool:
    return as_text(attributes.get(_KIND)) in _KINDS


def translate(attributes: JSONObject) -> JSONObject:
    """Return the attributes under the names of other tracers."""
    kind: JSONObject = {"openinference.span.kind": _KINDS[as_text(attributes[_KIND])]}
    return {**kind, **{_NAMES.get(name, name): value for name, value in attributes.items() if name != _KIND}}
