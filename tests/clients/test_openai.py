"""OpenAI's client: every request as it was sent, in every way of calling it."""

from pathlib import Path

import pytest

from tests.clients.checks import check_error, check_model_calls, check_replay
from tests.clients.model_server import ModelServer
from tests.clients.recording import record
from tests.support.command_line import WarmShell
from traces.core.vocabulary import StepType

VERSIONS = ("openai-3", "openai-2")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", ["sync", "async", "stream", "async stream", "raw"])
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_calls_are_recorded_as_sent(
    version: str, how: str, api: str, server: ModelServer, tmp_path: Path, forkpoint: WarmShell
) -> None:
    recording = record(version, "openai_agent", how, api, server=server, folder=tmp_path)
    check_model_calls(recording, server)
    first = recording.steps(StepType.MODEL)[0]
    assert (first.provider, first.model) == ("openai", "gpt-4o-mini")
    check_replay(recording, forkpoint)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", ["sync", "async stream"])
def test_errors_are_recorded(version: str, how: str, server: ModelServer, tmp_path: Path) -> None:
    recording = record(version, "openai_agent", how, "chat", "error", server=server, folder=tmp_path)
    assert recording.output == "BadRequestError"
    check_error(recording, server)
