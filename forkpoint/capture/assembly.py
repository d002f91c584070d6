"""Put the events of a stream together to the answer that the API gives without streaming."""

import json
from typing import Any

from forkpoint.encoding import as_json_value


def assemble_chat(chunks: list[Any]) -> dict[str, Any]:
    """Return a chat completion from its chunks."""
    completion: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in map(as_json_value, chunks):
        completion |= {key: value for key, value in chunk.items() if key != "choices" and value is not None}
        for piece in chunk.get("choices") or ():
            choice = choices.setdefault(piece.get("index") or 0, {"index": piece.get("index") or 0, "message": {}})
            _merge(choice["message"], piece.get("delta") or {})
            choice |= {
                key: value for key, value in piece.items() if key not in {"delta", "index"} and value is not None
            }
    return {**completion, "object": "chat.completion", "choices": [choices[index] for index in sorted(choices)]}


def assemble_response(events: list[Any]) -> Any:
    """Return a response from the last event that contains it; finished items take precedence over an empty list."""
    response: Any = None
    items: list[Any] = []
    for event in map(as_json_value, events):
        response = event.get("response") or response
        if event.get("type") == "response.output_item.done":
            items.append(event.get("item"))
    return {**response, "output": response.get("output") or items} if response else {"output": items}


def assemble_message(events: list[Any]) -> dict[str, Any]:
    """Return an Anthropic message from its events."""
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    arguments: dict[int, str] = {}
    for event in map(as_json_value, events):
        match event.get("type"):
            case "message_start":
                message = dict(event["message"])
            case "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                _add_delta(blocks.setdefault(event["index"], {}), arguments, event["index"], event["delta"])
            case "message_delta":
                message |= event["delta"]
                message["usage"] = {**message.get("usage", {}), **(event.get("usage") or {})}
    for index, text in arguments.items():
        blocks[index]["input"] = _parse(text)
    return {**message, "content": [blocks[index] for index in sorted(blocks)]}


def _add_delta(block: dict[str, Any], arguments: dict[int, str], index: int, delta: dict[str, Any]) -> None:
    if delta.get("type") == "input_json_delta":
        arguments[index] = arguments.get(index, "") + delta.get("partial_json", "")
    elif delta.get("type") == "citations_delta":
        block["citations"] = [*(block.get("citations") or []), delta.get("citation")]
    else:
        _merge(block, {key: value for key, value in delta.items() if key != "type"})


def assemble_content(chunks: list[Any]) -> dict[str, Any]:
    """Return a Gemini answer from its chunks; consecutive pieces of text become one part."""
    answer: dict[str, Any] = {}
    parts: list[dict[str, Any]] = []
    candidate: dict[str, Any] = {}
    for chunk in map(as_json_value, chunks):
        answer |= chunk
        piece: dict[str, Any] = next(iter(chunk.get("candidates") or ()), {})
        candidate |= piece
        for part in (piece.get("content") or {}).get("parts") or ():
            if parts and part.keys() == parts[-1].keys() == {"text"}:
                parts[-1] = {"text": parts[-1]["text"] + part["text"]}
            else:
                parts.append(part)
    return {**answer, "candidates": [{**candidate, "content": {"role": "model", "parts": parts}}]}


def assemble_lines(events: list[Any]) -> dict[str, Any]:
    """Return an answer of Ollama from the lines of its stream: a message, or the text of a completion."""
    answer: dict[str, Any] = {}
    texts: dict[str, Any] = {}
    message: dict[str, Any] = {}
    for event in map(as_json_value, events):
        answer |= event
        _merge(texts, {name: event[name] for name in ("response", "thinking") if name in event})
        delta = dict(event.get("message") or {})
        calls = [*(message.get("tool_calls") or ()), *(delta.pop("tool_calls", None) or ())]
        _merge(message, delta)
        if calls:
            message["tool_calls"] = calls
    return {**answer, **texts, **({"message": message} if message else {})}


def _merge(target: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add a delta: texts are appended, list items joined by their index, and other values replaced."""
    for key, value in delta.items():
        if value is None:
            target.setdefault(key, None)
        elif isinstance(value, str) and isinstance(target.get(key), str) and key not in {"role", "type", "id"}:
            target[key] += value
        elif isinstance(value, list):
            target[key] = _merge_items(target.get(key) or [], value)
        elif isinstance(value, dict):
            target[key] = target.get(key) or {}
            _merge(target[key], value)
        else:
            target[key] = value


def _merge_items(items: list[Any], deltas: list[Any]) -> list[Any]:
    for delta in deltas:
        index = delta.get("index") if isinstance(delta, dict) else None
        if not isinstance(index, int):
            items.append(delta)
            continue
        item = next((item for item in items if item.get("index") == index), None)
        if item is None:
            items.append(item := {})
        _merge(item, delta)
    return items


def _parse(text: str) -> Any:
    """Parse the arguments of a tool call; return what is cut off as text."""
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return text
