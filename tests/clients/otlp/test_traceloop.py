"""Traceloop (OpenLLMetry) on OpenAI's and Anthropic's clients: the newest version, and one with indexed attributes."""

import pytest

from tests.clients.otlp.checks import check_failure, check_run
from tests.clients.otlp.traced_runs import Client, Desk

NEW, OLD = "traceloop-0.62", "traceloop-0.47"
WAYS = ("sync", "async", "stream", "async stream")
# What the client does not send, by environment and agent.
LACKS = {
    (NEW, "openai_agent chat"): {"seed"},
    (NEW, "openai_agent responses"): {"id", "tool_call_id"},
    (NEW, "anthropic_agent"): {"temperature", "reasoning"},
    (OLD, "openai_agent chat"): {"seed"},
    (OLD, "anthropic_agent"): {"temperature", "reasoning", "max_tokens"},
}
# The older version sends only the last of parallel calls that Anthropic streams.
CASES = [(*case, how) for case in LACKS for how in WAYS if case != (OLD, "anthropic_agent") or "stream" not in how]


def traceloop(environment: str, agent: str, how: str) -> Client:
    is_stream = "stream" in how
    lacks = LACKS[environment, agent] | ({"reasoning"} if is_stream and agent == "openai_agent chat" else set())
    # It adds the count at the start of Anthropic's stream to that at its end.
    tokens_out = 10 if is_stream and agent == "anthropic_agent" else 9
    return Client(environment=environment, tracer="traceloop", lacks=frozenset(lacks), tokens_out=tokens_out)


@pytest.mark.parametrize(("environment", "agent", "how"), CASES)
def test_run_contains_what_the_client_sent(desk: Desk, environment: str, agent: str, how: str) -> None:
    client, [name, *api] = traceloop(environment, agent, how), agent.split()
    run = desk.record(client, name, how, *api)
    check_run(desk, run, client)
    metadata = run.trace.run["metadata"]
    assert (metadata["session.id"], metadata["user.id"]) == ("s1", "u1")


# The older version sends no span of a call that Anthropic refused.
@pytest.mark.parametrize(("environment", "agent"), [case for case in LACKS if case != (OLD, "anthropic_agent")])
def test_refused_call_is_recorded(desk: Desk, environment: str, agent: str) -> None:
    client, [name, *api] = traceloop(environment, agent, "sync"), agent.split()
    check_failure(desk, desk.record(client, name, "sync", *api, "error"), client)
