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
# The reasons of chat completions, in which answers are stored, in the words of the others.
_IN_ANTHROPIC: Final = {"length": "max_tokens", "content_filter": "refusal"}
_IN_GEMINI: Final = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}
_IN_RESPONSES: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}


@dataclass(frozen=True, kw_only=True, slots=True)
class StepAnswer:
    """The answer of a model step, and the model and tokens that its response states; `tokens_in` include cached ones.

    `tools` are those of the request: models write arguments in the order of their schemas, which stored ones have lost.
    """

    output: JSONObject
    model: str
    id: str
    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0
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

    @property
    def stored_reason(self) -> str:
        return as_text(self.output.get("finish_reason"))

    def reason(self, vocabulary: frozenset[str], with_calls: str, without_calls: str) -> str:
        """Return why the answer ends, as the provider says it."""
        reason = self.stored_reason
        return reason if reason in vocabulary else with_calls if self.calls else without_calls


def build_body(api: str, answer: StepAnswer, *, is_streamed: bool, states_usage: bool) -> bytes | None:
    """Return the body of a response; None for an API or an answer whose form is not known."""
    text = answer.text
    if text is None or api not in _BUILDERS:
        return None
    document = _BUILDERS[api](answer, text)
    if not is_streamed:
        return orjson.dumps(document)
    return b"".join(_chat_events(document, states_usage) if api == "openai.chat" else _EVENTS[api](document))


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
            "prompt_tokens_details": {"cached_tokens": answer.tokens_cached},
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
        "stop_reason": _IN_ANTHROPIC.get(answer.stored_reason)
        or answer.reason(_ANTHROPIC_REASONS, "tool_use", "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": answer.tokens_in - answer.tokens_cached,
            "cache_read_input_tokens": answer.tokens_cached,
            "output_tokens": answer.tokens_out,
        },
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


def _response(answer: StepAnswer, text: str) -> JSONObject:
    """Return a document of OpenAI's responses."""
    items: list[JSONValue] = []
    if text or not answer.calls:
        part: JSONObject = {"type": "output_text", "text": text, "annotations": []}
        items.append(
            {
                "type": "message",
                "id": f"msg_{answer.id}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        )
    for number, call in enumerate(answer.calls):
        item: JSONObject = {"type": "function_call", "id": f"fc_{answer.id}_{number}", "call_id": call.get("id")}
        items.append({**item, "name": call.get("name"), "arguments": _arguments(call), "status": "completed"})
    cut = _IN_RESPONSES.get(answer.stored_reason)
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": 0,
        "model": answer.model,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": cut} if cut else None,
        "error": None,
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": answer.tokens_in,
            "input_tokens_details": {"cached_tokens": answer.tokens_cached},
            "output_tokens": answer.tokens_out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.tokens_in + answer.tokens_out,
        },
    }


def _response_events(document: JSONObject) -> Iterator[bytes]:
    start: JSONObject = {**document, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    events: list[JSONObject] = [
        {"type": "response.created", "response": start},
        {"type": "response.in_progress", "response": start},
    ]
    for index, item in enumerate(as_objects(document["output"])):
        place: JSONObject = {"output_index": index}
        events += [{**event, **place} for event in _item_events(item)]
    events.append({"type": f"response.{document['status']}", "response": document})
    for number, event in enumerate(events):
        yield _event({**event, "sequence_number": number})


def _item_events(item: JSONObject) -> Iterator[JSONObject]:
    """Yield the events of one item of a response, without its index."""
    place: JSONObject = {"item_id": item["id"]}
    if item["type"] == "function_call":
        yield {"type": "response.output_item.added", "item": {**item, "arguments": "", "status": "in_progress"}}
        arguments = item["arguments"]
        yield {"type": "response.function_call_arguments.delta", **place, "delta": arguments}
        yield {
            "type": "response.function_call_arguments.done",
            **place,
            "arguments": arguments,
            "name": item["name"],
        }
    else:
        yield {"type": "response.output_item.added", "item": {**item, "content": [], "status": "in_progress"}}
        [part] = as_objects(item["content"])
        place["content_index"] = 0
        yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
        yield {"type": "response.output_text.delta", **place, "delta": part["text"], "logprobs": []}
        yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
        yield {"type": "response.content_part.done", **place, "part": part}
    yield {"type": "response.output_item.done", "item": item}


def _content(answer: StepAnswer, text: str) -> JSONObject:
    """Return a document of Gemini."""
    parts: list[JSONValue] = [{"text": text}] if text or not answer.calls else []
    for call in answer.calls:
        id: JSONObject = {"id": call["id"]} if call.get("id") else {}
        parts.append({"functionCall": {**id, "name": call.get("name"), "args": call.get("arguments")}})
    reason = _IN_GEMINI.get(answer.stored_reason, "STOP")
    return {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": reason}],
        "usageMetadata": {
            "promptTokenCount": answer.tokens_in,
            "cachedContentTokenCount": answer.tokens_cached,
            "candidatesTokenCount": answer.tokens_out,
            "totalTokenCount": answer.tokens_in + answer.tokens_out,
        },
        "modelVersion": answer.model,
        "responseId": answer.id,
    }


def _content_events(document: JSONObject) -> Iterator[bytes]:
    yield _event(document)


def _ollama_message(answer: StepAnswer, text: str) -> JSONObject:
    """Return a document of Ollama's chat."""
    calls: list[JSONValue] = [
        {"function": {"name": call.get("name"), "arguments": as_object(call.get("arguments"))}} for call in answer.calls
    ]
    message: JSONObject = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    return _ollama_answer(answer, {"message": message})


def _ollama_completion(answer: StepAnswer, text: str) -> JSONObject:
    return _ollama_answer(answer, {"response": text})


def _ollama_answer(answer: StepAnswer, content: JSONObject) -> JSONObject:
    counts: JSONObject = {"prompt_eval_count": answer.tokens_in, "eval_count": answer.tokens_out}
    times: JSONObject = dict.fromkeys(("total_duration", "load_duration", "prompt_eval_duration", "eval_duration"), 0)
    reason = "length" if answer.stored_reason == "length" else "stop"
    head: JSONObject = {"model": answer.model, "created_at": "1970-01-01T00:00:00Z"}
    return {**head, **content, "done": True, "done_reason": reason, **times, **counts}


def _ollama_lines(document: JSONObject) -> Iterator[bytes]:
    head: JSONObject = {name: document[name] for name in ("model", "created_at")}
    end: JSONObject = {"message": {"role": "assistant", "content": ""}} if "message" in document else {"response": ""}
    content: JSONObject = {name: document[name] for name in end}
    yield orjson.dumps({**head, **content, "done": False}) + b"\n"
    yield orjson.dumps({**document, **end}) + b"\n"


def _event(event: JSONObject) -> bytes:
    name = f"event: {event['type']}\n".encode() if "type" in event else b""
    return name + b"data: " + orjson.dumps(event) + b"\n\n"


def _arguments(call: JSONObject) -> JSONValue:
    """Return the arguments as OpenAI writes them: a text, also if they could not be parsed."""
    arguments = call.get("arguments")
    return arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()


_BUILDERS: Final[dict[str, Callable[[StepAnswer, str], JSONObject]]] = {
    "openai.chat": _chat,
    "openai.responses": _response,
    "anthropic.messages": _message,
    "google.generate_content": _content,
    "ollama.chat": _ollama_message,
    "ollama.generate": _ollama_completion,
}
_EVENTS: Final[dict[str, Callable[[JSONObject], Iterator[bytes]]]] = {
    "openai.responses": _response_events,
    "anthropic.messages": _message_events,
    "google.generate_content": _content_events,
    "ollama.chat": _ollama_lines,
    "ollama.generate": _ollama_lines,
}
