"""Rebuild a step's input: the recorded one with changed upstream outputs in place. Pure.

Places come from the provenance links. A link to a whole message, document or value puts the new one there; a link
to a text inside a longer one replaces just that text.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Final

import orjson

from replay.core.graph import Link
from replay.inputs.changes import Change, Incoming, Misses
from replay.inputs.copied_values import copied_links, with_copies
from replay.inputs.substitution import substitute
from replay.inputs.texts import as_words
from replay.inputs.value_pointers import path_tokens, replace_at, resolve_pointer
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.messages import Documents, Message, ModelAnswer

Slots = list[list[JSONValue]]

# How agents turn a tool's result into the text of a message.
_RENDERINGS: Final[tuple[Callable[[JSONValue], str], ...]] = (
    lambda value: value if isinstance(value, str) else json.dumps(value),
    lambda value: json.dumps(value, ensure_ascii=False),
    lambda value: json.dumps(value, separators=(",", ":")),
    lambda value: orjson.dumps(value).decode(),
    lambda value: json.dumps(value, indent=2),
    lambda value: json.dumps(value, indent=2, ensure_ascii=False),
    lambda value: json.dumps(value, sort_keys=True),
    str,
)


def rebuild_value(recorded: JSONValue, incoming: Incoming, missed: Misses | None = None) -> JSONValue:
    """Rebuild the input of a step other than a model step."""
    value = recorded
    for path, group in _by_place(incoming).items():
        value = replace_at(value, path, partial(_placed, group=group, missed=missed))
    return value


def rebuild_slots(
    messages: Sequence[JSONValue], prefix: Slots | None, incoming: Incoming, missed: Misses | None = None
) -> Slots:
    """Rebuild a model's messages; each slot holds the replacement of one recorded message.

    `prefix` are the slots of the call whose history this one continues, when that was rebuilt.
    """
    taken = prefix or []
    # No slot is ever changed in place, so that all calls of a conversation share those of its beginning.
    slots: Slots = [*taken, *([message] for message in messages[len(taken) :])]
    for path, group in _by_place(incoming).items():
        index, rest = message_place(path)
        if index is None or index >= len(slots):
            slots = [[_in_message(message, group, missed) for message in slot] for slot in slots]
        elif not slots[index]:
            # What stood here is gone
            continue
        elif rest:
            # What a person wrote in reply stays as it was written where no new words for it are known.
            here = None if index < len(taken) or is_reply(messages, index) else missed
            put = partial(_content, group=group, missed=here)
            slots[index] = [replace_at(message, rest, put) for message in slots[index]]
        elif index >= len(taken):  # what is taken over holds it already, with all that was said on the way to it
            slots[index] = [_message(messages[index], group[-1][1])]
    return slots


def is_reply(messages: Sequence[JSONValue], index: int) -> bool:
    """True if a user message follows an assistant message."""
    return Message(messages[index]).role == "user" and any(Message(one).role == "assistant" for one in messages[:index])


def flat(slots: Slots) -> list[JSONValue]:
    return list(chain.from_iterable(slots))


def with_recorded_calls(change: Change, message: JSONObject) -> JSONObject:
    """Keep the recorded tool calls in a placeholder message, because later tool messages answer them."""
    recorded = ModelAnswer(change.original).message
    if change.is_known or "tool_calls" not in recorded:
        return message
    return {**message, "tool_calls": recorded["tool_calls"]}


def render(recorded: JSONValue, text: str, current: JSONValue) -> str:
    """Render `current` the way `recorded` was rendered as `text`; as plain JSON if that is unknown."""
    if (found := render_like(recorded, text, current)) is not None:
        return found
    return _RENDERINGS[1](current) if not isinstance(current, str) else current


def render_like(recorded: JSONValue, text: JSONValue, current: JSONValue) -> str | None:
    """Render `current` the way `recorded` was rendered as `text`; None if that is unknown."""
    return next((style(current) for style in _RENDERINGS if style(recorded) == text), None)


def replace_outputs(value: JSONValue, changes: Iterable[Change]) -> JSONValue:
    """Replace every occurrence of changed outputs, or of their texts, in `value`; each only once."""
    found = list(changes)
    if isinstance(value, str) and not any(value == change.original for change in found):
        return _replaced_text(value, {old: new for change in reversed(found) for old, new in _pairs(change).items()})
    for change in found:
        value = _everywhere(value, change, _pairs(change))
    return value


def _by_place(incoming: Incoming) -> dict[str, list[tuple[Link, Change]]]:
    """Group links by place; a model step's history comes first, because later messages follow it."""
    places: dict[str, list[tuple[Link, Change]]] = {}
    for link, change in incoming:
        if link.kind is EdgeKind.HISTORY and not link.producer_path:
            # The producer's input is repeated, and not its answer
            continue
        places.setdefault(link.consumer_path, []).append((link, change))
    return places


def message_place(path: str) -> tuple[int | None, str]:
    """Split a path into a request into message index and path within the message."""
    tokens = path_tokens(path)
    if len(tokens) < 2 or tokens[0] != "messages" or not tokens[1].isdecimal():
        return None, ""
    return int(tokens[1]), "".join(f"/{token}" for token in path.split("/")[3:])


def _message(recorded: JSONValue, change: Change) -> JSONValue:
    """Replacement of a recorded message."""
    if change.node.type is StepType.MODEL:
        return with_recorded_calls(change, ModelAnswer(change.current).message) or recorded
    return _everywhere(recorded, change, _pairs(change))


def _in_message(message: JSONValue, group: Iterable[tuple[Link, Change]], missed: Misses | None) -> JSONValue:
    if not isinstance(message, dict) or "content" not in message:
        return message
    return {**message, "content": _content(message["content"], group, missed)}


def _content(old: JSONValue, group: Iterable[tuple[Link, Change]], missed: Misses | None = None) -> JSONValue:
    """Rebuild a message's content: a whole tool result, or texts inside it."""
    old, group = _copied(old, group, missed)
    inside: list[tuple[Link, Change]] = []
    for link, change in _once_each(group):
        if link.kind is EdgeKind.TOOL_CALL_ID and change.node.type is StepType.TOOL:
            old = tool_content(old, change)
        else:
            inside.append((link, change))
    numbered = [(link.nth, change) for link, change in inside if link.nth is not None]
    if isinstance(old, str) and numbered:
        old = _replaced_each(old, numbered)
        inside = [(link, change) for link, change in inside if link.nth is None]
    new = replace_outputs(old, [change for _, change in inside])
    for link, change in inside:
        if isinstance(old, str) and isinstance(new, str) and not _holds(old, change):
            new = _with_values(new, link, change, missed)
    return new


def _copied(
    old: JSONValue, group: Iterable[tuple[Link, Change]], missed: Misses | None
) -> tuple[JSONValue, list[tuple[Link, Change]]]:
    """Replace copied values in a recorded text; returns it with the remaining links."""
    found = list(group)
    copies = copied_links(found)
    if not copies:
        return old, found
    copied_from = {link.producer for link, _ in copies}
    new = with_copies(old, copies, missed) if isinstance(old, str) else old
    return new, [(link, change) for link, change in found if link.producer not in copied_from]


def _holds(text: str, change: Change) -> bool:
    """True if a text contains a whole text of a changed output."""
    return text == change.original or any(old in text for old in _pairs(change))


def _with_values(text: str, link: Link, change: Change, missed: Misses | None) -> str:
    """Replace the values that a link traces to a changed output."""
    if not change.is_known:
        # A placeholder has no values
        return text
    new = substitute(text, change)
    if new is None and missed is not None:
        missed.append(link)
    return text if new is None else new


def tool_content(old: JSONValue, change: Change) -> JSONValue:
    """Content of a tool message with the changed result."""
    if isinstance(old, str) or old is None:
        return render(change.original, old or "", change.current)
    if isinstance(old, list) and all(isinstance(block, dict) and block.get("type") == "text" for block in old):
        before = "".join(str(block.get("text", "")) for block in old if isinstance(block, dict))
        return [{"type": "text", "text": render(change.original, before, change.current)}]
    return change.current


def _placed(old: JSONValue, group: list[tuple[Link, Change]], missed: Misses | None) -> JSONValue:
    old, group = _copied(old, group, missed)
    for link, change in _once_each(group):
        old = _placed_one(old, link, change, missed)
    return old


def _placed_one(old: JSONValue, link: Link, change: Change, missed: Misses | None) -> JSONValue:
    asked = link.kind is EdgeKind.TOOL_CALL_ID and change.node.type is StepType.MODEL
    if asked and not change.is_known:
        return old
    try:
        before, after = (
            resolve_pointer(change.original, link.producer_path),
            resolve_pointer(change.current, link.producer_path),
        )
    except LookupError:
        return old if asked else _placed_inside(old, link, change, missed)
    # The same arguments are asked for with what is recorded of them, be it nothing
    if asked:
        return after if _same_tool(link, change) and digest(before) != digest(after) else old
    return after if before == old else _placed_inside(old, link, change, missed)


def _placed_inside(old: JSONValue, link: Link, change: Change, missed: Misses | None) -> JSONValue:
    new = _everywhere(old, change, _pairs(change))
    if link.kind is EdgeKind.LINK and missed is not None and new == old:
        missed.append(link)
    if link.kind not in (EdgeKind.TEXT, EdgeKind.VALUE) or digest(new) != digest(old):
        return new
    if not isinstance(old, str):
        return _number(old, link, change, missed)
    return _with_values(old, link, change, missed)


def _number(old: JSONValue, link: Link, change: Change, missed: Misses | None) -> JSONValue:
    """Replace a number that comes from an output, possibly from inside a text."""
    text = _with_values(str(old), link, change, missed)
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


def _once_each(group: Iterable[tuple[Link, Change]]) -> list[tuple[Link, Change]]:
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
        return _replaced_text(value, pairs)
    if isinstance(value, list):
        return [_everywhere(item, change, pairs) for item in value]
    if isinstance(value, dict):
        return _replaced_object(value, change, pairs)
    return value


def _replaced_object(value: JSONObject, change: Change, pairs: dict[str, str]) -> JSONValue:
    recorded, current = change.original, change.current
    if isinstance(recorded, dict) and isinstance(current, dict):
        documents = recorded.get("documents")
        if documents and value.get("documents") == documents:
            return {**value, "documents": current.get("documents")}
    return {key: _everywhere(item, change, pairs) for key, item in value.items()}


def _replaced_text(text: str, pairs: dict[str, str]) -> str:
    """Apply all replacements in one pass, longest first, so that none is replaced again."""
    if not pairs or not any(old in text for old in pairs):
        return text
    pattern = "|".join(as_words(old) for old in sorted(pairs, key=len, reverse=True))
    return re.sub(pattern, lambda match: pairs[match.group()], text)


def _replaced_each(text: str, changes: Iterable[tuple[int, Change]]) -> str:
    """Of a text that several steps produced, replace only the occurrences of the changed ones."""
    now: dict[str, dict[int, str]] = {}
    for nth, change in changes:
        for old, new in _pairs(change).items():
            now.setdefault(old, {})[nth] = new
    for old, each in now.items():
        parts = text.split(old)
        texts = [each.get(at, old) for at in range(len(parts) - 1)]
        text = parts[0] + "".join(new + part for new, part in zip(texts, parts[1:], strict=True))
    return text
