"""Responses in a provider's format, from the answer of a step. Pure.

For recordings that lack the response as it came, and for an agent that asks for a stream where none was recorded, or
the other way around.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from traces.core.json_access import as_list, as_object, as_objects, as_text, member
from traces.core.json_types import JSONObject, JSONValue

_CHAT_REASONS: Final = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})
_ANTHROPIC_REASONS: Final = frozenset({"end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"})


@dataclass(frozen=True, kw_only=True, slots=True)
class StepAnswer:
    """The answer of a model step, and the model and tokens that its response states.

    `tools` are those of the request: models write arguments in the order of their schemas, which stored ones have lost.
    """

    output: JSONObject
    model: str
    id: str
    tokens_in: int
    tokens_out: int
    tools: Sequence[JSONObject] = ()

    @property
    def text(self) -> str | None:
        """The text of the answer; None if it consists of something else."""
        content = as_object(self.output.get("message")).get("content")
        if isinstance(content, str):
            return content
        blocks = as_objects(content)
        has_text_only = all(block.get("type") == "text" for block in blocks) and len(blocks) == len(as_list(content))
        return "".join(as_text(block.get("text")) for block in blocks) if has_text_only else None

    @property
    def calls(self) -> list[JSONObject]:
        calls = as_objects(as_object(self.output.get("message")).get("tool_calls"))
        return [{**call, "arguments": self._in_order(call)} for call in calls]

    def _in_order(self, call: JSONObject) -> JSONValue:
        """Return the arguments of a call in the order of the tool's schema."""
        arguments = call.get("arguments")
        if not isinstance(arguments, dict):
            return arguments
        schema = next((tool.get("parameters") for tool in self.tools if tool.get("name") == call.get("name")), None)
        names = dict.fromkeys([*as_object(member(schema, "properties")), *arguments])
        return {name: arguments[name] for name in names if name in arguments}

    def reason(self, vocabulary: frozenset[str], with_calls: str, without_calls: str) -> str:
        """Return why the answer ends, as the provider says it."""
        reason = as_text(self.output.get("finish_reason"))
        return reason if reason in vocabulary else with_calls if self.calls else without_calls


def build_body(api: str, answer: StepAnswer, *, is_streamed: bool, states_usage: bool) -> bytes | None:
    """Return the body of a response; None for an API or an answer whose form is not known."""
    text = answer.text
    if text is None or api not in _BUILDERS:
        return None
    document = _BUILDERS[api](answer, text)
    if not is_streamed:
        return orjson.dumps(document)
    return b"".join(_chat_events(document, states_usage) if api == "openai.chat" else _message_events(document))


def _chat(answer: StepAnswer, text: str) -> JSONObject:
    message: JSONObject = {"role": "assistant", "content": text or None}
    if answer.calls:
        message["tool_calls"] = [
            {
                "id": call.get("id"),
                "type": "function",
                "function": {"name": call.get("name"), "arguments": _arguments(call)},
            }
            for call in answer.calls
        ]
    reason = answer.reason(_CHAT_REASONS, "tool_calls", "stop")
    return {
        "id": f"chatcmpl-{answer.id}",
        "object": "chat.completion",
        "created": 0,
        "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {
            "prompt_tokens": answer.tokens_in,
            "completion_tokens": answer.tokens_out,
            "total_tokens": answer.tokens_in + answer.tokens_out,
        },
    }


def _chat_events(document: JSONObject, states_usage: bool) -> Iterator[bytes]:
    [choice] = as_objects(document["choices"])
    delta = dict(as_object(choice["message"]))
    if "tool_calls" in delta:
        calls = as_objects(delta["tool_calls"])
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(calls)]
    head: JSONObject = {**document, "object": "chat.completion.chunk"}
    del head["usage"]
    yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    if states_usage:
        yield _event({**head, "choices": [], "usage": document["usage"]})
    yield b"data: [DONE]\n\n"


def _message(answer: StepAnswer, text: str) -> JSONObject:
    blocks: list[JSONValue] = [{"type": "text", "text": text}] if text else []
    blocks += [
        {"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("arguments")}
        for call in answer.calls
    ]
    return {
        "id": f"msg_{answer.id}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": blocks,
        "stop_reason": answer.reason(_ANTHROPIC_REASONS, "tool_use", "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": answer.tokens_in, "output_tokens": answer.tokens_out},
    }


def _message_events(document: JSONObject) -> Iterator[bytes]:
    start: JSONObject = {**document, "content": [], "stop_reason": None}
    yield _event({"type": "message_start", "message": start})
    for index, block in enumerate(as_objects(document["content"])):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            arguments = orjson.dumps(block["input"]).decode()
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}
        yield _event({"type": "content_block_start", "index": index, "content_block": empty})
        yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    end: JSONObject = {"stop_reason": document["stop_reason"], "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": end, "usage": document["usage"]})
    yield _event({"type": "message_stop"})


def _event(event: JSONObject) -> bytes:
    name = f"event: {event['type']}\n".encode() if "type" in event else b""
    return name + b"data: " + orjson.dumps(event) + b"\n\n"


def _arguments(call: JSONObject) -> JSONValue:
    """Return the arguments as OpenAI writes them: a text, also if they could not be parsed."""
    arguments = call.get("arguments")
    return arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()


_BUILDERS: Final[dict[str, Callable[[StepAnswer, str], JSONObject]]] = {
    "openai.chat": _chat,
    "anthropic.messages": _message,
}
