"""OpenAI Responses protocol: requests from canonical model inputs, canonical outputs from streams."""

from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel

from replay.live.providers.call_ids import with_ids
from replay.live.providers.failures import Interruption, garbage, incomplete
from replay.live.providers.types import ModelCall, OnText, Provider, StreamResult, Usage
from traces.core.json_access import as_list, as_object, as_objects, as_text, member, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.formats.chats.openai_items import normalize_response

_PARAMETERS: Final = frozenset({"temperature", "top_p", "parallel_tool_calls", "reasoning", "top_logprobs"})
_CONVERTED_PARAMETERS: Final = frozenset({"max_tokens", "tool_choice", "reasoning_effort", "verbosity", "instructions"})
# The last event of a stream, with the whole response.
_ENDS: Final = frozenset({"response.completed", "response.incomplete"})
_FAILURES: Final = frozenset({"response.failed", "error"})
_TEXT_DELTA: Final = "response.output_text.delta"
_TEXT_DELTAS: Final = frozenset({_TEXT_DELTA, "response.refusal.delta"})


class _Event(BaseModel):
    type: str
    delta: Any = None
    response: dict[str, Any] | None = None
    code: str | None = None
    message: str | None = None


def request(call: ModelCall) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the body of the call, and the names of parameters that it cannot express."""
    parameters = as_object(call.input.get("parameters"))
    text = {"verbosity": parameters.get("verbosity"), "format": _text_format(call.input.get("response_format"))}
    effort = parameters.get("reasoning_effort")
    fields: JSONObject = {
        "model": call.model,
        "input": [item for message in with_ids(as_objects(call.input.get("messages"))) for item in _items(message)],
        "tools": [_tool(tool) for tool in as_objects(call.input.get("tools"))],
        "tool_choice": _tool_choice(parameters.get("tool_choice")),
        "max_output_tokens": parameters.get("max_tokens"),
        "reasoning": {"effort": effort} if effort else None,
        **{name: value for name, value in parameters.items() if name in _PARAMETERS},
        "text": {name: value for name, value in text.items() if value},
    }
    left_out = tuple(name for name in parameters if name not in _PARAMETERS | _CONVERTED_PARAMETERS)
    return {name: value for name, value in fields.items() if value not in (None, [], {})}, left_out


def pieces(body: JSONObject) -> list[JSONObject]:
    """Return a whole answer as the events of a stream; empty if it is none."""
    if not isinstance(body.get("output"), list):
        return []
    parts = [part for item in as_objects(body["output"]) for part in as_objects(item.get("content"))]
    deltas: list[JSONObject] = [
        {"type": _TEXT_DELTA, "delta": part["text"]} for part in parts if part.get("type") == "output_text"
    ]
    return [*deltas, {"type": "response.completed", "response": body}]


class Assembly:
    """Assembles the answer from the events of a stream, of which the last one has all of it."""

    def __init__(self, provider: Provider, on_text: OnText) -> None:
        self._provider = provider
        self._on_text = on_text
        self._response: JSONObject | None = None

    def add(self, event: Any) -> int:
        """Add one event from the SDK; returns the number of characters in it. Raises `Interruption`."""
        read = _Event.model_validate(
            event.model_dump(exclude_unset=True, warnings=False) if isinstance(event, BaseModel) else event
        )
        if read.type in _FAILURES:
            raise Interruption((read.response or {}).get("error") or {"code": read.code, "message": read.message})
        if read.type in _ENDS:
            self._response = read.response
        text = as_text(read.delta)
        if text and read.type in _TEXT_DELTAS:
            self._on_text(text)
        return len(text)

    def result(self, *, is_whole: bool) -> StreamResult:
        """Return the answer, which is complete with its last event."""
        if self._response is None:
            raise incomplete(self._provider)
        answer = normalize_response(self._response)
        if answer.output is None:
            raise garbage(self._provider, "its response contains no message")
        usage = answer.usage
        return StreamResult(
            message=as_object(answer.output["message"]),
            finish_reason=as_text(answer.output.get("finish_reason")),
            usage=Usage(tokens_in=usage.tokens_in, tokens_out=usage.tokens_out, tokens_cached=usage.tokens_cached),
            served_model=answer.model,
        )


def _items(message: JSONObject) -> Iterator[JSONValue]:
    role = message.get("role")
    if role in ("tool", "function"):
        output = text_or_json(message.get("content"))
        yield {"type": "function_call_output", "call_id": message.get("tool_call_id", ""), "output": output}
        return
    content = message.get("content")
    if content:
        blocks = [_block(block, role) for block in as_list(content) if member(block, "type") != "thinking"]
        yield {"role": role, "content": content if isinstance(content, str) else blocks}
    for call in as_objects(message.get("tool_calls")):
        arguments = text_or_json({} if call.get("arguments") is None else call["arguments"])
        yield {
            "type": "function_call",
            "call_id": call.get("id", ""),
            "name": call.get("name", ""),
            "arguments": arguments,
        }


def _block(block: JSONValue, role: JSONValue) -> JSONValue:
    fields = as_object(block)
    if fields.get("type") == "text":
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": kind, "text": fields.get("text", "")}
    if fields.get("type") == "image_url":
        image = fields.get("image_url")
        return {"type": "input_image", "image_url": as_object(image).get("url", image)}
    return block


def _tool(tool: JSONObject) -> JSONObject:
    if tool.get("type") not in (None, "function"):
        return tool
    return {"type": "function", **{name: value for name, value in tool.items() if value is not None}}


def _tool_choice(choice: JSONValue) -> JSONValue:
    name = member(choice, "function", "name")
    return {"type": "function", "name": name} if name else choice


def _text_format(response_format: JSONValue) -> JSONValue:
    """Return the format of the answer; Chat Completions puts its schema one level deeper."""
    schema = as_object(member(response_format, "json_schema"))
    return {"type": "json_schema", **schema} if schema else response_format
