"""OpenInference's instrumentation of OpenAI's client, in its newest version and in one of two years ago."""

import pytest

from tests.clients.otlp.checks import check_failure, check_run
from tests.clients.otlp.traced_runs import Client, Desk

CLIENTS = [
    Client(environment="openinference-openai", tracer="openinference"),
    Client(environment="openinference-openai-0.1.40", tracer="openinference"),
]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.environment)
@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("how", ["sync", "async", "stream", "async stream"])
def test_run_contains_what_the_client_sent(desk: Desk, client: Client, api: str, how: str) -> None:
    run = desk.record(client, "openai_agent", how, api)
    check_run(desk, run, client)
    metadata = run.trace.run["metadata"]
    assert (metadata["session.id"], metadata["user.id"], metadata["metadata"]) == ("s1", "u1", {"team": "blue"})
    assert run.trace.run["tags"] == ["demo"]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.environment)
@pytest.mark.parametrize("how", ["sync", "async stream"])
def test_refused_call_is_recorded(desk: Desk, client: Client, how: str) -> None:
    check_failure(desk, desk.record(client, "openai_agent", how, "chat", "error"), client)
