"""How overrides are written into a request of each API."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final, Protocol

from replay.live.providers import anthropic_protocol, ollama_protocol, openai_protocol
from replay.overrides.edits import Edits
from replay.overrides.profile import MessageEdit
from replay.overrides.request_edits import with_system
from replay.reruns.core.message_items import (
    OtherContent,
    ResponseItems,
    call_id,
    gemini_contents,
    is_result,
    restore_items,
    with_output,
)
from traces.core.json_access import as_list, as_object, as_objects, as_text, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.formats.chats.openai_items import is_model_output, normalize_items
from traces.importers.formats.tracing.client_calls import model_request

# Messages, and the items of the request that they are.
Group = tuple[Sequence[JSONValue], Sequence[JSONValue]]


class CannotEdit(Exception):
    """An API whose requests cannot be changed in this way."""


class RequestFormat(Protocol):
    """One API. `spellings` are its names of parameters that it names differently.

    `parameters` is the member of a request that has them; empty if they are beside the messages. `own_members` are the
    settings that are not in it.
    """

    spellings: Mapping[str, str]
    parameters: str
    own_members: Sequence[str]

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
    parameters = ""
    own_members: Sequence[str] = ()

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
    parameters = ""
    own_members: Sequence[str] = ()

    def with_messages(self, body: JSONObject, input: JSONObject, edits: Edits) -> JSONObject:
        if edits.messages:
            return self._with_messages(body, input, edits)
        text, items = as_text(edits.prompt.get("system")), body.get("input")
        if isinstance(items, list) and "instructions" not in body and with_system([*items], "") != items:
            return {**body, "input": with_system([*items], text)}
        return _with_member(body, "instructions", text)

    def _with_messages(self, body: JSONObject, input: JSONObject, edits: Edits) -> JSONObject:
        value = body.get("input")
        items: list[JSONValue] = value if isinstance(value, list) else [{"role": "user", "content": value}]
        parts: list[list[JSONValue]] = [
            part
            for is_answer, run in groupby(items, key=is_model_output)
            for part in ([[*run]] if is_answer else [[item] for item in run])
        ]
        groups = [(normalize_items(part), part) for part in parts]
        system, edited_items = _edit_messages(input, groups, edits, ResponseItems(body).items)
        return {**_with_member(body, "instructions", system), "input": edited_items}

    def with_results(self, body: JSONObject, results: Mapping[str, str]) -> JSONObject:
        try:
            return {**body, "input": [_with_output(item, results) for item in _items(body, "input")]}
        except OtherContent as problem:
            raise CannotEdit(str(problem)) from problem

    def tool(self, tool: JSONObject) -> JSONObject:
        return {"type": "function", "strict": False, **tool}

    def response_format(self, format: JSONValue) -> JSONObject:
        # Chat completions put the schema one level deeper.
        schema = as_object(as_object(format).get("json_schema"))
        return {"text": {"format": {"type": "json_schema", **schema} if schema else format}}


class _Gemini:
    """Gemini's `generateContent`, plain and streamed."""

    spellings: Mapping[str, str] = {"max_tokens": "maxOutputTokens", "top_p": "topP", "stop": "stopSequences"}
    parameters = "generationConfig"
    # The model is a part of the address.
    own_members: Sequence[str] = ("model", "tools")

    def with_messages(self, body: JSONObject, input: JSONObject, edits: Edits) -> JSONObject:
        contents = as_list(body.get("contents"))
        groups = [(_step_messages("google.generate_content", "contents", content), [content]) for content in contents]
        system, edited_contents = _edit_messages(input, groups, edits, gemini_contents)
        names = ("systemInstruction", "system_instruction")
        rest = {name: value for name, value in body.items() if name not in names}
        instruction: JSONObject = {"systemInstruction": {"parts": [{"text": system}]}} if system else {}
        return {**rest, **instruction, "contents": edited_contents}

    def with_results(self, body: JSONObject, results: Mapping[str, str]) -> JSONObject:
        return {**body, "contents": [self._with_results(content, results) for content in _items(body, "contents")]}

    def tool(self, tool: JSONObject) -> JSONObject:
        return {
            "functionDeclarations": [{"parametersJsonSchema" if n == "parameters" else n: v for n, v in tool.items()}]
        }

    def response_format(self, format: JSONValue) -> JSONObject:
        raise CannotEdit("the format of Gemini's answers cannot be overridden")

    def _with_results(self, content: JSONValue, results: Mapping[str, str]) -> JSONValue:
        fields = as_object(content)
        parts: list[JSONValue] = []
        for part in as_list(fields.get("parts")):
            response = as_object(as_object(part).get("functionResponse"))
            id = as_text(response.get("id"))
            result: JSONObject = {**response, "response": {"result": results[id]}} if id in results else {}
            parts.append({**as_object(part), "functionResponse": result} if result else part)
        return {**fields, "parts": parts}


class _Messages:
    """Anthropic's messages."""

    spellings: Mapping[str, str] = {"stop": "stop_sequences"}
    parameters = ""
    own_members: Sequence[str] = ()

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


class _OllamaChat(_Chat):
    """Ollama's chat, with tools and results as in OpenAI's."""

    spellings: Mapping[str, str] = {"max_tokens": "num_predict"}
    parameters = "options"
    own_members: Sequence[str] = ("model", "tools", "format", "think", "logprobs", "top_logprobs")

    def with_messages(self, body: JSONObject, input: JSONObject, edits: Edits) -> JSONObject:
        groups = [(_step_messages("ollama.chat", "messages", item), [item]) for item in _items(body, "messages")]
        system, messages = _edit_messages(input, groups, edits, lambda message: [ollama_protocol.message_body(message)])
        prompt: list[JSONValue] = [{"role": "system", "content": system}] if system else []
        return {**body, "messages": [*prompt, *messages]}

    def response_format(self, format: JSONValue) -> JSONObject:
        return ollama_protocol.format_body(format)


class _OllamaGenerate(_OllamaChat):
    """Ollama's completions of a prompt."""

    def with_messages(self, body: JSONObject, input: JSONObject, edits: Edits) -> JSONObject:
        slots = edits.apply_to([[message] for message in as_list(input.get("messages"))])
        messages = [as_object(message) for slot in slots for message in slot]
        system = as_text(messages.pop(0).get("content")) if messages and messages[0].get("role") == "system" else ""
        if [message.get("role") for message in messages] != ["user"]:
            raise CannotEdit("a request of this API has one prompt, and no other messages")
        edited_body = _with_member(body, "system", system)
        return ollama_protocol.with_prompt(edited_body, messages[0]) if edits.messages else edited_body


_FORMATS: Final[dict[str, RequestFormat]] = {
    "openai.chat": _Chat(),
    "openai.responses": _Responses(),
    "anthropic.messages": _Messages(),
    "google.generate_content": _Gemini(),
    "ollama.chat": _OllamaChat(),
    "ollama.generate": _OllamaGenerate(),
}


def find_format(api: str) -> RequestFormat:
    """Return the format of an API; raise `CannotEdit` if its requests cannot be changed."""
    if api not in _FORMATS:
        raise CannotEdit("overrides cannot be applied to requests of this API")
    return _FORMATS[api]


def _edit_messages(
    input: JSONObject,
    groups: Sequence[Group],
    edits: Edits,
    as_items: Callable[[JSONObject], list[JSONValue]],
) -> tuple[str, list[JSONValue]]:
    """Return the system prompt and the items of an edited request; `groups` are its items and what they contain.

    Raise `CannotEdit` if the messages of the request are not those of its items, or have other content than text.
    """
    messages = as_list(input.get("messages"))
    count = sum(len(group) for group, _ in groups)
    own_messages = messages[len(messages) - count :]
    if own_messages != [message for group, _ in groups for message in group]:
        raise CannotEdit("its messages cannot be overridden: they are not told apart")
    originals = [*_take(own_messages, groups)]
    edited_messages = [message for slot in edits.apply_to([[message] for message in messages]) for message in slot]
    is_system = bool(edited_messages) and as_object(edited_messages[0]).get("role") == "system"
    has_prompt = is_system and not any(edited_messages[0] is message for message in own_messages)
    try:
        items = restore_items(edited_messages[1:] if has_prompt else edited_messages, originals, as_items)
    except OtherContent as problem:
        raise CannotEdit(str(problem)) from problem
    return (text_or_json(as_object(edited_messages[0]).get("content")) if has_prompt else ""), items


def _take(messages: list[JSONValue], groups: Sequence[Group]) -> Iterator[Group]:
    """Yield the groups with the very messages of the request."""
    start = 0
    for group, items in groups:
        yield messages[start : start + len(group)], items
        start += len(group)


def _step_messages(api: str, name: str, item: JSONValue) -> list[JSONValue]:
    """Return the messages of a step that an item of a conversation is; `name` is the member that has them."""
    return as_list(as_object(model_request({"request": {name: [item]}, "api": api})).get("messages"))


def _items(body: JSONObject, name: str) -> list[JSONValue]:
    """Return the items of a conversation; a text alone contains no result of a tool."""
    return as_list(body.get(name))


def _with_output(item: JSONValue, results: Mapping[str, str]) -> JSONValue:
    """Return an item of OpenAI's responses with another result, if it is the result of one of the calls."""
    fields = as_object(item)
    text = results.get(call_id(fields)) if is_result(fields) else None
    return item if text is None else with_output(fields, text)


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
