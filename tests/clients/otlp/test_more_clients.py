"""LangChain and other clients, whose tracers write envelopes of their own."""

import pytest

from tests.clients.model_server import ANSWER
from tests.clients.otlp.checks import check_model_calls, check_run, check_tools
from tests.clients.otlp.traced_runs import Client, Desk


def client(environment: str, *lacks: str, echoes: tuple[str, ...] = ()) -> Client:
    tracer = environment.partition("-")[0]
    return Client(environment=environment, tracer=tracer, lacks=frozenset(lacks), echoes=frozenset(echoes))


@pytest.mark.parametrize("how", ["sync", "async stream"])
@pytest.mark.parametrize(
    ("environment", "api", "lacks"),
    [
        ("openinference-langchain", "chat", ["name"]),
        ("openinference-langchain", "responses", ["name", "reason"]),
        ("traceloop-langchain", "chat", ["name", "reasoning"]),
    ],
)
def test_langchain(desk: Desk, environment: str, api: str, lacks: list[str], how: str) -> None:
    # The tracers write the envelopes of LangChain's messages, of which the contents are compared.
    tracer = client(environment, *lacks)
    run = desk.record(tracer, "langchain_agent", how, api)
    check_model_calls(desk, run, tracer)
    check_tools(run)
    desk.check_replay(run)


@pytest.mark.parametrize("how", ["sync", "stream"])
def test_anthropic(desk: Desk, how: str) -> None:
    tracer = client("openinference-anthropic", "reasoning", echoes=("extra_body",))
    check_run(desk, desk.record(tracer, "anthropic_agent", how), tracer)


@pytest.mark.parametrize("how", ["sync", "stream"])
def test_litellm(desk: Desk, how: str) -> None:
    tracer = client("openinference-litellm")
    check_run(desk, desk.record(tracer, "litellm_agent", how, "gpt-4o-mini"), tracer)


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_agents_sdk_has_one_step_per_call(desk: Desk, api: str) -> None:
    tracer = client("traceloop-agents", "id", "tool_call_id", echoes=("temperature", "top_p"))
    run = desk.record(tracer, "agents_agent", "async", api)
    check_model_calls(desk, run, tracer)
    check_tools(run)
    desk.check_replay(run)


@pytest.mark.parametrize("how", ["sync", "stream"])
def test_calls_that_geminis_client_makes_are_in_its_step(desk: Desk, how: str) -> None:
    run = desk.record(client("openinference-genai"), "genai_agent", how)
    step = run.of_type("model")[0]
    assert [message["role"] for message in step["input"]["messages"]] == ["system", "user"]
    assert step["input"]["parameters"] == {"temperature": 0.2, "max_tokens": 100}
    assert [tool["parameters"]["required"] for tool in step["input"]["tools"]] == [["city"], ["city"]]
    assert step["output"]["message"]["content"] == ANSWER
    desk.check_replay(run)
