"""Recorded responses with the values of the running agent, plain or streamed. Pure.

A response that contains nothing renamed stays as it is, byte for byte.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import orjson

from replay.reruns.core.renaming import Renaming
from traces.core.json_types import JSONValue

# Members that contain the next piece of a text; all others are complete in each event.
_PIECES: Final = frozenset(
    {"arguments", "content", "delta", "partial_json", "reasoning", "reasoning_content", "refusal", "response", "text"}
    | {"thinking"}
)
# What tells the texts of a stream apart.
_INDEXES: Final = frozenset({"index", "output_index", "content_index", "summary_index", "item_id", "type"})
_DATA: Final = b"data:"
# Of an event; the last one is a comment.
_FIELDS: Final = (_DATA, b"event:", b"id:", b"retry:", b":")
# Types of streams: server-sent events, and a line of JSON for each event.
EVENT_STREAM: Final = "text/event-stream"
LINE_STREAM: Final = "application/x-ndjson"
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_NEWLINE: Final = ord("\n")
Container = dict[str, JSONValue] | list[JSONValue]


class _Leaf(NamedTuple):
    """A text in an event: the object that contains it, and under which key."""

    line: int
    container: Container
    key: str | int
    text: str

    def write(self, text: str) -> None:
        self.container[self.key] = text  # type: ignore[index]  # the key is of this container


def rename_body(body: bytes, renaming: Renaming) -> bytes:
    """Return a response's body with the new values."""
    if not renaming.new:
        return body
    if is_event_stream(body):
        return _rename_stream(body, renaming)
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _rename_stream(body, renaming)
    result = rename(document, renaming)
    return body if result == document else orjson.dumps(result)


def move_marks(marks: Sequence[tuple[int, int]], old: bytes, new: bytes) -> list[tuple[int, int]]:
    """Return where the pieces of a renamed stream begin: at the same lines, as renaming keeps these."""
    old_starts, new_starts = _line_starts(old), _line_starts(new)
    return [(new_starts[bisect_right(old_starts, offset) - 1], at_ms) for offset, at_ms in marks]


def _line_starts(body: bytes) -> list[int]:
    return [0, *(place + 1 for place, byte in enumerate(body) if byte == _NEWLINE)]


def is_event_stream(body: bytes) -> bool:
    """Return whether a body is a stream of server-sent events, whatever its headers call it."""
    return body.removeprefix(BYTE_ORDER_MARK).lstrip(b"\r\n").startswith(_FIELDS)


def is_stream_type(media_type: str) -> bool:
    """Return whether a response with this type comes in events."""
    return media_type.lower().startswith((EVENT_STREAM, LINE_STREAM))


def rename(value: JSONValue, renaming: Renaming) -> JSONValue:
    """Return a value of the recording with the new values."""
    if isinstance(value, str):
        return renaming.rewrite(value)
    if isinstance(value, list):
        return [rename(item, renaming) for item in value]
    return {name: rename(item, renaming) for name, item in value.items()} if isinstance(value, dict) else value


def _rename_stream(body: bytes, renaming: Renaming) -> bytes:
    """Rename in every event, also values that are spread over several. What is in no event stays as it is."""
    lines = body.split(b"\n")
    events: dict[int, JSONValue] = {
        number: event for number, line in enumerate(lines) if (event := _event(line)) is not None
    }
    changed_lines: set[int] = set()
    for leaves in _texts(events).values():
        changed_lines |= _rename_pieces(leaves, renaming)
    for number in changed_lines:
        ending = b"\r" if lines[number].endswith(b"\r") else b""
        head = _DATA + b" " if lines[number].startswith(_DATA) else b""
        lines[number] = head + orjson.dumps(events[number]) + ending
    return b"\n".join(lines)


def _event(line: bytes) -> JSONValue:
    """Return the event on a line: its data, or all of a line of JSON."""
    if not line.startswith((_DATA, b"{")):
        return None
    try:
        value: JSONValue = orjson.loads(line.removeprefix(_DATA))
    except orjson.JSONDecodeError:
        return None
    return value


def _texts(events: dict[int, JSONValue]) -> dict[tuple[str, ...], list[_Leaf]]:
    """Return the texts of a stream by their place: the pieces of one text together."""
    texts: dict[tuple[str, ...], list[_Leaf]] = defaultdict(list)
    for number, event in events.items():
        for place, leaf in _leaves(event, (), number):
            name = place[-1] if place else ""
            texts[place if name in _PIECES else (*place, str(number))].append(leaf)
    return texts


def _leaves(value: JSONValue, place: tuple[str, ...], line: int) -> Iterator[tuple[tuple[str, ...], _Leaf]]:
    if isinstance(value, dict):
        own_place = (*place, *(f"{name}={value[name]}" for name in sorted(_INDEXES & value.keys())))
        items: list[tuple[str | int, JSONValue]] = [*value.items()]
    elif isinstance(value, list):
        own_place, items = place, [*enumerate(value)]
    else:
        return
    for key, item in items:
        if isinstance(item, str):
            yield (*own_place, str(key)), _Leaf(line, value, key, item)
        else:
            yield from _leaves(item, (*own_place, str(key)), line)


def _rename_pieces(leaves: list[_Leaf], renaming: Renaming) -> set[int]:
    """Rename in a text that comes in pieces: a new value stands where the old one began. Return the lines changed."""
    text = "".join(leaf.text for leaf in leaves)
    replacements = [*renaming.replacements(text)]
    if not replacements:
        return set()
    changed_lines: set[int] = set()
    start = 0
    for leaf in leaves:
        end = start + len(leaf.text)
        piece = _piece(text, start, end, replacements)
        if piece != leaf.text:
            leaf.write(piece)
            changed_lines.add(leaf.line)
        start = end
    return changed_lines


def _piece(text: str, start: int, end: int, replacements: list[tuple[int, int, str]]) -> str:
    """Return the part of a text between two places, after the replacements."""
    parts: list[str] = []
    at = start
    for first, last, new in replacements:
        if last <= start or first >= end:
            continue
        parts.append(text[at : max(first, at)])
        if first >= start:
            parts.append(new)
        at = min(last, end)
    return "".join([*parts, text[at:end]])
