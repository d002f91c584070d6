"""Request bodies in a trace's attributes: messages that repeat are parsed and normalized once.

Every model request of an agent repeats the history. A body is therefore cut into its messages as bytes, and the bytes
of each message are looked up among those of earlier requests. Equal messages become one object, which lets the store
recognize them by identity.
"""

from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import msgspec

from traces.core.json_access import as_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.step_header import step_view
from traces.importers.common.messages import normalize_messages, normalize_tools
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value, parse_embedded
from traces.importers.formats.chats.openai_items import has_calls, normalize_items
from traces.importers.otlp.dialects.tool_calls import tool_settings

# Several agents of a trace may take turns.
_MOST_RECENT: Final = 4
# Bounds the memory of traces whose messages do not repeat.
_MOST_MESSAGES: Final = 100_000
# Short values repeat in all traces of a program: settings, and texts of a few words.
_SHORT: Final = 1_000
_MOST_VALUES: Final = 2_000
# Lists of tools are longer, and fewer.
_MOST_TOOL_LISTS: Final = 100
_CONVERSATIONS: Final = ("messages", "contents", "input")
_PROMPT: Final = "prompt"
_TOOLS: Final = ("tools", "functions")
_decode_object: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_list: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode


@step_view
class RequestBody:
    """The normalized messages and tools of a request, and its fields besides the messages."""

    messages: list[JSONObject]
    tools: list[JSONValue]
    fields: JSONObject
    # Settings of the tools that their schemas do not contain.
    tool_settings: JSONObject = field(default_factory=dict)


@dataclass(kw_only=True, slots=True)
class BodyReader:
    """Reads the request bodies of one trace."""

    _messages: dict[bytes, list[JSONObject]] = field(default_factory=dict)
    # Conversations as bytes without the closing bracket, with their normalized messages, latest last.
    _recent: deque[tuple[bytes, list[JSONObject]]] = field(default_factory=lambda: deque(maxlen=_MOST_RECENT))

    def body(self, text: JSONValue) -> RequestBody | None:
        """Read a request body with a list of messages; None for any other value."""
        if not isinstance(text, str) or not text.startswith("{"):
            return None
        try:
            fields = _decode_object(text)
            names = [name for name in _CONVERSATIONS if name in fields]
            if len(names) != 1 or _PROMPT in fields or not _has_unique_keys(text, fields):
                return None
            conversation = bytes(fields.pop(names[0]))
            if not conversation.startswith(b"["):
                return None
            messages = self._normalize(conversation, names[0])
            if messages is None:
                return None
            schemas = _schemas_of(fields)
            return RequestBody(
                messages=messages,
                tools=_normalize_tools(schemas),
                tool_settings=_tool_settings(schemas),
                fields={name: _field_value(bytes(raw)) for name, raw in fields.items()},
            )
        except (msgspec.DecodeError, BadFile, RecursionError):
            return None

    def _normalize(self, conversation: bytes, name: str) -> list[JSONObject] | None:
        """Return the normalized messages; None if the tracer printed some as text."""
        if name == "input":
            values = [_field_value(bytes(item)) for item in _decode_list(conversation)]
            if has_calls(values):
                return normalize_items(values)
        rest, history = self._history(conversation)
        items = [bytes(item) for item in _decode_list(rest)]
        if name == "messages" and any(item.startswith(b'"') for item in items):
            return None
        messages = [*history]
        for item in items:
            messages += self._message(item)
        self._recent.append((conversation[:-1].rstrip(), messages))
        return messages

    def _history(self, conversation: bytes) -> tuple[bytes, list[JSONObject]]:
        """Return the messages of an earlier conversation that this one continues, and the list of those after them.

        Lists that begin with the same bytes, up to the comma after an entry, begin with the same entries.
        """
        for head, messages in reversed(self._recent):
            if conversation.startswith(head):
                rest = conversation[len(head) :].lstrip()
                if rest.startswith((b",", b"]")):
                    return b"[" + rest.removeprefix(b","), messages
        return conversation, []

    def _message(self, data: bytes) -> list[JSONObject]:
        messages = self._messages.get(data)
        if messages is None:
            if len(self._messages) >= _MOST_MESSAGES:
                self._messages.clear()
            messages = self._messages[data] = normalize_messages(json_value(data))
        return messages


def parse(text: JSONValue) -> JSONValue:
    """Parse JSON inside a text; other values are returned unchanged. Do not modify the result: it is shared."""
    return _parse_short(text) if isinstance(text, str) and len(text) <= _SHORT else parse_embedded(text)


_parse_short: Final = lru_cache(_MOST_VALUES)(parse_embedded)


def _schemas_of(fields: dict[str, msgspec.Raw]) -> bytes:
    candidates = (bytes(fields[name]) for name in _TOOLS if name in fields)
    return next((data for data in candidates if data not in (b"null", b'""')), b"null")


@lru_cache(_MOST_TOOL_LISTS)
def _normalize_tools(schemas: bytes) -> list[JSONValue]:
    return normalize_tools(json_value(schemas) or [])


@lru_cache(_MOST_TOOL_LISTS)
def _tool_settings(schemas: bytes) -> JSONObject:
    return tool_settings(as_list(json_value(schemas)))


def _field_value(data: bytes) -> JSONValue:
    return _parse_field(data) if len(data) <= _SHORT else json_value(data)


_parse_field: Final = lru_cache(_MOST_VALUES)(json_value)


def _has_unique_keys(text: str, fields: dict[str, msgspec.Raw]) -> bool:
    """Return whether an object without a duplicate key can have this length, as clients write it: with one space after
    each colon and comma, or without.
    """
    size = len(text) if text.isascii() else len(text.encode())
    compact = 1 + sum(len(name.encode()) + len(memoryview(raw)) + 4 for name, raw in fields.items())
    return size in (compact, compact + 2 * len(fields) - 1)
