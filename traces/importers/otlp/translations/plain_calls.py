"""Spans of RAAF, and of programs that instrument themselves, with `llm.request.messages` or `function.input`."""

from typing import Final

import orjson

from traces.core.json_access import as_list, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import is_message
from traces.importers.files.json_reader import parse_embedded

_MESSAGES: Final = "llm.request.messages"
_ARGUMENTS: Final = "function.input"
MARKS: Final = frozenset({_MESSAGES, _ARGUMENTS})
_REQUEST: Final = {
    "system": "llm.request.system",
    "tools": "llm.request.tools",
    "temperature": "llm.request.temperature",
    "top_p": "llm.request.top_p",
    "max_tokens": "llm.request.max_tokens",
}
_ANSWER: Final = {
    "content": "llm.response.content",
    "tool_calls": "llm.response.tool_calls",
    "reasoning_content": "llm.response.reasoning",
}
# Names that other tracers have for these.
_NAMES: Final = {
    "function.name": "gen_ai.tool.name",
    _ARGUMENTS: "gen_ai.tool.call.arguments",
    "function.output": "gen_ai.tool.call.result",
    "llm.usage.input_tokens": "gen_ai.usage.input_tokens",
    "llm.usage.output_tokens": "gen_ai.usage.output_tokens",
}


def is_span(attributes: JSONObject) -> bool:
    return _ARGUMENTS in attributes or bool(_messages(attributes))


def translate(attributes: JSONObject) -> JSONObject:
    """Return the attributes under the names of other tracers, with the parts of a call as its request and answer."""
    calls: JSONObject = {}
    if messages := _messages(attributes):
        calls["input.value"] = orjson.dumps({"messages": messages, **_members(attributes, _REQUEST)}).decode()
        attributes = omit(attributes, _MESSAGES, *_REQUEST.values())
    if answer := _members(attributes, _ANSWER):
        calls["output.value"] = orjson.dumps({"role": "assistant", "content": None, **answer}).decode()
        attributes = omit(attributes, *_ANSWER.values())
    return {**calls, **{_NAMES.get(name, name): value for name, value in attributes.items()}}


def _messages(attributes: JSONObject) -> list[JSONValue]:
    """Return the messages of a request; some programs record only their number, or print them."""
    messages = as_list(parse_embedded(attributes.get(_MESSAGES)))
    return messages if messages and all(map(is_message, messages)) else []


def _members(attributes: JSONObject, names: dict[str, str]) -> JSONObject:
    members = {member: parse_embedded(attributes.get(name)) for member, name in names.items()}
    return {member: value for member, value in members.items() if value not in (None, "", [], {})}
