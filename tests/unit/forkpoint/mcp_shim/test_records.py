"""What of an MCP dialogue is recorded."""

from typing import Any

import pytest

from forkpoint.mcp_shim import records

SAMPLING = "sampling/createMessage"
LOG = "notifications/message"


@pytest.mark.parametrize(
    ("message", "item"),
    [
        ({"id": 1, "method": SAMPLING, "params": {"a": 1, "_meta": {}}}, (SAMPLING, {"a": 1}, True)),
        ({"method": LOG, "params": {"level": "info", "progressToken": 3}}, (LOG, {"level": "info"}, False)),
        ({"method": LOG, "params": ["malformed"]}, (LOG, {}, False)),
        ({"method": LOG}, (LOG, {}, False)),
        ({"method": "notifications/cancelled", "params": {"requestId": 1}}, None),
        ({"id": 1, "result": {}}, None),
    ],
)
def test_messages_are_recorded_without_their_request(message: Any, item: tuple[str, Any, bool] | None) -> None:
    record = records.to_record(message)
    assert (record and (record["method"], record["params"], records.is_question(record))) == item


def test_progress_names_its_request() -> None:
    progress = {"method": "notifications/progress", "params": {"progressToken": 3, "progress": 1}}
    requests: list[Any] = [{"id": 1, "params": {"_meta": {"progressToken": 3}}}, {"id": 2, "params": ["malformed"]}]
    assert [records.is_about(progress, request) for request in requests] == [True, False]
    assert all(records.is_about({"method": LOG}, request) for request in requests)


def test_response_is_a_result_or_an_error() -> None:
    assert records.response_content({"id": 1, "result": {"a": 1, "_meta": {}}}) == {"result": {"a": 1}}
    assert records.response_content({"id": 1, "error": {"code": -1}}) == {"error": {"code": -1}}
    assert records.response_content({"id": 1, "result": None}) == {"result": {}}
