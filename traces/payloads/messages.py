"""Requests and answers of models, as payloads have them: messages, texts and tool calls."""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.conversation import Messages

ANSWER: Final = "/message"  # the place of a model's message in its output


def messages_of(value: JSONValue) -> Sequence[JSONValue]:
    """The messages of a request."""
    messages = value.get("messages") if isinstance(value, dict) else None
    return messages if isinstance(messages, list | Messages) else []


def message_of(output: JSONValue) -> JSONObject:
    """The message of a model's output."""
    message = output.get("message") if isinstance(output, dict) else None
    return message if isinstance(message, dict) else {}


def role_of(message: JSONValue) -> str:
    """Who a message is from."""
    return str(message.get("role") or "") if isinstance(message, dict) else ""


def calls_of(message: JSONObject) -> list[JSONObject]:
    """The tool calls of a message."""
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def call_ids(message: JSONObject) -> list[str]:
    """The ids of the tool calls of a message."""
    return [str(call.get("id") or "") for call in calls_of(message)]


def text_of(message: JSONObject) -> str:
    """The text of a message that is one text."""
    content = message.get("content")
    return content.strip() if isinstance(content, str) else ""


def text_places(message: JSONObject) -> Iterator[tuple[str, str]]:
    """The texts of an answer, one or its blocks, with where each stands."""
    content = message.get("content")
    blocks = list(enumerate(content)) if isinstance(content, list) else []
    said = [(f"/{index}/text", block.get("text")) for index, block in blocks if isinstance(block, dict)]
    for path, text in said or [("", content)]:
        if isinstance(text, str) and text.strip():
            yield text.strip(), f"{ANSWER}/content{path}"
