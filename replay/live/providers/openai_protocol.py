"""OpenAI Chat Completions protocol: converts canonical inputs to requests, streams to outputs."""

import json
import re
from typing import Any, Final

import orjson
from pydantic import BaseModel

from replay.live.providers.call_ids import with_ids
from replay.live.providers.failures import garbage, incomplete
from replay.live.providers.types import ModelCall, OnText, Provider, StreamResult, Usage
from traces.core.json_access import as_object, as_objects, member, text_or_json
from traces.core.json_types import JSONObject, JSONValue

_PARAMETERS: Final = frozenset(
    {
        "temperature",
        "top_p",
        "max_tokens",
        "max_completion_tokens",
        "seed",
        "stop",
        "frequency_penalty",
        "presence_penalty",
        "logit_bias",
        "tool_choice",
        "parallel_tool_calls",
        "reasoning_effort",
        "verbosity",
        "n",
    }
)
# OpenAI's reasoning models reject `max_tokens`; other servers support only that name.
_COMPLETION_TOKENS: Final = re.compile(r"(o[1-9]|gpt-[5-9])")
# From version 3, Gemini refuses calls without its signature, and accepts this one for calls that it did not sign. The
# signatures of recorded answers are not sent: they are valid for the same model only, and not for changed messages.
_SIGNING_MODELS: Final = re.compile(r"(models/)?gemini-([3-9]|\d\d)")
_NO_SIGNATURE: Final = {"google": {"thought_signature": "skip_thought_signature_validator"}}


class _Function(BaseModel):
    name: str | None = None
    arguments: str | None = None


class _ToolCall(BaseModel):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(BaseModel):
    index: int = 0
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Cached(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None


class _Chunk(BaseModel):
    model: str | None = None
    choices: list[_Choice]
    usage: _Usage | None = None


def request(call: ModelCall) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the body of the call, and the names of parameters that it cannot express."""
    parameters_json = call.input.get("parameters")
    parameters = as_object(parameters_json)
    body: dict[str, Any] = {
        "model": call.model,
        "messages": [message_body(message) for message in with_ids(as_objects(call.input.get("messages")))],
        **{name: value for name, value in parameters.items() if name in _PARAMETERS and value is not None},
    }
    if _SIGNING_MODELS.match(call.model):
        _mark_unsigned(body["messages"])
    if "max_tokens" in body and _COMPLETION_TOKENS.match(call.model):
        body["max_completion_tokens"] = body.pop("max_tokens")
    if tools := [tool_body(tool) for tool in as_objects(call.input.get("tools"))]:
        body["tools"] = tools
    if (response_format := call.input.get("response_format")) is not None:
        body["response_format"] = response_format
    return body, tuple(name for name in parameters if name not in _PARAMETERS)


def _mark_unsigned(messages: list[dict[str, Any]]) -> None:
    """Mark the first call of each message, which has the signature of all."""
    for message in messages:
        for call in message.get("tool_calls", ())[:1]:
            call["extra_content"] = _NO_SIGNATURE


def pieces(body: JSONObject) -> list[JSONObject]:
    """Return a whole answer as one chunk of a stream; empty if it is none."""
    choices: list[JSONValue] = [
        {**choice, "delta": choice["message"]} for choice in as_objects(body.get("choices")) if choice.get("message")
    ]
    return [{**body, "choices": choices}] if choices else []


class Assembly:
    """Assembles the answer from the chunks of a stream."""

    def __init__(self, provider: Provider, on_text: OnText) -> None:
        self._provider = provider
        self._on_text = on_text
        self._text: list[str] = []
        self._calls: dict[int, _ToolCall] = {}
        self._arguments: dict[int, list[str]] = {}
        self._finish = ""
        self._usage = Usage()
        self._model = ""

    def add(self, chunk: Any) -> int:
        """Add one chunk from the SDK; returns the number of characters in it."""
        read = _Chunk.model_validate(
            chunk.model_dump(exclude_unset=True, warnings=False) if isinstance(chunk, BaseModel) else chunk
        )
        self._model = read.model or self._model
        if read.usage is not None:
            self._usage = _usage(read.usage)
        return sum(self._add_choice(choice) for choice in read.choices if choice.index == 0)

    def result(self, *, is_whole: bool) -> StreamResult:
        """Return the answer; a whole one is complete without a reason why it ended."""
        if not self._finish and not is_whole:
            raise incomplete(self._provider)
        calls: list[JSONValue] = [self._tool_call(index) for index in sorted(self._calls)]
        message: JSONObject = {"role": "assistant", "content": "".join(self._text) or (None if calls else "")}
        if calls:
            message["tool_calls"] = calls
        return StreamResult(message=message, finish_reason=self._finish, usage=self._usage, served_model=self._model)

    def _add_choice(self, choice: _Choice) -> int:
        self._finish = choice.finish_reason or self._finish
        delta = choice.delta or _Delta()
        text = delta.content or delta.refusal or ""
        if text:
            self._text.append(text)
            self._on_text(text)
        return len(text) + sum(self._add_call(call) for call in delta.tool_calls or ())

    def _add_call(self, call: _ToolCall) -> int:
        # Some servers omit the index and send each call in one piece.
        index = len(self._calls) if call.index is None else call.index
        first = self._calls.setdefault(index, call)
        first.id = first.id or call.id
        if call.function and first.function and first is not call:
            first.function.name = first.function.name or call.function.name
        piece = (call.function and call.function.arguments) or ""
        self._arguments.setdefault(index, []).append(piece)
        return len(piece)

    def _tool_call(self, index: int) -> JSONValue:
        call = self._calls[index]
        name = (call.function and call.function.name) or ""
        if not name:
            raise garbage(self._provider, "a tool call in it has no name")
        text = "".join(self._arguments[index])
        return {"id": call.id or f"call_{index}", "name": name, "arguments": self._parse_arguments(name, text)}

    def _parse_arguments(self, name: str, text: str) -> JSONValue:
        return parse_arguments(self._provider, name, text, self._finish)


def parse_arguments(provider: Provider, name: str, text: str, finish_reason: str) -> JSONValue:
    """Parse a tool call's arguments; an answer truncated by its token limit is not worth retrying."""
    try:
        value: JSONValue = orjson.loads(text) if text.strip() else {}
    except ValueError as error:
        problem = f"the arguments of its call of {name} are not JSON ({error})"
        raise garbage(provider, problem, retryable=finish_reason != "length") from error
    return value


def _usage(usage: _Usage) -> Usage:
    cached = usage.prompt_tokens_details.cached_tokens if usage.prompt_tokens_details else None
    return Usage(tokens_in=usage.prompt_tokens, tokens_out=usage.completion_tokens, tokens_cached=cached)


def message_body(message: JSONObject) -> dict[str, Any]:
    body: dict[str, Any] = {
        key: message[key] for key in ("role", "content", "name", "tool_call_id") if message.get(key) is not None
    }
    body.setdefault("content", None if message.get("tool_calls") else "")
    if calls := [_call_body(call) for call in as_objects(message.get("tool_calls"))]:
        body["tool_calls"] = calls
    if body.get("role") == "assistant" and isinstance(body["content"], list):
        body["content"] = _answer_content(body["content"]) or (None if message.get("tool_calls") else "")
    if body.get("role") == "tool":
        body["content"] = tool_text(message.get("content"))
        body.pop("name", None)
    return body


def _answer_content(content: list[JSONValue]) -> str | list[JSONValue]:
    """Return what of a recorded answer the protocol accepts: its texts, or them and a refusal; no thoughts or media."""
    refusals: list[JSONValue] = [block for block in content if member(block, "type") == "refusal"]
    texts = [str(block["text"]) for block in as_objects(content) if block.get("type") == "text" and block.get("text")]
    parts: list[JSONValue] = [{"type": "text", "text": text} for text in texts]
    return [*parts, *refusals] if refusals else "".join(texts)


def _call_body(call: JSONObject) -> dict[str, Any]:
    recorded_arguments = call.get("arguments")
    arguments = {} if recorded_arguments is None else recorded_arguments
    text = text_or_json(arguments)
    return {"id": call.get("id", ""), "type": "function", "function": {"name": call.get("name", ""), "arguments": text}}


def tool_body(tool: JSONObject) -> dict[str, Any]:
    return {"type": "function", "function": {key: value for key, value in tool.items() if value is not None}}


def tool_text(value: JSONValue) -> str:
    """Convert a tool result to text: texts unchanged, text blocks joined, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(member(item, "type") == "text" for item in value):
        return "".join(str(item.get("text", "")) for item in as_objects(value))
    return "" if value is None else json.dumps(value, ensure_ascii=False)
