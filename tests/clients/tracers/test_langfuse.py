"""Langfuse's Python clients, each in its newest version of 2 to 5."""

import pytest

from tests.clients.tracers.recording_server import RecordedTrace
from tests.clients.tracers.traced_agents import Tracing, check_model_calls

_PARAMETERS = {"temperature": 0.2, "seed": 7, "max_tokens": 100}


def _record(tracing: Tracing, version: str, agent: str, *, judgements: int = 0) -> RecordedTrace:
    keys = {"LANGFUSE_PUBLIC_KEY": "any", "LANGFUSE_SECRET_KEY": "any"}
    addresses = {"LANGFUSE_HOST": tracing.server_url, "LANGFUSE_BASE_URL": tracing.server_url}
    output = tracing.run(f"langfuse-{version}", agent, **keys, **addresses)
    return tracing.recorded(output.strip(), judgements=judgements)


@pytest.mark.parametrize(
    ("version", "agent"),
    [("2", "langfuse_2"), ("3", "langfuse_otel"), ("4", "langfuse_otel"), ("5", "langfuse_otel")],
)
def test_run_contains_what_the_client_sent(tracing: Tracing, version: str, agent: str) -> None:
    trace = _record(tracing, version, agent, judgements=2)
    check_model_calls(trace, tracing.model, parameters=_PARAMETERS)
    [tool] = trace.of_type("tool")
    assert (tool["input"], tool["output"]) == ({"city": "Paris"}, "rainy, 57F")
    assert [("this fails" in step["error"], step["status"]) for step in trace.of_type("model") if step["error"]] == [
        (True, "error")
    ]
    scores = {item["name"]: (item["kind"], item["value"], item["text"], item["step"]) for item in trace.judgements}
    assert scores["helpful"] == ("score", 0.75, "well done", None)
    assert scores["tone"][:3] == ("note", None, "calm")
    if version == "2":
        assert (trace.run["metadata"]["userId"], trace.run["metadata"]["sessionId"]) == ("u1", "s1")
        assert trace.run["tags"] == ["demo"]
    assert tracing.replay(trace) == "completed_exact"


@pytest.mark.parametrize("version", ["3", "4", "5"])
def test_uploaded_image_is_in_the_message(tracing: Tracing, version: str) -> None:
    [call] = _record(tracing, version, "langfuse_image").of_type("model")
    [sent] = tracing.model.requests
    assert call["input"]["messages"] == sent.body["messages"]
