"""Answers put together from the events of a stream."""

from typing import Any

from forkpoint.capture.assembly import assemble_chat, assemble_content, assemble_message, assemble_response


def chunk(delta: dict[str, Any], **choice: Any) -> dict[str, Any]:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None, **choice}]}


def call(index: int, **fields: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, **fields}]}


def test_chat_chunks_become_a_completion() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    chunks = [
        chunk({"role": "assistant", "content": "It "}),
        chunk({"content": "ships."}),
        chunk({}, finish_reason="stop"),
        {"id": "c", "model": "m", "choices": [], "usage": usage},
    ]
    message = {"role": "assistant", "content": "It ships."}
    assert assemble_chat(chunks) == {
        "id": "c",
        "model": "m",
        "object": "chat.completion",
        "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }


def test_interleaved_tool_calls_stay_apart() -> None:
    chunks = [
        chunk(call(0, id="a", type="function", function={"name": "f", "arguments": ""})),
        chunk(call(1, id="b", type="function", function={"name": "g", "arguments": ""})),
        chunk(call(1, function={"arguments": '{"x"'})),
        chunk(call(0, function={"arguments": "{}"})),
        chunk(call(1, function={"arguments": ": 1}"})),
    ]
    [choice] = assemble_chat(chunks)["choices"]
    calls = [(item["id"], item["function"]["arguments"]) for item in choice["message"]["tool_calls"]]
    assert calls == [("a", "{}"), ("b", '{"x": 1}')]


def test_response_is_that_of_last_event() -> None:
    item = {"type": "message", "id": "m"}
    events = [
        {"type": "response.created", "response": {"id": "r", "output": []}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "r", "output": [item], "usage": {"input_tokens": 1}}},
    ]
    assert assemble_response(events) == {"id": "r", "output": [item], "usage": {"input_tokens": 1}}
    # Cut off before its end, a stream has the items that were complete.
    assert assemble_response(events[:2]) == {"id": "r", "output": [item]}
    assert assemble_response([]) == {"output": []}


def test_message_events_become_a_message() -> None:
    def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
        events = [{"type": "content_block_start", "index": index, "content_block": start}]
        return [*events, *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)]

    thinking = block(
        0,
        {"type": "thinking", "thinking": ""},
        {"type": "thinking_delta", "thinking": "Hm."},
        {"type": "signature_delta", "signature": "s"},
    )
    text = block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"})
    use = block(
        2,
        {"type": "tool_use", "id": "t", "name": "f", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"a"'},
        {"type": "input_json_delta", "partial_json": ": 1}"},
    )
    start = {"type": "message_start", "message": {"role": "assistant", "usage": {"input_tokens": 4}}}
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}
    assert assemble_message([start, *thinking, *text, *use, end]) == {
        "role": "assistant",
        "usage": {"input_tokens": 4, "output_tokens": 5},
        "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": "Hi"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
        ],
    }


def test_cut_off_arguments_stay_text() -> None:
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    start = {"type": "content_block_start", "index": 0, "content_block": use}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a'}}
    assert assemble_message([start, delta])["content"] == [{**use, "input": '{"a'}]


def test_gemini_chunks_become_an_answer() -> None:
    def part(value: dict[str, Any], **fields: Any) -> dict[str, Any]:
        return {"candidates": [{"content": {"role": "model", "parts": [value]}, **fields}]}

    call = {"functionCall": {"name": "f", "args": {}}}
    chunks = [part({"text": "It "}), part({"text": "is."}), part(call, finishReason="STOP")]
    usage = {"usageMetadata": {"promptTokenCount": 2}}
    assert assemble_content([*chunks[:2], chunks[2] | usage]) == {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "It is."}, call]}, "finishReason": "STOP"}],
        **usage,
    }
