"""OpenTelemetry's own instrumentation of OpenAI's client: messages in events, in log records and in attributes."""

import pytest

from tests.clients.otlp.checks import check_failure, check_run
from tests.clients.otlp.traced_runs import Client, Desk

_LACKS = frozenset({"tools", "cached", "reasoning"})
_EXPERIMENTAL = {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental"}
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

CLIENTS = {
    "2.1 events": Client(environment="genai-openai-2.1", tracer="genai", lacks=_LACKS),
    "2.3 events": Client(environment="genai-openai-2.3", tracer="genai", lacks=_LACKS),
    **{
        f"2.4 {capture}": Client(
            environment="genai-openai-2.4", tracer="genai", variables={**_EXPERIMENTAL, _CAPTURE: capture}, lacks=_LACKS
        )
        for capture in ("span_only", "event_only", "span_and_event")
    },
}


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("how", ["sync", "async", "stream", "async stream"])
def test_run_contains_what_the_client_sent(desk: Desk, name: str, how: str) -> None:
    run = desk.record(CLIENTS[name], "openai_agent", how, "chat")
    check_run(desk, run, CLIENTS[name])
    assert run.trace.run["metadata"]["gen_ai.conversation.id"] == "s1"


@pytest.mark.parametrize("name", CLIENTS)
def test_refused_call_is_recorded(desk: Desk, name: str) -> None:
    check_failure(desk, desk.record(CLIENTS[name], "openai_agent", "sync", "chat", "error"), CLIENTS[name])
