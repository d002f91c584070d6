"""Request bodies in a trace's attributes: messages that repeat are parsed and normalized once.

Every model request of an agent repeats the history. A body is therefore cut into its messages as bytes, and the bytes
of each message are looked up among those of earlier requests. Equal messages become one object, which lets the store
recognize them by identity.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import normalize_messages, normalize_tools
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value, parse_embedded

# Several agents of a trace may take turns.
_MOST_RECENT: Final = 4
# Bounds the memory of traces whose messages do not repeat.
_MOST_MESSAGES: Final = 100_000
# Longer texts rarely repeat.
_MOST_CHARACTERS: Final = 20_000
_CONVERSATIONS: Final = ("messages", "contents", "input")
_PROMPT: Final = "prompt"
_TOOLS: Final = ("tools", "functions")
_decode_object: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_list: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestBody:
    """The normalized messages and tools of a request, and its fields besides the messages."""

    messages: list[JSONObject]
    tools: list[JSONValue]
    fields: JSONObject


@dataclass(kw_only=True, slots=True)
class BodyReader:
    """Reads the request bodies of one trace."""

    _messages: dict[bytes, list[JSONObject]] = field(default_factory=dict)
    _values: dict[str | bytes, JSONValue] = field(default_factory=dict)
    _tools: dict[bytes, list[JSONValue]] = field(default_factory=dict)
    # Conversations as bytes, with their normalized messages, latest last.
    _recent: deque[tuple[list[msgspec.Raw], list[JSONObject]]] = field(
        default_factory=lambda: deque(maxlen=_MOST_RECENT)
    )

    def parse(self, text: JSONValue) -> JSONValue:
        """Parse JSON inside a text; other values are returned unchanged. Do not modify the result: it is shared."""
        if not isinstance(text, str) or len(text) > _MOST_CHARACTERS:
            return parse_embedded(text)
        value = self._values.get(text)
        if value is None:
            self._bound(self._values)
            value = self._values[text] = parse_embedded(text)
        return value

    def body(self, text: JSONValue) -> RequestBody | None:
        """Read a request body with a list of messages; None for any other value."""
        if not isinstance(text, str) or not text.startswith("{"):
            return None
        try:
            fields = _decode_object(text)
            names = [name for name in _CONVERSATIONS if name in fields]
            if len(names) != 1 or _PROMPT in fields or not _has_unique_keys(text, fields):
                return None
            conversation = fields.pop(names[0])
            if bytes(memoryview(conversation)[:1]) != b"[":
                return None
            return RequestBody(
                messages=self._normalize(_decode_list(conversation)),
                tools=self._normalize_tools(fields),
                fields={name: self._field(bytes(raw)) for name, raw in fields.items()},
            )
        except (msgspec.DecodeError, BadFile, RecursionError):
            return None

    def _normalize(self, items: list[msgspec.Raw]) -> list[JSONObject]:
        start, history = self._history(items)
        messages = [*history]
        for item in items[start:]:
            messages += self._message(bytes(item))
        self._recent.append((items, messages))
        return messages

    def _history(self, items: list[msgspec.Raw]) -> tuple[int, list[JSONObject]]:
        """Return the length and the messages of an earlier conversation that this one continues."""
        for earlier_items, messages in reversed(self._recent):
            if items[: len(earlier_items)] == earlier_items:
                return len(earlier_items), messages
        return 0, []

    def _normalize_tools(self, fields: dict[str, msgspec.Raw]) -> list[JSONValue]:
        schemas = next((bytes(fields[name]) for name in _TOOLS if name in fields), b"null")
        tools = self._tools.get(schemas)
        if tools is None:
            self._bound(self._tools)
            tools = self._tools[schemas] = normalize_tools(json_value(schemas) or [])
        return tools

    def _message(self, data: bytes) -> list[JSONObject]:
        messages = self._messages.get(data)
        if messages is None:
            self._bound(self._messages)
            messages = self._messages[data] = normalize_messages(json_value(data))
        return messages

    def _field(self, data: bytes) -> JSONValue:
        value = self._values.get(data)
        if value is None:
            self._bound(self._values)
            value = self._values[data] = json_value(data)
        return value

    @staticmethod
    def _bound(cache: dict[Any, Any]) -> None:
        if len(cache) >= _MOST_MESSAGES:
            cache.clear()


def _has_unique_keys(text: str, fields: dict[str, msgspec.Raw]) -> bool:
    """Return whether an object without a duplicate key can have this length, as clients write it: with one space after
    each colon and comma, or without.
    """
    size = len(text) if text.isascii() else len(text.encode())
    compact = 1 + sum(len(name.encode()) + len(memoryview(raw)) + 4 for name, raw in fields.items())
    return size in (compact, compact + 2 * len(fields) - 1)
