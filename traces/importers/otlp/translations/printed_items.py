"""Items of OpenAI's responses that Traceloop's instrumentation of the Agents SDK wrote as texts, by `str()`.

{"type": "text", "content": "ResponseFunctionToolCall(arguments='{}', call_id='call_1', name='find', …)"}
"""

from collections.abc import Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.python_literals import parse_object
from traces.importers.otlp.wire import SpanEvent

MARKS: Final = frozenset({"gen_ai.output.messages", "gen_ai.input.messages"})
_CALL, _REASONING = "ResponseFunctionToolCall(", "ResponseReasoningItem("


def is_span(attributes: JSONObject) -> bool:
    texts = [as_text(attributes.get(name)) for name in MARKS if name in attributes]
    return any(item in text for text in texts for item in (_CALL, _REASONING))


def translate(attributes: JSONObject, events: Sequence[SpanEvent]) -> tuple[JSONObject, list[SpanEvent]]:
    """Return the attributes with calls and thoughts in place of their texts."""
    messages: JSONObject = {
        name: [_message(item) for item in as_list(parse_embedded(attributes[name]))]
        for name in MARKS
        if attributes.get(name)
    }
    return {**attributes, **messages}, [*events]


def _message(value: JSONValue) -> JSONValue:
    message = as_object(value)
    if message.get("role") != "assistant" or "parts" not in message:
        return value
    return {**message, "parts": [_part(part) for part in as_list(message["parts"])]}


def _part(value: JSONValue) -> JSONValue:
    content = as_text(as_object(value).get("content"))
    if not content.startswith((_CALL, _REASONING)) or (item := parse_object(content)) is None:
        return value
    if content.startswith(_CALL):
        return {
            "type": "tool_call",
            "id": item.get("call_id"),
            "name": item.get("name"),
            "arguments": parse_embedded(item.get("arguments")),
        }
    thoughts = [as_text(part.get("text")) for part in as_objects(item.get("summary"))]
    return {"type": "reasoning", "content": "\n\n".join(thoughts)}
