"""Texts of payloads: messages, tool calls and final answers as words. Pure."""

import json
from typing import Final

from traces.core.canonical import digest
from traces.core.json_access import as_list, as_object, as_text, member, omit
from traces.core.json_types import JSONObject, JSONValue

# A block of a message has one of these; other objects are data.
_BLOCK_KEYS: Final = ("type", "text", "content", "message", "tool_calls")

# They come with signatures, which differ between equal answers.
_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})


def content_text(content: JSONValue) -> str:
    """The words of a message's content: a text, or the texts of its blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for text in map(content_text, content) if text)
    if isinstance(content, dict):
        inner = _inner_content(content)
        return content_text(inner) if inner is not None else f"[{content.get('type', 'data')}]"
    return "" if content is None else str(content)


def _inner_content(block: JSONObject) -> JSONValue:
    """What contains the words of a block: search results wrap them in documents, sources and values."""
    for name in ("text", "content", "value"):
        if name in block:
            return block[name]
    if as_text(block.get("type")).endswith("search_result"):
        return [text for name in ("title", "url") if (text := as_text(block.get(name)))] or None
    # Other sources and data are media.
    source, data = as_object(block.get("source")), block.get("data")
    return source.get("data") if source.get("type") == "text" else data if isinstance(data, dict) else None


def message_text(message: JSONValue) -> str:
    """A message as words: its author's name, its content with a mark for each image or file, and its tool calls."""
    if not isinstance(message, dict):
        return content_text(message)
    call_texts = [call_text(call) for call in as_list(message.get("tool_calls"))]
    name = message.get("name") if message.get("role") != "tool" else None
    parts = (f"{name}:" if isinstance(name, str) else "", _marked_text(message.get("content")), *call_texts)
    return "\n".join(part for part in parts if part)


def _marked_text(content: JSONValue) -> str:
    """The words of a message's content; a block without words is named by its digest, so that two differ."""
    if not isinstance(content, list):
        return content_text(content)
    return "\n".join(text for text in map(_block_text, content) if text)


def _block_text(block: JSONValue) -> str:
    text = content_text(block)
    is_word = (
        not isinstance(block, dict)
        or text != f"[{block.get('type', 'data')}]"
        or as_text(block.get("type")) in _THOUGHTS
    )
    return text if is_word else f"{text[:-1]} {digest(without_random_ids(as_object(block)))[:8]}]"


def without_random_ids(block: JSONObject) -> JSONObject:
    """A block without what differs between any two runs, if it is a call that the provider ran or its result."""
    if "tool_use_id" not in block and not as_text(block.get("type")).endswith("tool_use"):
        return block
    fields = omit(block, "id", "tool_use_id")
    if isinstance(items := block.get("content"), list):
        fields["content"] = [omit(item, "encrypted_content") if isinstance(item, dict) else item for item in items]
    return fields


def call_text(call: JSONValue) -> str:
    """A tool call in the notation `name(argument=value)`."""
    if not isinstance(call, dict):
        return str(call)
    fields = as_object(call.get("arguments"))
    arguments = ", ".join(f"{key}={value}" for key, value in fields.items()) if fields else call.get("arguments") or ""
    return f"{call.get('name')}({arguments})"


def answer_text(value: JSONValue) -> str:
    """The text of a final answer, in any of the shapes of an output; data without a text as JSON."""
    if isinstance(value, dict):
        inner = member(value, "message", "content")
        for content in (value.get("text"), inner, value.get("content"), value.get("answer"), value.get("output")):
            if content is not None:
                return _text_or_json(content)
        # A message without content only requests calls.
        if isinstance(value.get("message"), dict):
            return ""
    return _text_or_json(value)


def _text_or_json(content: JSONValue) -> str:
    blocks = content if isinstance(content, list) else [content]
    if any(isinstance(block, dict) and block.keys().isdisjoint(_BLOCK_KEYS) for block in blocks):
        return json.dumps(content, ensure_ascii=False, sort_keys=True)
    return content_text(content)
