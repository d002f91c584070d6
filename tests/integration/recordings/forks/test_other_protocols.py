"""Forks whose override names a provider with another protocol: real clients read its translated answers."""

from pathlib import Path

import pytest

from tests.clients.environments import environment
from tests.clients.model_server import ANSWER, ModelServer
from tests.integration.recordings.forks.test_model_calls import new, profile
from tests.services.server import Server
from tests.support.gateway_agents import AGENTS, ALLOW_TOOLS, CLIENT_AGENTS, GENAI_AGENT
from tests.support.gateway_runs import PYTHON, fork_of, record, rerun, run_of

FRAMEWORK = pytest.mark.framework


@pytest.mark.parametrize(
    ("agent", "form", "provider", "path"),
    [
        ("chat", "stream", "my-claude", "/v1/messages"),
        ("anthropic", "plain", "second-openai", "/second/chat/completions"),
        pytest.param("chat", "plain", "my-claude", "/v1/messages", marks=FRAMEWORK),
        pytest.param("responses", "plain", "my-claude", "/v1/messages", marks=FRAMEWORK),
        pytest.param("responses", "stream", "my-claude", "/v1/messages", marks=FRAMEWORK),
        pytest.param("anthropic", "stream", "second-openai", "/second/chat/completions", marks=FRAMEWORK),
        pytest.param("gemini", "plain", "my-claude", "/v1/messages", marks=FRAMEWORK),
        pytest.param("gemini", "stream", "second-openai", "/second/chat/completions", marks=FRAMEWORK),
    ],
)
def test_provider_with_another_protocol_is_asked(
    server: Server, models: ModelServer, tmp_path: Path, agent: str, form: str, provider: str, path: str
) -> None:
    # Only the answers of the fork need a client to read them; the others send the same requests.
    recorded, program = (GENAI_AGENT,) * 2 if agent == "gemini" else (AGENTS[agent], CLIENT_AGENTS[agent])
    # Else the answer of another fork would be known.
    recorded, program = (
        each.replace("Weather and time?", f"Weather and time for {agent} {form}?") for each in (recorded, program)
    )
    interpreter = [str(environment("genai-3"))] if agent == "gemini" else PYTHON
    run = run_of(record(server, recorded, form, python=interpreter))
    before = len(models.requests)
    overrides = profile(tmp_path, {"match": {"type": "model"}, "model": {"provider": provider, "model": "m3"}})
    options = [*ALLOW_TOOLS, "--overrides", overrides, "--live"]
    result = rerun(server, run, program, form, options=options, python=interpreter)
    assert (result.returncode, result.stdout.strip()) == (0, ANSWER), result.stderr
    assert [(path, body["model"]) for path, body in new(models, before)] == [(path, "m3")] * 3
    # The last request has the results of both turns.
    assert str(new(models, before)[-1][1]["messages"]).count("fine") == 3
    steps = [step for step in fork_of(server, result)[0].steps(3) if step["type"] == "model"]
    assert [(step["provider"], step["model"], step["label"]) for step in steps] == [(provider, "m3", "simulated")] * 3
    assert steps[0]["tokens_in"] is not None


@pytest.mark.parametrize(
    ("agent", "change", "provider", "problem"),
    [
        ("chat", ('"messages": messages', '"seed": 7, "messages": messages'), "my-claude", "the settings seed"),
        ("chat", ('"content": "Weather', '"cache_control": {}, "content": "Weather'), "my-claude", "cache_control"),
        ("anthropic", ('"max_tokens": 100', '"max_tokens": 100, "top_k": 3'), "second-openai", "the settings top_k"),
    ],
)
def test_request_that_no_other_protocol_expresses_is_refused(
    server: Server,
    models: ModelServer,
    tmp_path: Path,
    agent: str,
    change: tuple[str, str],
    provider: str,
    problem: str,
) -> None:
    program = AGENTS[agent].replace(*change)
    assert program != AGENTS[agent]
    run = run_of(record(server, program, "plain"))
    before = len(models.requests)
    overrides = profile(tmp_path, {"match": {"type": "model"}, "model": {"provider": provider, "model": "m3"}})
    options = [*ALLOW_TOOLS, "--overrides", overrides, "--live"]
    result = rerun(server, run, program, "plain", options=options)
    assert (result.returncode, new(models, before)) == (5, []), result.stderr
    assert problem in result.stderr
