"""Answers of models that were recorded as the events of a stream: Anthropic's, Bedrock's, and pieces of text."""

from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_object, as_objects, as_string, as_text, first_member, is_integer
from traces.core.json_types import JSONObject, JSONValue

# The text in a piece of an answer, by the family of the model.
TEXT_NAMES: Final = ("completion", "generation", "outputText", "text")
_DELTAS: Final = ("text", "thinking", "signature", "partial_json")


@dataclass(kw_only=True)
class _Block:
    """A block of content, and the pieces of its texts by their names."""

    fields: JSONObject
    pieces: dict[str, list[str]] = field(default_factory=dict)
    citations: list[JSONValue] = field(default_factory=list)


def join_stream(events: list[JSONValue]) -> JSONObject:
    """Return the answer that these events form, as a message with a stop reason."""
    blocks: dict[int, _Block] = {}
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


def _add_block(blocks: dict[int, _Block], event: JSONObject) -> None:
    """Add an event about a block of content to the blocks by their numbers."""
    fields = as_object(first_member(event, "contentBlockStart", "contentBlockDelta")) or event
    index = first_member(fields, "index", "contentBlockIndex")
    number = index if is_integer(index) else 0
    start = as_object(first_member(fields, "content_block") or fields.get("start"))
    if start:
        call = as_object(start.get("toolUse"))
        blocks[number] = _Block(fields={**call, "type": "tool_use", "id": call.get("toolUseId")} if call else {**start})
    is_delta = event.get("type") == "content_block_delta" or "contentBlockDelta" in event
    delta = as_object(fields.get("delta")) if is_delta else {}
    if "toolUse" in delta:
        delta = {"partial_json": as_object(delta["toolUse"]).get("input")}
    if citation := as_object(delta.get("citation")):
        citations = blocks.setdefault(number, _Block(fields={"type": "text"})).citations
        citations.append(citation)
    for name in _DELTAS:
        if isinstance(piece := delta.get(name), str):
            blocks.setdefault(number, _Block(fields={"type": "text"})).pieces.setdefault(name, []).append(piece)


def _finish(block: _Block) -> JSONObject:
    """Return a block with its pieces joined; those of arguments are its input."""
    texts = {name: as_string(block.fields.get(name)) + "".join(pieces) for name, pieces in block.pieces.items()}
    arguments = texts.pop("partial_json", "")
    citations: JSONObject = {"citations": block.citations} if block.citations else {}
    return {**block.fields, **texts, **citations, **({"input": arguments} if arguments else {})}
