"""Kurral files with unusual content: streams that broke off, runs that called nothing."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source


def read(artifact: dict[str, Any]) -> RecordedRun:
    (run,) = registry.get_importer("kurral").runs([Source(name="a.kurral", data=orjson.dumps(artifact))])
    return run


def streamed(*events: tuple[str, Any], **more: Any) -> RecordedStep:
    listed = [{"event_type": kind, "data": data} for kind, data in events]
    call = {"id": "c", "tool_name": "count_books", "arguments": {}, "was_sse": True, "events": listed, **more}
    (tool,) = fixtures.steps(read({"mcp_session_id": "m", "mcp_tool_calls": [call]}), StepType.TOOL)
    return tool


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (("complete", {"books": 3}), ({"books": 3}, "", StepStatus.OK)),
        (("message", "three"), ("three", "", StepStatus.OK)),
        (("message", '{"jsonrpc":"2.0","id":1,"result":{"books":3}}'), ({"books": 3}, "", StepStatus.OK)),
        (
            ("message", {"jsonrpc": "2.0", "error": {"code": 1, "message": "locked"}}),
            (None, "locked", StepStatus.ERROR),
        ),
        (("error", {"message": "locked"}), (None, "locked", StepStatus.ERROR)),
        (("error", "locked"), (None, "locked", StepStatus.ERROR)),
        (("error", None), (None, "error", StepStatus.ERROR)),
        (("progress", {"done": 0.5}), ({"done": 0.5}, "", StepStatus.PARTIAL)),
    ],
)
def test_a_stream_without_result_takes_its_last_event(last: tuple[str, Any], expected: tuple[Any, ...]) -> None:
    tool = streamed(("start", {}), last)
    assert (tool.output, tool.error, tool.status) == expected


def test_a_result_counts_more_than_events() -> None:
    assert streamed(("complete", {"books": 3}), result={"books": 4}).output == {"books": 4}
    failed = streamed(("complete", {"books": 3}), error={"message": "locked"})
    assert (failed.status, failed.error, failed.output) == (StepStatus.ERROR, "locked", None)


def test_a_run_that_called_nothing_imports() -> None:
    run = read({"kurral_id": "k", "tool_calls": [], "inputs": {}, "outputs": {}})
    assert (run.external_id, [step.type for step in run.steps]) == ("k", [StepType.AGENT])
