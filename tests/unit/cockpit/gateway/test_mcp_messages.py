"""Messages of MCP as tool steps."""

from typing import Any

import orjson
import pytest

from cockpit.gateway.mcp import messages
from forkpoint.mcp_shim import records
from traces.core.json_types import JSONObject

TEXT: Any = {"type": "text", "text": "fine"}


def request(method: str, **parameters: Any) -> Any:
    return {"jsonrpc": "2.0", "id": 0, "method": method, "params": parameters}


def test_call_of_a_tool_is_the_step_that_the_sdk_records() -> None:
    call = messages.call_of("desk", request("tools/call", name="lookup", arguments={"id": "7"}, _meta={"token": 1}))
    assert call == messages.Call(name="lookup", arguments={"id": "7"}, is_read=False)


def test_another_version_of_the_client_is_the_same_handshake() -> None:
    first, second = (messages.call_of("desk", request("initialize", protocolVersion=version)) for version in ("1", "2"))
    assert first == second == messages.Call(name="mcp.initialize", arguments={"server": "desk"}, is_read=True)
    own_method = messages.call_of("desk", request("desk/close"))
    assert (own_method.name, own_method.is_read) == ("mcp.desk/close", False)
    page = messages.call_of("desk", request("tools/list", cursor="2"))
    assert page.arguments == {"server": "desk", "params": {"cursor": "2"}}


@pytest.mark.parametrize(
    "response",
    [
        {"result": {"content": [TEXT], "isError": False}},
        {"result": {"content": [TEXT], "structuredContent": {"result": "fine"}, "isError": False}},
        {"result": {"content": [TEXT, {"type": "image", "data": "", "mimeType": "image/png"}]}},
        {"result": {"content": [TEXT], "isError": True}},
        {"result": {"content": [TEXT], "_meta": {"cost": 3}}},
        {"result": {"content": [{**TEXT, "annotations": {"audience": ["user"]}}]}},
        {"result": {"tools": []}},
        {"error": {"code": -32602, "message": "no such tool"}},
    ],
)
def test_recorded_response_says_what_the_server_said(response: Any) -> None:
    message: Any = {"jsonrpc": "2.0", "id": 3, **response}
    fields = messages.result_fields(message, "")
    again: Any = messages.recorded_response(3, fields.get("result"), str(fields.get("error", "")), is_tool_call=True)
    # A missing `isError` is false.
    again.get("result", {}).setdefault("isError", False)
    message.get("result", {}).setdefault("isError", False)
    assert again == message


def test_recorded_failure_has_the_form_of_its_method() -> None:
    """Only a tool's result can report an error: a client reads any other one as what it asked for, and fails."""
    fields = messages.result_fields(None, "connection refused")
    read: Any = messages.recorded_response(3, None, str(fields["error"]), is_tool_call=False)
    assert (read["error"]["message"], "result" in read) == ("connection refused", False)
    call: Any = messages.recorded_response(3, None, str(fields["error"]), is_tool_call=True)
    assert (call["result"]["isError"], call["result"]["content"][0]["text"]) == (True, "connection refused")


def test_empty_response_stays_empty() -> None:
    """A strict client takes a tool's result for no response to its ping."""
    fields = messages.result_fields({"jsonrpc": "2.0", "id": 3, "result": {}}, "")
    response: Any = messages.recorded_response(3, fields["result"], "", is_tool_call=False)
    assert response["result"] == {}


def test_output_of_one_text_is_the_text() -> None:
    assert messages.result_fields({"result": {"content": [TEXT]}}, "") == {"status": "success", "result": "fine"}
    assert messages.result_fields(None, "cut off") == {"status": "error", "error": "cut off"}


def test_response_is_found_among_the_events_of_a_stream() -> None:
    events = [{"method": "notifications/progress"}, {"id": 1, "method": "ping"}, {"id": 1, "result": {}}]
    body = b"".join(b"event: message\r\ndata: " + orjson.dumps(event) + b"\r\n\r\n" for event in events)
    assert messages.find_response(body, 1, is_stream=True) == events[-1]
    assert messages.find_response(body[:-40], 1, is_stream=True) is None


def test_mark_of_the_sdk_does_not_reach_the_server() -> None:
    plain = request("tools/call", name="lookup")
    marked = request("tools/call", name="lookup", _meta={"forkpoint_sdk": True})
    assert records.has_sdk_mark(marked)
    assert records.without_sdk_mark(marked) == plain
    assert records.without_sdk_mark(plain) == plain


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_messages_of_a_server_are_found_wherever_its_stream_is_cut(line_end: str) -> None:
    question: JSONObject = {"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage"}
    notice: JSONObject = {"jsonrpc": "2.0", "method": "notifications/message"}
    events = [f"data: {orjson.dumps(message).decode()}{2 * line_end}" for message in (notice, question, question)]
    data = "".join(events).encode()
    for size in (1, 3, 50, len(data)):
        stream = messages.MessageStream()
        parts = [data[start : start + size] for start in range(0, len(data), size)]
        assert [message for part in parts for message in stream.add(part)] == [notice, question, question]


def test_event_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_LONGEST_EVENT", 100)
    stream = messages.MessageStream()
    for _ in range(20):
        assert stream.add(b"data: " + b"x" * 60) == []
    assert stream.add(b'\n\ndata: {"method": "ping"}\n\n') == [{"method": "ping"}]


@pytest.mark.parametrize(
    ("stream", "seconds"), [(b"", 1.0), (b"retry: 0\n", 0.1), (b"retry: 2500\n", 2.5), (b"retry: 999999999\n", 60.0)]
)
def test_no_server_is_asked_again_without_a_pause(stream: bytes, seconds: float) -> None:
    assert messages.retry_s(stream) == seconds
