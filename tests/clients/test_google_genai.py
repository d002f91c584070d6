"""Google's client: every request as it was sent, and the functions that it calls."""

from pathlib import Path

import pytest

from tests.clients.checks import check_error, check_model_calls, check_replay, check_tools
from tests.clients.model_server import ModelServer
from tests.clients.recording import record
from tests.support.command_line import WarmShell
from traces.core.json_access import as_list, as_object
from traces.core.vocabulary import StepType

VERSIONS = ("genai-3", "genai-2")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", ["sync", "async"])
def test_calls_are_recorded_as_sent(
    version: str, how: str, server: ModelServer, tmp_path: Path, forkpoint: WarmShell
) -> None:
    recording = record(version, "genai_agent", how, server=server, folder=tmp_path)
    check_model_calls(recording, server, reasons=("stop", "stop", "stop"))
    check_tools(recording, with_ids=False)
    first = recording.steps(StepType.MODEL)[0]
    assert (first.provider, first.model) == ("google", "gemini-2.5-flash")
    request = as_object(first.input)
    assert as_list(request["messages"])[0] == {"role": "system", "content": "Be brief."}
    assert request["parameters"] == {"temperature": 0.2, "max_tokens": 100}
    check_replay(recording, forkpoint)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", ["stream", "async stream"])
def test_streams_are_recorded_as_sent(
    version: str, how: str, server: ModelServer, tmp_path: Path, forkpoint: WarmShell
) -> None:
    recording = record(version, "genai_agent", how, server=server, folder=tmp_path)
    assert recording.requests() == [body for _, body in server.requests]
    answer = as_object(as_object(recording.steps(StepType.MODEL)[-1].output)["message"])
    assert str(answer["content"]) in recording.output
    check_replay(recording, forkpoint)


@pytest.mark.parametrize("version", VERSIONS)
def test_errors_are_recorded(version: str, server: ModelServer, tmp_path: Path) -> None:
    check_error(record(version, "genai_agent", "sync", "error", server=server, folder=tmp_path), server)
