"""Messages of a conversation as the items of a request: unchanged ones keep the items that they came as. Pure."""

from collections.abc import Callable, Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, text_or_json
from traces.core.json_types import JSONObject, JSONValue

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


def response_items(message: JSONObject) -> list[JSONValue]:
    """Return a message as items of OpenAI's responses."""
    if message.get("role") == "tool":
        output = text_or_json(message.get("content"))
        return [{"type": "function_call_output", "call_id": message.get("tool_call_id"), "output": output}]
    text = _text(message.get("content"))
    items: list[JSONValue] = [{"role": message.get("role"), "content": text}] if text else []
    for call in as_objects(message.get("tool_calls")):
        arguments = text_or_json(call.get("arguments") or {})
        items.append(
            {"type": "function_call", "call_id": call.get("id"), "name": call.get("name"), "arguments": arguments}
        )
    return items


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
