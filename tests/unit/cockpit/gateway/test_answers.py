"""Which tools an answer asks the agent to run, and what a body contains in whatever form it comes."""

import gzip
import json
import zlib
from typing import Any

import pytest
import zstandard

from cockpit.gateway.answers import (
    UnreadableBody,
    decode,
    end_of_events,
    event_tool_names,
    read_json,
    read_stream,
    tool_names,
)
from traces.core.json_types import JSONObject, JSONValue

CHAT_CALL: JSONObject = {"index": 0, "id": "1", "function": {"name": "erase", "arguments": ""}}
CANDIDATES: JSONValue = [
    {"content": {"parts": [{"text": "no"}]}},
    {"content": {"parts": [{"functionCall": {"name": "erase"}}]}},
]


@pytest.mark.parametrize(
    ("api", "event", "names"),
    [
        ("openai.chat", {"choices": [{"delta": {"content": "a"}}, {"delta": {"tool_calls": [CHAT_CALL]}}]}, ["erase"]),
        ("openai.chat", {"choices": [{"delta": {"function_call": {"name": "erase", "arguments": ""}}}]}, ["erase"]),
        ("openai.chat", {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}}]}, []),
        ("openai.responses", {"item": {"type": "function_call", "name": "erase", "arguments": ""}}, ["erase"]),
        ("openai.responses", {"item": {"type": "local_shell_call", "action": {}}}, ["local_shell"]),
        ("openai.responses", {"item": {"type": "web_search_call"}}, []),
        ("openai.responses", {"response": {"tools": [{"type": "function", "name": "erase"}], "output": []}}, []),
        ("anthropic.messages", {"content_block": {"type": "tool_use", "name": "erase", "input": {}}}, ["erase"]),
        ("anthropic.messages", {"content_block": {"type": "server_tool_use", "name": "web_search", "input": {}}}, []),
        ("google.generate_content", {"candidates": CANDIDATES}, ["erase"]),
    ],
)
def test_event_begins_the_calls_of_tools(api: str, event: Any, names: list[str]) -> None:
    events = f"event: any\r\ndata: {json.dumps(event)}\r\n\r\n: comment\n\ndata: [DONE]\n\n"
    assert [*event_tool_names(api, events.encode())] == names


OLLAMA_STREAM = b"""{"model":"m","message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}
{"model":"m","message":{"role":"assistant","content":"a"},"done":false}
{"model":"m","message":{"role":"assistant","content":"b","tool_calls":[{"function":{"name":"erase"}}]},"done":false}
{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":2}
"""


def test_lines_of_a_stream_are_its_events() -> None:
    content = read_stream("ollama.chat", OLLAMA_STREAM)
    message = {"role": "assistant", "content": "ab", "thinking": "Hm", "tool_calls": [{"function": {"name": "erase"}}]}
    assert (content.answer, content.has_ended) == (
        {"model": "m", "message": message, "done": True, "done_reason": "stop", "eval_count": 2},
        True,
    )
    assert [*event_tool_names("ollama.chat", OLLAMA_STREAM)] == ["erase"]
    cut_content = read_stream("ollama.chat", OLLAMA_STREAM[:-20])
    assert (cut_content.has_ended, cut_content.error) == (False, "")
    assert read_stream("ollama.generate", b'{"error":"out of memory"}\n').error == "out of memory"
    completion = read_stream("ollama.generate", b'{"response":"a","done":false}\n{"response":"b","done":true}\n')
    assert completion.answer == {"response": "ab", "done": True}


def test_each_alternative_answer_counts() -> None:
    choices: JSONValue = [{"message": {"content": "a"}}, {"message": {"tool_calls": [CHAT_CALL]}}]
    assert [*tool_names("openai.chat", {"choices": choices})] == ["erase"]
    assert [*tool_names("openai.chat", None)] == []


def test_rest_of_a_stream_is_no_event() -> None:
    assert end_of_events(bytearray(b"data: 1\n\ndata: 2\n\ndata"), 0) == 18
    assert end_of_events(bytearray(b"data: 1\r\n"), 0) == 0
    assert end_of_events(bytearray(b'{"a":1}\n{"a":2}\n{"'), 0, "application/x-ndjson") == 16


def test_half_a_character_does_not_cut_a_stream_off() -> None:
    events = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("a\ud83d", "b")]
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    content = read_stream("openai.chat", stream.encode())
    assert json.dumps(content.answer).count('"a?b"') == 1
    assert content.has_ended


@pytest.mark.parametrize("text", [b"", b'{"a": NaN}', b'{"a": "\\ud83d", "b": NaN}', b"[" * 5_000, b"\xff"])
def test_other_faults_are_errors(text: bytes) -> None:
    with pytest.raises(UnreadableBody, match="it is not JSON"):
        read_json(text)


def _raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"first, ") + gzip.compress(b"second")),
        ("deflate", zlib.compress(b"first, second")),
        ("deflate", _raw_deflate(b"first, second")),
        ("zstd", zstandard.compress(b"first, second")),
    ],
)
def test_body_is_decompressed_as_a_client_does(encoding: str, body: bytes) -> None:
    assert decode(body, encoding, limit=13) == b"first, second"
    assert b"first, second".startswith(decode(body[:-1], encoding, limit=13))
    for faulty_body, reason in ((body, "larger than 12 bytes"), (b"\0" + body, f"it is not {encoding}")):
        with pytest.raises(UnreadableBody, match=reason):
            decode(faulty_body, encoding, limit=12)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_stream_has_any_ends_of_lines(start: str, end: str) -> None:
    """All that the standard of server-sent events allows: comments, retries, ids, and data on several lines."""
    lines = (
        ": hello",
        "retry: 10",
        "",
        "id: 1",
        'data:{"choices": [{"index": 0,',
        'data: "delta": {"content": "a"}}]}',
    )
    content = read_stream("openai.chat", (start + end.join([*lines, "", "data: [DONE]", "", ""])).encode())
    assert content.has_ended
    assert json.dumps(content.answer).count('"content": "a"') == 1
    alone = f'{start}data: {{"choices": [{{"index": 0, "delta": {{"content": "a"}}}}]}}{end}{end}'
    assert json.dumps(read_stream("openai.chat", alone.encode()).answer).count('"content": "a"') == 1
