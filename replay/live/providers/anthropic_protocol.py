"""Anthropic Messages protocol: requests from canonical model inputs, canonical outputs from streams."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import BaseModel

from replay.live.providers.call_ids import with_ids
from replay.live.providers.failures import garbage, incomplete
from replay.live.providers.openai_protocol import parse_arguments, tool_text
from replay.live.providers.types import ModelCall, OnText, Provider, StreamResult, Usage
from traces.core.json_access import as_object, as_objects, member, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.messages import ModelRequest

# The protocol requires a limit; recordings of other protocols often have none.
_MAX_TOKENS: Final = 4096
_CONVERTED_PARAMETERS: Final = frozenset(
    {
        "max_tokens",
        "max_completion_tokens",
        "stop",
        "stop_sequences",
        "tool_choice",
        "parallel_tool_calls",
    }
)
# Passed in `extra_body`; the SDK's arguments no longer include the first three.
_EXTRA: Final = frozenset({"temperature", "top_p", "top_k", "thinking"})
_FINISH: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
_DATA_URL: Final = re.compile(r"data:(?P<media>[\w.+/-]+);base64,(?P<data>.*)", re.DOTALL)


class _Usage(BaseModel):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Start(BaseModel):
    model: str = ""
    usage: _Usage = _Usage()


class _Block(BaseModel):
    type: str
    id: str = ""
    name: str = ""
    text: str = ""


class _Delta(BaseModel):
    type: str = ""
    text: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class _Event(BaseModel):
    type: str
    index: int = 0
    message: _Start | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None


def _max_tokens(parameters: Mapping[str, Any]) -> Any:
    """Return the token limit, which this protocol requires; 0 is a valid limit."""
    limits = (parameters.get(name) for name in ("max_tokens", "max_completion_tokens"))
    return next((limit for limit in limits if limit is not None), _MAX_TOKENS)


def request(call: ModelCall) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the arguments of the SDK call, and the names of parameters that it cannot express."""
    parameters = _parameters(call)
    messages = with_ids(as_objects(call.input.get("messages")))
    arguments: dict[str, Any] = {
        "model": call.model,
        "messages": message_bodies(messages),
        "max_tokens": _max_tokens(parameters),
        "extra_body": {name: value for name, value in parameters.items() if name in _EXTRA},
        **system_body(messages),
        **_stop(parameters),
        **_tools(call, parameters),
        **output_config(call.input.get("response_format")),
    }
    left_out = [name for name in parameters if name not in _EXTRA and name not in _CONVERTED_PARAMETERS]
    if call.input.get("response_format") is not None and "output_config" not in arguments:
        left_out.append("response_format")
    return arguments, tuple(left_out)


def _parameters(call: ModelCall) -> JSONObject:
    return {key: value for key, value in ModelRequest(call.input).parameters.items() if value is not None}


def pieces(body: JSONObject) -> list[JSONObject]:
    """Return a whole answer as the events of a stream; empty if it is none."""
    if not isinstance(body.get("content"), list):
        return []
    events: list[JSONObject] = [
        {"type": "message_start", "message": {"model": body.get("model") or "", "usage": as_object(body.get("usage"))}}
    ]
    for index, block in enumerate(as_objects(body["content"])):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        if block.get("type") == "tool_use":
            arguments = text_or_json(block.get("input") or {})
            delta: JSONObject = {"type": "input_json_delta", "partial_json": arguments}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
    return [*events, {"type": "message_delta", "delta": {"stop_reason": body.get("stop_reason")}}]


class Assembly:
    """Assembles the answer from the events of a stream."""

    def __init__(self, provider: Provider, on_text: OnText) -> None:
        self._provider = provider
        self._on_text = on_text
        self._text: list[str] = []
        self._blocks: dict[int, _Block] = {}
        self._arguments: dict[int, list[str]] = {}
        self._usage = _Usage()
        self._model = ""
        self._stop_reason = ""
        self._is_complete = False

    def add(self, event: Any) -> int:
        """Add one event from the SDK; returns the number of characters in it."""
        read = _Event.model_validate(
            event.model_dump(exclude_unset=True, warnings=False) if isinstance(event, BaseModel) else event
        )
        if read.message is not None:
            self._model = read.message.model
            self._count(read.message.usage)
        if read.usage is not None:
            self._count(read.usage)
        if read.type == "message_stop":
            self._is_complete = True
        if read.content_block is not None:
            self._blocks[read.index] = read.content_block
            return self._add_text(read.content_block.text)
        return self._add_delta(read.index, read.delta) if read.delta is not None else 0

    def result(self, *, is_whole: bool) -> StreamResult:
        """Return the answer; a whole one is complete without a reason why it ended."""
        if not is_whole and not (self._is_complete and self._stop_reason):
            raise incomplete(self._provider)
        finish = _FINISH.get(self._stop_reason, self._stop_reason)
        uses = [index for index in sorted(self._blocks) if self._blocks[index].type == "tool_use"]
        calls: list[JSONValue] = [self._tool_call(index, finish) for index in uses]
        message: JSONObject = {"role": "assistant", "content": "".join(self._text) or (None if calls else "")}
        if calls:
            message["tool_calls"] = calls
        return StreamResult(
            message=message, finish_reason=finish, usage=_total_usage(self._usage), served_model=self._model
        )

    def _count(self, usage: _Usage) -> None:
        """Replace earlier counts, since counts are totals."""
        self._usage = self._usage.model_copy(update=usage.model_dump(exclude_none=True))

    def _add_delta(self, index: int, delta: _Delta) -> int:
        self._stop_reason = delta.stop_reason or self._stop_reason
        if delta.type == "input_json_delta":
            self._arguments.setdefault(index, []).append(delta.partial_json)
            return len(delta.partial_json)
        return self._add_text(delta.text) if delta.type == "text_delta" else 0

    def _add_text(self, text: str) -> int:
        if text:
            self._text.append(text)
            self._on_text(text)
        return len(text)

    def _tool_call(self, index: int, finish: str) -> JSONValue:
        block = self._blocks[index]
        if not block.name or not block.id:
            raise garbage(self._provider, "a tool call in it has no name or id")
        text = "".join(self._arguments.get(index, []))
        arguments = parse_arguments(self._provider, block.name, text, finish)
        return {"id": block.id, "name": block.name, "arguments": arguments}


def _total_usage(usage: _Usage) -> Usage:
    """Convert usage: in this protocol `input_tokens` excludes cached tokens, `tokens_in` includes them."""
    parts = (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens)
    return Usage(
        tokens_in=None if usage.input_tokens is None else sum(part or 0 for part in parts),
        tokens_out=usage.output_tokens,
        tokens_cached=usage.cache_read_input_tokens,
    )


def system_body(messages: Iterable[JSONObject]) -> dict[str, Any]:
    texts = [
        tool_text(message.get("content")) for message in messages if message.get("role") in ("system", "developer")
    ]
    return {"system": "\n\n".join(texts)} if any(texts) else {}


def _stop(parameters: JSONObject) -> dict[str, Any]:
    stop = parameters.get("stop", parameters.get("stop_sequences"))
    if not stop:
        return {}
    return {"stop_sequences": [stop] if isinstance(stop, str) else stop}


def _tools(call: ModelCall, parameters: JSONObject) -> dict[str, Any]:
    tools = [tool_body(tool) for tool in as_objects(call.input.get("tools"))]
    if not tools:
        return {}
    choice = _tool_choice(parameters.get("tool_choice"))
    if parameters.get("parallel_tool_calls") is False:
        choice = {**(choice or {"type": "auto"}), "disable_parallel_tool_use": True}
    return {"tools": tools, **({"tool_choice": choice} if choice else {})}


def tool_body(tool: JSONObject) -> dict[str, Any]:
    schema = tool.get("parameters") or {"type": "object", "properties": {}}
    description = {"description": tool["description"]} if tool.get("description") else {}
    return {"name": tool.get("name", ""), **description, "input_schema": schema}


def _tool_choice(choice: JSONValue) -> dict[str, Any] | None:
    if isinstance(choice, str):
        return {"type": {"required": "any"}.get(choice, choice)}
    if not isinstance(choice, dict):
        return None
    name = member(choice, "function", "name")
    return {"type": "tool", "name": name} if name else dict(choice)


def output_config(response_format: JSONValue) -> dict[str, Any]:
    """Convert a JSON schema; this protocol has no equivalent of `json_object`."""
    schema = member(response_format, "json_schema", "schema")
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}} if schema else {}


def message_bodies(messages: Iterable[JSONObject]) -> list[dict[str, Any]]:
    """Merge adjacent messages of one role, so that parallel tool results become one message."""
    conversation: list[dict[str, Any]] = []
    for message in messages:
        if message.get("role") in ("system", "developer"):
            continue
        role = "assistant" if message.get("role") == "assistant" else "user"
        blocks = _blocks(message)
        if conversation and conversation[-1]["role"] == role:
            conversation[-1]["content"].extend(blocks)
        elif blocks:
            conversation.append({"role": role, "content": blocks})
    return conversation


def _blocks(message: JSONObject) -> list[dict[str, Any]]:
    if message.get("role") in ("tool", "function"):
        result = {"type": "tool_result", "tool_use_id": message.get("tool_call_id", "")}
        return [{**result, "content": tool_text(message.get("content"))}]
    calls = [_tool_use(call) for call in as_objects(message.get("tool_calls"))]
    return [*_content(message.get("content")), *calls]


def _tool_use(call: JSONObject) -> dict[str, Any]:
    arguments = call.get("arguments")
    input = arguments if isinstance(arguments, dict) else {"arguments": arguments}
    return {"type": "tool_use", "id": call.get("id", ""), "name": call.get("name", ""), "input": input}


def _is_accepted(block: dict[str, Any]) -> bool:
    match block.get("type"):
        case "text":
            return bool(block.get("text"))
        case "thinking":
            return bool(block.get("signature"))
    return True


def _content(content: JSONValue) -> list[dict[str, Any]]:
    """Convert content, without what the protocol rejects: empty texts, and thoughts of other providers."""
    if isinstance(content, list):
        return [block for item in as_objects(content) if _is_accepted(block := _block(item))]
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else []


def _block(block: JSONObject) -> dict[str, Any]:
    image = block.get("image_url")
    url = as_object(image).get("url", image)
    if block.get("type") == "image_url" and isinstance(url, str):
        inline = _DATA_URL.fullmatch(url)
        if inline is None:
            return {"type": "image", "source": {"type": "url", "url": url}}
        return {"type": "image", "source": {"type": "base64", "media_type": inline["media"], "data": inline["data"]}}
    return dict(block)
