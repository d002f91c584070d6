"""Copies of a request's messages in attributes `llm.input_messages.…`, beside the request itself in `input.value`.

OpenInference writes the whole history twice into every span. A copy is left out if a message of the request states all
that it does. Otherwise its attributes are retained.
"""

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from traces.core.json_access import as_list, as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import message_text, normalize_messages
from traces.importers.files.json_reader import parse_shared
from traces.importers.otlp import protobuf
from traces.importers.otlp.dialects.attribute_names import insert, to_lists

# Several agents of a trace may take turns.
_MOST_RECENT: Final = 4
_MOST_NAMES: Final = 4_096
PREFIX: Final = "llm.input_messages"
_PLAIN_NAME: Final = re.compile(
    r"llm\.(?:in|out)put_messages\.(?P<index>[0-9]{1,6})\.message\."
    r"(?:(?P<field>role|content|tool_call_id)|"
    r"tool_calls\.(?P<call>[0-9]{1,4})\.tool_call\.(?:function\.)?(?P<call_field>id|name|arguments))"
)


class _Place(NamedTuple):
    """A field of the message at a position, or of one of its tool calls."""

    position: int
    field: str
    call: int | None = None


@dataclass(kw_only=True, slots=True)
class CopyReader:
    """Compares the copies of a trace's requests. Those of a history compared before are recognized by their bytes."""

    # Encoded copies with the messages that state all that they do, latest last.
    _recent: deque[tuple[list[bytes], list[JSONObject]]] = field(default_factory=lambda: deque(maxlen=_MOST_RECENT))

    def differing(self, copies: list[bytes], messages: list[JSONObject]) -> JSONObject:
        """Return the encoded attributes that state more than the messages of the request, decoded."""
        start, count = self._history(copies, messages)
        differences = differing_copies(dict(map(protobuf.attribute, copies[start:])), messages, count)
        if not differences:
            self._recent.append((copies, messages))
        return differences

    def _history(self, copies: list[bytes], messages: list[JSONObject]) -> tuple[int, int]:
        """Return how many copies, of how many messages, were compared for an earlier request."""
        for earlier_copies, earlier_messages in reversed(self._recent):
            start, count = len(earlier_copies), len(earlier_messages)
            if copies[:start] == earlier_copies and messages[:count] == earlier_messages:
                return start, count
        return 0, 0


def differing_copies(values: JSONObject, messages: Sequence[JSONObject], start: int = 0) -> JSONObject:
    """Return the attributes that state more than the messages from `start` on."""
    if are_plain_copies(values, messages):
        return {}
    tree: JSONObject = {}
    for name, value in values.items():
        insert(tree, name.removeprefix(f"{PREFIX}."), value)
    differing_indices = {
        index
        for index, copy in tree.items()
        if not all(_is_contained(message, index, messages, start) for message in _messages_of(copy))
    }
    return {
        name: value
        for name, value in values.items()
        if name.removeprefix(f"{PREFIX}.").partition(".")[0] in differing_indices
    }


def are_plain_copies(values: JSONObject, messages: Sequence[JSONObject]) -> bool:
    """Quick check that each attribute `llm.….0.message.…` is a field of the message with its index.

    False only means to look closer.
    """
    for name, value in values.items():
        place = _place_of(name)
        if place is None or place.position >= len(messages):
            return False
        message = messages[place.position]
        if place.call is None:
            if message.get(place.field) != value:
                return False
            continue
        calls = as_list(message.get("tool_calls"))
        call = as_object(calls[place.call]) if place.call < len(calls) else {}
        if call.get(place.field) != (parse_shared(value) if place.field == "arguments" else value):
            return False
    return True


# The names of short histories, which most requests have.
@lru_cache(_MOST_NAMES)
def _place_of(name: str) -> _Place | None:
    """Return the place that the name of an attribute states; None if it names none."""
    match = _PLAIN_NAME.fullmatch(name)
    if match is None:
        return None
    index = int(match["index"])
    return _Place(index, match["field"]) if match["field"] else _Place(index, match["call_field"], int(match["call"]))


def flat_message(message: JSONObject) -> JSONObject:
    """Return a message from its flattened form, as a client would write it."""
    contents: list[JSONValue] = [
        _block(as_object(as_object(item).get("message_content"))) for item in as_list(message.get("contents"))
    ]
    calls = [as_object(item).get("tool_call") for item in as_list(message.get("tool_calls"))]
    return {**message, **({"content": contents} if contents else {}), "tool_calls": calls}


def _messages_of(copy: JSONValue) -> list[JSONObject]:
    message = as_object(as_object(to_lists(copy)).get("message"))
    return normalize_messages([flat_message(message)])


def _is_contained(copy: JSONObject, index: str, messages: Sequence[JSONObject], start: int) -> bool:
    """Return whether a message states all that its copy does; most copies are at the same index."""
    position = int(index) if index.isdecimal() and len(index) < 9 else len(messages)
    if position < len(messages) and states(messages[position], copy):
        return True
    return any(states(message, copy) for message in messages[start:])


def states(message: JSONObject, copy: JSONObject) -> bool:
    """Return whether a message states all that its copy does."""
    content, calls = copy.get("content"), as_list(message.get("tool_calls"))
    has_content = content in (None, "", message.get("content")) or message_text(copy) == message_text(message)
    return (
        has_content
        and copy.get("role") == message.get("role")
        and copy.get("tool_call_id") in (None, "", message.get("tool_call_id"))
        and copy.get("name") in (None, "", message.get("name"))
        and all(call in calls for call in as_list(copy.get("tool_calls")))
    )


def _block(block: JSONObject) -> JSONObject:
    url = as_object(as_object(block.get("image")).get("image")).get("url")
    return {"type": "image_url", "image_url": {"url": url}} if url else block
