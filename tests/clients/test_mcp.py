"""MCP client sessions: each call of a server's tools, with its result or error."""

from pathlib import Path

import pytest

from tests.clients.checks import check_replay
from tests.clients.model_server import ModelServer
from tests.clients.recording import record
from tests.support.command_line import WarmShell
from traces.core.vocabulary import StepStatus, StepType


@pytest.mark.parametrize("version", ["mcp-2", "mcp-1"])
def test_tool_calls_are_recorded(version: str, server: ModelServer, tmp_path: Path, forkpoint: WarmShell) -> None:
    recording = record(version, "mcp_agent", server=server, folder=tmp_path)
    weather, time, failure = recording.steps(StepType.TOOL)
    assert (weather.tool_name, weather.input, weather.output) == (
        "get_weather",
        {"city": "Zürich"},
        "21 degrees in Zürich",
    )
    assert (time.tool_name, time.input, time.output) == ("get_time", {"city": "Zürich"}, "noon in Zürich")
    assert failure.status is StepStatus.ERROR
    # The second generation of the server does not show its error to clients.
    assert "Error executing tool get_weather" in failure.error
    check_replay(recording, forkpoint)
