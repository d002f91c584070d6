"""Messages of a conversation as the items of a request: unchanged ones keep the items that they came as. Pure."""

from collections.abc import Callable, Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.formats.chats.openai_items import normalize_items

_ROLES: Final = {"assistant": "model"}


class OtherContent(Exception):
    """A message with content that the items of a request cannot have."""


def restore_items(
    edited_messages: Sequence[JSONValue],
    originals: Sequence[tuple[Sequence[JSONValue], Sequence[JSONValue]]],
    as_items: Callable[[JSONObject], list[JSONValue]],
) -> list[JSONValue]:
    """Return the items of edited messages; `originals` are the messages and items that belong together.

    Messages that no edit touched are the same objects as before.
    """
    edited_ids = {id(message) for message in edited_messages}
    groups = {id(message): group for group in originals for message in group[0]}
    items: list[JSONValue] = []
    for message in edited_messages:
        group = groups.get(id(message))
        if group is None or not edited_ids.issuperset(map(id, group[0])):
            items += as_items(as_object(message))
        elif message is group[0][0]:
            items += group[1]
    return items


class ResponseItems:
    """Messages as items of OpenAI's responses: calls and results have the types that they have in a request."""

    def __init__(self, body: JSONObject) -> None:
        items = [as_object(item) for item in as_list(body.get("input"))]
        self._results = {call_id(item): item for item in items if is_result(item)}
        self._calls = {call_id(item): item for item in items if "call_id" in item and not is_result(item)}
        tools = as_objects(body.get("tools"))
        self._custom_tools = {as_text(tool.get("name")) for tool in tools if tool.get("type") == "custom"}

    def items(self, message: JSONObject) -> list[JSONValue]:
        """Return the items that a message is."""
        if message.get("role") == "tool":
            return [self._result(as_text(message.get("tool_call_id")), text_or_json(message.get("content")))]
        text = _text(message.get("content"))
        items: list[JSONValue] = [{"role": message.get("role"), "content": text}] if text else []
        return items + [self._call(call) for call in as_objects(message.get("tool_calls"))]

    def _result(self, id: str, text: str) -> JSONObject:
        if id in self._results:
            return with_output(self._results[id], text)
        kind = as_text(self._calls.get(id, {}).get("type")) or "function_call"
        return with_output({"type": f"{kind}_output", "call_id": id}, text)

    def _call(self, call: JSONObject) -> JSONObject:
        id, name, arguments = call.get("id"), call.get("name"), call.get("arguments")
        item = self._calls.get(as_text(id))
        if item is not None and _is_call(item, call):
            return item
        kind = as_text(item.get("type")) if item is not None else ""
        if kind not in {"", "function_call", "custom_tool_call"}:
            raise OtherContent(f"a call of the tool {name}, which is built into the API, cannot be overridden")
        if kind == "custom_tool_call" or name in self._custom_tools:
            return {
                **(item or {}),
                "type": "custom_tool_call",
                "call_id": id,
                "name": name,
                "input": text_or_json(arguments),
            }
        text = text_or_json(arguments or {})
        return {**(item or {}), "type": "function_call", "call_id": id, "name": name, "arguments": text}


def is_result(item: JSONObject) -> bool:
    """Return whether an item of OpenAI's responses is the result of a call that the agent made."""
    return as_text(item.get("type")).endswith("_call_output")


def call_id(item: JSONObject) -> str:
    """Return the id of the call that an item of OpenAI's responses is, or is the result of."""
    return as_text(item.get("call_id")) or as_text(item.get("id"))


def with_output(item: JSONObject, text: str) -> JSONObject:
    """Return the result of a call with another text. Tools that are built into the API have forms of their own."""
    match item.get("type"):
        case "shell_call_output":
            outcome: JSONObject = {"type": "exit", "exit_code": 0}
            return {**item, "output": [{"stdout": text, "stderr": "", "outcome": outcome}]}
        case "computer_call_output":
            raise OtherContent("the screenshot of a computer call cannot be overridden")
        case _:
            return {**item, "output": text}


def _is_call(item: JSONObject, call: JSONObject) -> bool:
    """Return whether an item is this call of a message."""
    messages = as_objects(normalize_items([item]))
    return [call] == [own_call for message in messages for own_call in as_objects(message.get("tool_calls"))]


def gemini_contents(message: JSONObject) -> list[JSONValue]:
    """Return a message as contents of Gemini."""
    if message.get("role") == "tool":
        raise OtherContent("the result of a tool can only be overridden as such")
    text = _text(message.get("content"))
    parts: list[JSONValue] = [{"text": text}] if text else []
    for call in as_objects(message.get("tool_calls")):
        parts.append({"functionCall": {"name": call.get("name"), "args": call.get("arguments") or {}}})
    role = as_text(message.get("role"))
    return [{"role": _ROLES.get(role, "user"), "parts": parts}] if parts else []


def _text(content: JSONValue) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    blocks = as_objects(content)
    if len(blocks) != len(as_list(content)) or any(block.get("type") not in ("text", "thinking") for block in blocks):
        raise OtherContent("a message with other content than text cannot be overridden")
    return "".join(as_text(block.get("text")) for block in blocks)
