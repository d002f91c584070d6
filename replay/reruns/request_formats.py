"""How overrides are written into a request of each API."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

from replay.live.providers import anthropic_protocol, openai_protocol
from replay.overrides.edits import Edits
from replay.overrides.profile import MessageEdit
from replay.overrides.request_edits import with_system
from traces.core.json_access import as_list, as_object, as_objects, as_text
from traces.core.json_types import JSONObject, JSONValue


class CannotEdit(Exception):
    """An API whose requests cannot be changed in this way."""


class RequestFormat(Protocol):
    """One API. `spellings` are its names of parameters that it names differently."""

    spellings: Mapping[str, str]

    def with_messages(self, body: JSONObject, input: JSONObject, edits: Edits) -> JSONObject:
        """Return a request with the system prompt and messages of the edits; `input` is the request as a step's."""
        ...

    def with_results(self, body: JSONObject, results: Mapping[str, str]) -> JSONObject:
        """Return a request with other results of tools, by the ids of their calls."""
        ...

    def tool(self, tool: JSONObject) -> JSONObject:
        """Return a tool in the form in which it is offered."""
        ...

    def response_format(self, format: JSONValue) -> JSONObject:
        """Return the members of a request that state the format of the answer."""
        ...


class _Chat:
    """OpenAI's chat completions."""

    spellings: Mapping[str, str] = {}

    def with_messages(self, body: JSONObject, input: JSONObject, edits: Edits) -> JSONObject:
        wire_edits = replace(edits, messages=tuple(_in_wire_format(edit) for edit in edits.messages))
        slots = wire_edits.apply_to([[message] for message in as_list(body.get("messages"))])
        return {**body, "messages": [message for slot in slots for message in slot]}

    def with_results(self, body: JSONObject, results: Mapping[str, str]) -> JSONObject:
        messages = [_with_result(message, "tool_call_id", "content", results) for message in _items(body, "messages")]
        return {**body, "messages": messages}

    def tool(self, tool: JSONObject) -> JSONObject:
        return openai_protocol.tool_body(tool)

    def response_format(self, format: JSONValue) -> JSONObject:
        return {"response_format": format}


class _Responses:
    """OpenAI's responses."""

    spellings: Mapping[str, str] = {"max_tokens": "max_output_tokens"}

    def with_messages(self, body: JSONObject, input: JSONObject, edits: Edits) -> JSONObject:
        if edits.messages:
            raise CannotEdit("messages of OpenAI's responses cannot be overridden, only their system prompt")
        text, items = as_text(edits.prompt.get("system")), body.get("input")
        if isinstance(items, list) and "instructions" not in body and with_system([*items], "") != items:
            return {**body, "input": with_system([*items], text)}
        return _with_member(body, "instructions", text)

    def with_results(self, body: JSONObject, results: Mapping[str, str]) -> JSONObject:
        return {**body, "input": [_with_result(item, "call_id", "output", results) for item in _items(body, "input")]}

    def tool(self, tool: JSONObject) -> JSONObject:
        return {"type": "function", "strict": False, **tool}

    def response_format(self, format: JSONValue) -> JSONObject:
        # Chat completions put the schema one level deeper.
        schema = as_object(as_object(format).get("json_schema"))
        return {"text": {"format": {"type": "json_schema", **schema} if schema else format}}


class _Messages:
    """Anthropic's messages."""

    spellings: Mapping[str, str] = {"stop": "stop_sequences"}

    def with_messages(self, body: JSONObject, input: JSONObject, edits: Edits) -> JSONObject:
        if not edits.messages:
            return _with_member(body, "system", as_text(edits.prompt.get("system")))
        slots = edits.apply_to([[message] for message in as_list(input.get("messages"))])
        messages = as_objects([message for slot in slots for message in slot])
        rest = {name: value for name, value in body.items() if name != "system"}
        return {
            **rest,
            **anthropic_protocol.system_body(messages),
            "messages": [*anthropic_protocol.message_bodies(messages)],
        }

    def with_results(self, body: JSONObject, results: Mapping[str, str]) -> JSONObject:
        return {**body, "messages": [self._with_results(message, results) for message in _items(body, "messages")]}

    def tool(self, tool: JSONObject) -> JSONObject:
        return anthropic_protocol.tool_body(tool)

    def response_format(self, format: JSONValue) -> JSONObject:
        return anthropic_protocol.output_config(format)

    def _with_results(self, message: JSONValue, results: Mapping[str, str]) -> JSONValue:
        fields = as_object(message)
        if not isinstance(blocks := fields.get("content"), list):
            return message
        return {**fields, "content": [_with_result(block, "tool_use_id", "content", results) for block in blocks]}


_FORMATS: Final[dict[str, RequestFormat]] = {
    "openai.chat": _Chat(),
    "openai.responses": _Responses(),
    "anthropic.messages": _Messages(),
}


def find_format(api: str) -> RequestFormat:
    """Return the format of an API; raise `CannotEdit` if its requests cannot be changed."""
    if api not in _FORMATS:
        raise CannotEdit("overrides cannot be applied to requests of this API")
    return _FORMATS[api]


def _items(body: JSONObject, name: str) -> list[JSONValue]:
    """Return the items of a conversation; a text alone contains no result of a tool."""
    return as_list(body.get(name))


def _with_result(item: JSONValue, id_name: str, result_name: str, results: Mapping[str, str]) -> JSONValue:
    """Return an item with another result, if it is the result of one of the calls."""
    fields = as_object(item)
    id = as_text(fields.get(id_name))
    return {**fields, result_name: results[id]} if result_name in fields and id in results else item


def _with_member(body: JSONObject, name: str, text: str) -> JSONObject:
    """Return a request with a text as a member; an empty text removes it."""
    rest = {key: value for key, value in body.items() if key != name}
    return {**rest, name: text} if text else rest


def _in_wire_format(edit: MessageEdit) -> MessageEdit:
    if edit.message is None:
        return edit
    return edit.model_copy(update={"message": openai_protocol.message_body(edit.message)})
