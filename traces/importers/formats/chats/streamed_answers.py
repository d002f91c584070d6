"""Answers of models that were recorded as the events of a stream: Anthropic's, Bedrock's, and pieces of text."""

from typing import Final

from traces.core.json_access import as_object, as_objects, as_string, as_text, first_member, is_integer
from traces.core.json_types import JSONObject, JSONValue

# The text in a piece of an answer, by the family of the model.
TEXT_NAMES: Final = ("completion", "generation", "outputText", "text")
_DELTAS: Final = ("text", "thinking", "partial_json")


def join_stream(events: list[JSONValue]) -> JSONObject:
    """Return the answer that these events form, as a message with a stop reason."""
    blocks: dict[int, JSONObject] = {}
    message: JSONObject = {"role": "assistant"}
    reason = ""
    for event in as_objects(events):
        message |= as_object(event.get("message"))
        _add_block(blocks, event)
        end = as_object(first_member(event, "messageStop") or event.get("delta"))
        reason = as_text(first_member({**event, **end}, "stop_reason", "stopReason", "completionReason")) or reason
    content = [_finish(block) for _, block in sorted(blocks.items())]
    text = "".join(as_string(first_member(event, *TEXT_NAMES)) for event in as_objects(events))
    return {**message, "content": [*content] or text, "stop_reason": reason}


def _add_block(blocks: dict[int, JSONObject], event: JSONObject) -> None:
    """Add an event about a block of content to the blocks by their numbers."""
    fields = as_object(first_member(event, "contentBlockStart", "contentBlockDelta")) or event
    index = first_member(fields, "index", "contentBlockIndex")
    number = index if is_integer(index) else 0
    start = as_object(first_member(fields, "content_block") or fields.get("start"))
    if start:
        blocks[number] = {**as_object(first_member(start, "toolUse") or start)}
        if "toolUse" in start:
            blocks[number] |= {"type": "tool_use", "id": blocks[number].get("toolUseId")}
    is_delta = event.get("type") == "content_block_delta" or "contentBlockDelta" in event
    delta = as_object(fields.get("delta")) if is_delta else {}
    if "toolUse" in delta:
        delta = {"partial_json": as_object(delta["toolUse"]).get("input")}
    for name in _DELTAS:
        if isinstance(piece := delta.get(name), str):
            block = blocks.setdefault(number, {"type": "text"})
            block[name] = as_string(block.get(name)) + piece


def _finish(block: JSONObject) -> JSONObject:
    """Return a block whose arguments arrived in pieces with these as its input."""
    arguments = block.pop("partial_json", None)
    return {**block, "input": arguments} if arguments else block
