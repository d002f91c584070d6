"""Request bodies in a trace's attributes: messages that repeat are parsed and normalized once.

Every model request of an agent repeats the history, and most requests of a program differ only in their messages. Of a
body with the frame of an earlier one, only the messages after the history are parsed. Any other body is cut into its
messages as bytes, and the bytes of each message are looked up among those of earlier requests. Equal messages become
one object, which lets the store recognize them by identity.
"""

from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import msgspec

from traces.core.json_access import as_list
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import normalize_messages
from traces.importers.common.model_calls import system_messages
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value
from traces.importers.formats.chats.openai_items import has_items, normalize_items
from traces.importers.otlp.dialects.tool_calls import tool_settings
from traces.importers.otlp.request_settings import Settings, split_settings

# Several agents of a trace may take turns.
_MOST_RECENT: Final = 4
# Bounds the memory of traces whose messages do not repeat.
_MOST_MESSAGES: Final = 100_000
# Short values repeat in all traces of a program: settings, and texts of a few words.
_SHORT: Final = 1_000
_MOST_VALUES: Final = 2_000
# Lists of tools are longer, and fewer.
_MOST_TOOL_LISTS: Final = 100
# Frames of a process, and the characters of one.
_MOST_FRAMES: Final = 8
_LONGEST_FRAME: Final = 64 * 1024
_ITEMS: Final = "input"
_CONVERSATIONS: Final = ("messages", "contents", _ITEMS)
_PROMPT: Final = "prompt"
# Gemini's client for Python has the instructions, the tools and the parameters of a request there.
_CONFIG: Final = "config"
_TOOLS: Final = ("tools", "functions")
_decode_object: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_list: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode


class RequestBody(msgspec.Struct, frozen=True, kw_only=True):
    """The normalized messages and tools of a request, and its fields besides the messages with what they state."""

    messages: list[JSONObject]
    tools: list[JSONValue]
    fields: JSONObject
    settings: Settings
    # Messages that the fields contain.
    instructions: list[JSONObject]
    # Settings of the tools that their schemas do not contain.
    tool_settings: JSONObject

    def with_messages(self, messages: list[JSONObject]) -> "RequestBody":
        """Return the body of a request that differs only in its messages."""
        return RequestBody(
            messages=messages,
            tools=self.tools,
            fields=self.fields,
            settings=self.settings,
            instructions=self.instructions,
            tool_settings=self.tool_settings,
        )


def request_body(
    messages: list[JSONObject], fields: JSONObject, *, tools: list[JSONValue], tool_settings: JSONObject
) -> RequestBody:
    """Build a body from its normalized messages and tools, and from its fields."""
    return RequestBody(
        messages=messages,
        tools=tools,
        fields=fields,
        settings=split_settings(fields),
        instructions=system_messages(fields),
        tool_settings=tool_settings,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Frame:
    """A body without its messages, as text: up to the bracket before them, and from the bracket after them."""

    head: str
    tail: str
    name: str
    body: RequestBody

    def fits(self, text: str) -> bool:
        is_long_enough = len(self.head) + len(self.tail) <= len(text)
        return is_long_enough and text.startswith(self.head) and text.endswith(self.tail)


# Latest first; replaced as a whole, because several threads read traces.
_frames: tuple[_Frame, ...] = ()


@dataclass(kw_only=True, slots=True)
class BodyReader:
    """Reads the request bodies of one trace."""

    _messages: dict[bytes, list[JSONObject]] = field(default_factory=dict)
    # Conversations as bytes without the closing bracket, with their normalized messages, latest last.
    _recent: deque[tuple[bytes, list[JSONObject]]] = field(default_factory=lambda: deque(maxlen=_MOST_RECENT))
    # Texts up to their last message, with their normalized messages, latest last.
    _histories: deque[tuple[str, list[JSONObject]]] = field(default_factory=lambda: deque(maxlen=_MOST_RECENT))
    # Of the last body that had no known frame.
    _last_fields: dict[str, bytes] = field(default_factory=dict)

    def body(self, text: JSONValue) -> RequestBody | None:
        """Read a request body with a list of messages; None for any other value."""
        if not isinstance(text, str) or not text.startswith("{"):
            return None
        try:
            for frame in _frames:
                if frame.fits(text) and (messages := self._framed_messages(text, frame)) is not None:
                    return frame.body.with_messages(messages)
            return self._whole_body(text)
        except (msgspec.DecodeError, BadFile, RecursionError):
            return None

    def _framed_messages(self, text: str, frame: _Frame) -> list[JSONObject] | None:
        """Return the messages between the ends of a frame; None if there is no list of them.

        Texts that begin with the same characters, up to the comma after a message, begin with the same messages.
        """
        start, end = len(frame.head), len(text) - len(frame.tail)
        history: list[JSONObject] = []
        for beginning, messages in reversed(self._histories):
            if len(beginning) <= end and text.startswith(beginning):
                start, history = len(beginning), messages
                break
        try:
            # After a history, a comma must follow.
            items = _decode_list(f"[null{text[start:end]}]")[1:] if history else _decode_list(f"[{text[start:end]}]")
        except (msgspec.DecodeError, UnicodeEncodeError):
            return None
        result = self._extend(history, items, frame.name)
        if result:
            self._histories.append((text[:end].rstrip(), result))
        return result

    def _whole_body(self, text: str) -> RequestBody | None:
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
        if _CONFIG in fields and bytes(fields[_CONFIG]).startswith(b"{"):
            fields |= _decode_object(fields.pop(_CONFIG))
        schemas = _schemas_of(fields)
        field_bytes = {name: bytes(raw) for name, raw in fields.items()}
        body = request_body(
            messages,
            {name: _field_value(data) for name, data in field_bytes.items()},
            tools=_normalize_tools(schemas),
            tool_settings=_tool_settings(schemas),
        )
        if field_bytes == self._last_fields:
            _add_frame(text, conversation.decode(), names[0], body)
        self._last_fields = field_bytes
        return body

    def _normalize(self, conversation: bytes, name: str) -> list[JSONObject] | None:
        """Return the normalized messages; None if the tracer printed some as text."""
        if name == _ITEMS:
            values = [_field_value(bytes(item)) for item in _decode_list(conversation)]
            if has_items(values):
                return normalize_items(values)
        rest, history = self._history(conversation)
        messages = self._extend(history, _decode_list(rest), name)
        if messages is not None:
            self._recent.append((conversation[:-1].rstrip(), messages))
        return messages

    def _extend(self, history: list[JSONObject], items: list[msgspec.Raw], name: str) -> list[JSONObject] | None:
        """Return the messages of a history and of the items after it; None if the tracer printed some as text."""
        messages = [*history]
        for data in map(bytes, items):
            if name == "messages" and data.startswith(b'"'):
                return None
            messages += self._message(data)
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


def _add_frame(text: str, conversation: str, name: str, body: RequestBody) -> None:
    """Remember the frame of a body, if its conversation can be found in it."""
    global _frames  # noqa: PLW0603 - as a cache
    start = text.find(conversation)
    head, tail = text[: start + 1], text[start + len(conversation) - 1 :]
    if name == _ITEMS or len(head) + len(tail) > _LONGEST_FRAME:
        return
    try:
        probe = _decode_object(f"{head}0{tail}")
    except msgspec.DecodeError:
        return
    # The same text may be an earlier field, too.
    if bytes(probe.get(name, b"")) == b"[0]":
        frame = _Frame(head=head, tail=tail, name=name, body=body.with_messages([]))
        _frames = (frame, *_frames[: _MOST_FRAMES - 1])


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
