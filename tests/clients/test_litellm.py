"""LiteLLM: recorded once, by OpenAI's client where LiteLLM uses it, else by itself."""

from pathlib import Path

import pytest

from tests.clients.checks import check_error, check_model_calls, check_replay
from tests.clients.model_server import ModelServer
from tests.clients.recording import record
from tests.support.command_line import WarmShell
from traces.core.vocabulary import StepType

VERSIONS = ("litellm-1.110", "litellm-1.106")
MODELS = {"openai": "openai/gpt-4o-mini", "anthropic": "anthropic/claude-opus-5"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", ["sync", "async", "stream", "async stream"])
@pytest.mark.parametrize("provider", MODELS)
def test_calls_are_recorded_as_sent(
    version: str, how: str, provider: str, server: ModelServer, tmp_path: Path, forkpoint: WarmShell
) -> None:
    recording = record(version, "litellm_agent", how, MODELS[provider], server=server, folder=tmp_path)
    check_model_calls(recording, server)
    assert recording.steps(StepType.MODEL)[0].provider == provider
    check_replay(recording, forkpoint)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("provider", MODELS)
def test_errors_are_recorded(version: str, provider: str, server: ModelServer, tmp_path: Path) -> None:
    check_error(
        record(version, "litellm_agent", "sync", MODELS[provider], "error", server=server, folder=tmp_path), server
    )
