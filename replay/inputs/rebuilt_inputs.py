"""Rebuild a step's input: the recorded one with changed upstream outputs in place. Pure.

Places come from the provenance links. A link to a whole message, document or value puts the new one there; a link
to a text inside a longer one replaces just that text.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import Final

import orjson

from replay.core.graph import Link
from replay.inputs.changes import Change, Incoming, Misses
from replay.inputs.copied_values import copied_links, with_copies
from replay.inputs.substitution import substitute
from replay.inputs.texts import as_words
from replay.inputs.value_pointers import replace_at, resolve_pointer
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import pointer_tokens
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.messages import Documents, Message, ModelAnswer

Slots = list[list[JSONValue]]
# Writes a result as text.
Rendering = Callable[[JSONValue], str]

# Renderings of a tool's result as the text of a message.
_RENDERINGS: Final[tuple[Rendering, ...]] = (
    lambda value: value if isinstance(value, str) else json.dumps(value),
    json.JSONEncoder(ensure_ascii=False).encode,
    json.JSONEncoder(separators=(",", ":")).encode,
    lambda value: orjson.dumps(value).decode(),
    json.JSONEncoder(indent=2).encode,
    json.JSONEncoder(indent=2, ensure_ascii=False).encode,
    json.JSONEncoder(sort_keys=True).encode,
    str,
)


def rebuild_value(recorded_input: JSONValue, incoming: Incoming, misses: Misses | None = None) -> JSONValue:
    """Rebuild the input of a step other than a model step."""
    value = recorded_input
    for path, group in _by_place(incoming).items():
        value = replace_at(value, path, partial(_place_changes, group=group, misses=misses))
    return value


def is_unaltered(incoming: Incoming) -> bool:
    """True if no change alters the input of a step other than a model step, which keeps its recorded call."""
    return all(_keeps_call(link, change) and not link.copies for link, change in incoming)


def rebuild_slots(
    messages: Sequence[JSONValue], prefix: Slots | None, incoming: Incoming, misses: Misses | None = None
) -> Slots:
    """Rebuild a model's messages; each slot holds the replacement of one recorded message.

    `prefix` are the slots of the call whose history this one continues, when that was rebuilt.
    """
    prefix_slots = prefix or []
    # Slots are never changed in place, so that all calls of a conversation share those of its beginning.
    slots: Slots = [*prefix_slots, *([message] for message in messages[len(prefix_slots) :])]
    for path, group in _by_place(incoming).items():
        index, rest = message_place(path)
        if index is None or index >= len(slots):
            slots = [[_in_message(message, group, misses) for message in slot] for slot in slots]
        elif not slots[index]:
            # The recorded message no longer exists.
            continue
        elif rest:
            # The request whose history this one continues misses its own.
            new_misses = None if index < len(prefix_slots) else misses
            place = _content if rest.startswith("/content") else _place_changes
            replace_text = partial(place, group=group, misses=new_misses)
            slots[index] = [replace_at(message, rest, replace_text) for message in slots[index]]
        elif index >= len(prefix_slots):
            # The prefix already contains the new message, and those that led to it.
            slots[index] = [_message(messages[index], group[-1][1])]
    return slots


def is_reply(messages: Sequence[JSONValue], index: int) -> bool:
    """True if a user message follows an assistant message."""
    return Message(messages[index]).role == "user" and any(
        Message(message).role == "assistant" for message in messages[:index]
    )


def flat(slots: Slots) -> list[JSONValue]:
    return list(chain.from_iterable(slots))


def with_recorded_calls(change: Change, message: JSONObject) -> JSONObject:
    """Keep the recorded tool calls in a placeholder message, because later tool messages answer them."""
    recorded_message = ModelAnswer(change.original).message
    if change.is_known or "tool_calls" not in recorded_message:
        return message
    return {**message, "tool_calls": recorded_message["tool_calls"]}


def render(recorded_value: JSONValue, text: str, current: JSONValue) -> str:
    """Render `current` the way `recorded` was rendered as `text`; as plain JSON if that is unknown."""
    return rendering_of(recorded_value, text)(current)


def rendering_of(recorded_value: JSONValue, text: str) -> Rendering:
    """How `recorded` was rendered as `text`; plain JSON if that is unknown."""
    return _find_rendering(recorded_value, text) or _render_plainly


def render_like(recorded_value: JSONValue, text: JSONValue, current: JSONValue) -> str | None:
    """Render `current` the way `recorded` was rendered as `text`; None if that is unknown."""
    rendering = _find_rendering(recorded_value, text)
    return None if rendering is None else rendering(current)


def _find_rendering(recorded_value: JSONValue, text: JSONValue) -> Rendering | None:
    # A text that is not JSON of the recorded value needs no comparison with each JSON style.
    is_json = isinstance(recorded_value, str) or _is_json_of(recorded_value, text)
    styles = _RENDERINGS if is_json else _RENDERINGS[-1:]
    return next((style for style in styles if style(recorded_value) == text), None)


def _render_plainly(value: JSONValue) -> str:
    return value if isinstance(value, str) else _RENDERINGS[1](value)


def _is_json_of(value: JSONValue, text: JSONValue) -> bool:
    try:
        return isinstance(text, str) and bool(json.loads(text) == value)
    except ValueError:
        return False


def replace_outputs(value: JSONValue, changes: Iterable[Change]) -> JSONValue:
    """Replace every occurrence of changed outputs, or of their texts, in `value`; each only once."""
    change_list = list(changes)
    if isinstance(value, str) and not any(value == change.original for change in change_list):
        return _replace_text(
            value, {old: new for change in reversed(change_list) for old, new in _pairs(change).items()}
        )
    for change in change_list:
        value = _everywhere(value, change, _pairs(change))
    return value


def _by_place(incoming: Incoming) -> dict[str, list[tuple[Link, Change]]]:
    """Group links by place; a model step's history comes first, because later messages follow it."""
    places: dict[str, list[tuple[Link, Change]]] = {}
    for link, change in incoming:
        if link.repeats_request:
            # The consumer repeats the producer's input, not its answer.
            continue
        places.setdefault(link.consumer_path, []).append((link, change))
    return places


@lru_cache
def message_place(path: str) -> tuple[int | None, str]:
    """Split a path into a request into message index and path within the message."""
    tokens = pointer_tokens(path)
    if len(tokens) < 2 or tokens[0] != "messages" or not tokens[1].isdecimal():
        return None, ""
    return int(tokens[1]), "".join(f"/{token}" for token in path.split("/")[3:])


def _message(recorded_message: JSONValue, change: Change) -> JSONValue:
    """Replacement of a recorded message."""
    if change.node.type is StepType.MODEL:
        return with_recorded_calls(change, ModelAnswer(change.current).message) or recorded_message
    return _everywhere(recorded_message, change, _pairs(change))


def _in_message(message: JSONValue, group: Iterable[tuple[Link, Change]], misses: Misses | None) -> JSONValue:
    if not isinstance(message, dict) or "content" not in message:
        return message
    return {**message, "content": _content(message["content"], group, misses)}


def _content(old: JSONValue, group: Iterable[tuple[Link, Change]], misses: Misses | None = None) -> JSONValue:
    """Rebuild a message's content: a whole tool result, or texts inside it."""
    old, group = _apply_copies(old, group, misses)
    text_changes: list[tuple[Link, Change]] = []
    for link, change in _one_per_producer(group):
        if link.kind is EdgeKind.TOOL_CALL_ID and change.node.type is StepType.TOOL:
            old = tool_content(old, change)
        else:
            text_changes.append((link, change))
    ordinals = [(link.nth, change) for link, change in text_changes if link.nth is not None]
    if isinstance(old, str) and ordinals:
        old = _replace_ordinals(old, ordinals)
        text_changes = [(link, change) for link, change in text_changes if link.nth is None]
    new = replace_outputs(old, [change for _, change in text_changes])
    for link, change in text_changes:
        if isinstance(old, str) and isinstance(new, str) and not _contains(old, change):
            new = _with_values(new, link, change, misses)
    return new


def _apply_copies(
    old: JSONValue, group: Iterable[tuple[Link, Change]], misses: Misses | None
) -> tuple[JSONValue, list[tuple[Link, Change]]]:
    """Replace copied values in a recorded text; returns it with the remaining links."""
    pairs = list(group)
    copies = copied_links(pairs)
    if not copies:
        return old, pairs
    copied_from = {link.producer for link, _ in copies}
    new = with_copies(old, copies, misses) if isinstance(old, str) else old
    return new, [(link, change) for link, change in pairs if link.producer not in copied_from]


def _contains(text: str, change: Change) -> bool:
    """True if a text contains a whole text of a changed output."""
    return text == change.original or any(old in text for old in _pairs(change))


def _with_values(text: str, link: Link, change: Change, misses: Misses | None) -> str:
    """Replace the values that a link traces to a changed output."""
    if not change.is_known:
        # A placeholder has no values.
        return text
    new = substitute(text, change)
    if new is None and misses is not None:
        misses.append(link)
    return text if new is None else new


def tool_content(old: JSONValue, change: Change) -> JSONValue:
    """Content of a tool message with the changed result."""
    if isinstance(old, str) or old is None:
        return render(change.original, old or "", change.current)
    if isinstance(old, list) and all(isinstance(block, dict) and block.get("type") == "text" for block in old):
        before = "".join(str(block.get("text", "")) for block in old if isinstance(block, dict))
        return [{"type": "text", "text": render(change.original, before, change.current)}]
    return change.current


def _place_changes(old: JSONValue, group: list[tuple[Link, Change]], misses: Misses | None) -> JSONValue:
    old, group = _apply_copies(old, group, misses)
    for link, change in _one_per_producer(group):
        old = _place_change(old, link, change, misses)
    return old


def _place_change(old: JSONValue, link: Link, change: Change, misses: Misses | None) -> JSONValue:
    is_call_request = _is_call_request(link, change)
    if _keeps_call(link, change):
        return old
    try:
        before, after = (
            resolve_pointer(change.original, link.producer_path),
            resolve_pointer(change.current, link.producer_path),
        )
    except LookupError:
        return old if is_call_request else _place_inside(old, link, change, misses)
    # Unchanged arguments stay as recorded, even if none were recorded.
    if is_call_request:
        return after if _same_tool(link, change) and digest(before) != digest(after) else old
    return after if before == old else _place_inside(old, link, change, misses)


def _is_call_request(link: Link, change: Change) -> bool:
    return link.kind is EdgeKind.TOOL_CALL_ID and change.node.type is StepType.MODEL


def _keeps_call(link: Link, change: Change) -> bool:
    """True for the call of an unknown answer, which is assumed to be the recorded one."""
    return _is_call_request(link, change) and not change.is_known


def _place_inside(old: JSONValue, link: Link, change: Change, misses: Misses | None) -> JSONValue:
    new = _everywhere(old, change, _pairs(change))
    if link.kind is EdgeKind.LINK and misses is not None and new == old:
        misses.append(link)
    if link.kind not in (EdgeKind.TEXT, EdgeKind.VALUE) or digest(new) != digest(old):
        return new
    if not isinstance(old, str):
        return _replace_number(old, link, change, misses)
    return _with_values(old, link, change, misses)


def _replace_number(old: JSONValue, link: Link, change: Change, misses: Misses | None) -> JSONValue:
    """Replace a number that comes from an output, possibly from inside a text."""
    text = _with_values(str(old), link, change, misses)
    try:
        return type(old)(text) if isinstance(old, int | float) else old
    except ValueError:
        return text


def _same_tool(link: Link, change: Change) -> bool:
    """True if the new answer calls the same tool in the place of the recorded call."""
    path = f"{link.producer_path.removesuffix('/arguments')}/name"
    try:
        return resolve_pointer(change.original, path) == resolve_pointer(change.current, path)
    except LookupError:
        return False


def _one_per_producer(group: Iterable[tuple[Link, Change]]) -> list[tuple[Link, Change]]:
    """One link per producer: each change is applied as a whole."""
    return list({link.producer: (link, change) for link, change in group}.values())


def _pairs(change: Change) -> dict[str, str]:
    """Recorded texts of a changed output and their replacements."""
    before, after = change.original, change.current
    if change.node.type is StepType.RETRIEVAL:
        pairs = _document_pairs(Documents(before).texts, Documents(after).texts)
    elif change.node.type is StepType.MODEL:
        pairs = [(ModelAnswer(before).text, ModelAnswer(after).text)]
    elif isinstance(before, dict) and isinstance(after, dict):
        pairs = [(str(before[key]), str(after.get(key, ""))) for key in before if isinstance(before[key], str)]
    else:
        pairs = []
    pairs += [(style(before), style(after)) for style in _RENDERINGS[:6] if change.node.type is not StepType.MODEL]
    return {old: new for old, new in reversed(pairs) if old.strip() and old != new}


def _document_pairs(before: list[str], after: list[str]) -> list[tuple[str, str]]:
    """Pair documents by rank; surplus recorded ones are removed, surplus new ones appended."""
    pairs = [(old, after[at] if at < len(after) else "") for at, old in enumerate(before)]
    if before and len(after) > len(before):
        pairs[-1] = (before[-1], "\n".join(after[len(before) - 1 :]))
    return pairs


def _everywhere(value: JSONValue, change: Change, pairs: dict[str, str]) -> JSONValue:
    if value == change.original and value not in (None, "", [], {}):
        return change.current
    if change.node.type is StepType.MODEL and value and value == ModelAnswer(change.original).message:
        return ModelAnswer(change.current).message
    if isinstance(value, str):
        return _replace_text(value, pairs)
    if isinstance(value, list):
        return [_everywhere(item, change, pairs) for item in value]
    if isinstance(value, dict):
        return _replace_in_object(value, change, pairs)
    return value


def _replace_in_object(value: JSONObject, change: Change, pairs: dict[str, str]) -> JSONValue:
    original, current = change.original, change.current
    if isinstance(original, dict) and isinstance(current, dict):
        documents = original.get("documents")
        if documents and value.get("documents") == documents:
            return {**value, "documents": current.get("documents")}
    return {key: _everywhere(item, change, pairs) for key, item in value.items()}


def _replace_text(text: str, pairs: dict[str, str]) -> str:
    """Apply all replacements in one pass, longest first, so that none is replaced again."""
    if not pairs or not any(old in text for old in pairs):
        return text
    pattern = "|".join(as_words(old) for old in sorted(pairs, key=len, reverse=True))
    return re.sub(pattern, lambda match: pairs[match.group()], text)


def _replace_ordinals(text: str, changes: Iterable[tuple[int, Change]]) -> str:
    """Of a text that several steps produced, replace only the occurrences of the changed ones."""
    now: dict[str, dict[int, str]] = {}
    for nth, change in changes:
        for old, new in _pairs(change).items():
            now.setdefault(old, {})[nth] = new
    for old, text_by_index in now.items():
        parts = text.split(old)
        texts = [text_by_index.get(at, old) for at in range(len(parts) - 1)]
        text = parts[0] + "".join(new + part for new, part in zip(texts, parts[1:], strict=True))
    return text
