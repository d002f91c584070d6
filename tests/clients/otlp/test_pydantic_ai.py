"""pydantic-ai's own instrumentation, in each format that its two generations offer."""

import pytest

from tests.clients.otlp.checks import check_failure, check_run
from tests.clients.otlp.traced_runs import Client, Desk

FORMATS = [
    *(("pydantic-ai-otlp-1", format) for format in ("1 attributes", "1 logs", "2", "3", "4", "5")),
    *(("pydantic-ai-otlp-2", format) for format in ("2", "3", "4", "5", "6")),
]


def pydantic_ai(environment: str, format: str, api: str = "openai") -> Client:
    # It adds the messages to the span of a call when the answer has come; the agent's span always has them.
    lacks = {"name", "tool_choice", "failed request"}
    if api == "anthropic":
        lacks |= {"reasoning", "max_tokens"}
    variables = {"PYDANTIC_AI_FORMAT": format}
    return Client(environment=environment, tracer="pydantic", variables=variables, lacks=frozenset(lacks))


@pytest.mark.parametrize(("environment", "format"), FORMATS)
@pytest.mark.parametrize("how", ["sync", "stream"])
def test_run_contains_what_the_client_sent(desk: Desk, environment: str, format: str, how: str) -> None:
    client = pydantic_ai(environment, format)
    run = desk.record(client, "pydantic_agent", how, "openai")
    check_run(desk, run, client)
    assert run.trace.steps[0]["output"]["text"] in run.output


@pytest.mark.parametrize("how", ["sync", "stream"])
def test_calls_of_anthropic_are_recorded(desk: Desk, how: str) -> None:
    client = pydantic_ai("pydantic-ai-otlp-2", "5", "anthropic")
    check_run(desk, desk.record(client, "pydantic_agent", how, "anthropic"), client)


@pytest.mark.parametrize(("environment", "format"), FORMATS)
def test_refused_call_is_recorded(desk: Desk, environment: str, format: str) -> None:
    client = pydantic_ai(environment, format)
    check_failure(desk, desk.record(client, "pydantic_agent", "sync", "error"), client)
