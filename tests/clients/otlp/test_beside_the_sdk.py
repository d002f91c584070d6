"""A user's own OpenTelemetry and the SDK in one process, both sending here: each records each call once."""

import json
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.clients.environments import ROOT
from tests.clients.otlp.checks import check_run
from tests.clients.otlp.traced_runs import Client, Desk, TracedRun

# OpenInference instruments OpenAI's client, and OpenTelemetry the requests of the standard library.
OPENAI = ("beside-openai", "openinference", "openai_agent", "chat")
PYDANTIC_AI = ("pydantic-ai-otlp-2", "pydantic", "pydantic_agent", "openai")


def beside(desk: Desk, environment: str, tracer: str, order: str, app: str) -> Client:
    variables = {
        "BESIDE": f"{tracer} {order}",
        "PYDANTIC_AI_FORMAT": "5",
        "PYTHONPATH": str(ROOT),
        "FORKPOINT_URL": desk.tracing.server_url,
        "FORKPOINT_APP": app,
    }
    lacks = {"name", "tool_choice"} if tracer == "pydantic" else set()
    return Client(environment=environment, tracer="beside", variables=variables, lacks=frozenset(lacks))


def runs_of(desk: Desk, app: str) -> list[dict[str, Any]]:
    response = httpx2.get(f"{desk.tracing.server_url}/api/v1/runs", params={"app": app})
    runs: list[dict[str, Any]] = response.raise_for_status().json()["runs"]
    return runs


@pytest.mark.parametrize(("environment", "tracer", "agent", "api"), [OPENAI, PYDANTIC_AI])
@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("how", ["sync", "stream"])
def test_both_record_each_call_once(
    desk: Desk, environment: str, tracer: str, agent: str, api: str, order: str, how: str
) -> None:
    app = f"desk-{uuid4().hex[:8]}"
    client = beside(desk, environment, tracer, order, app)
    # Fails if the tracer sent more than one trace, such as of the SDK's own requests.
    run = desk.record(client, agent, how, api)
    check_run(desk, run, client)
    [own] = runs_of(desk, app)
    trace = desk.tracing.recorded(own["external_id"])
    requests = [body for _, body in desk.model.requests]
    models = trace.of_type("model")
    assert [step["input"]["messages"][-1]["role"] for step in models] == [
        body["messages"][-1]["role"] for body in requests
    ]
    assert [step["input"]["parameters"].get("seed") for step in models] == [body.get("seed") for body in requests]
    assert len(trace.of_type("tool")) == (3 if tracer == "pydantic" else 0)
    assert json.dumps(trace.steps).count(run.trace.run["external_id"]) == 0
    desk.check_replay(TracedRun(output=run.output, trace=trace))


@pytest.mark.parametrize("framework", ["smolagents", "crewai"])
def test_frameworks_under_openinference_are_recorded_once_by_each(desk: Desk, framework: str) -> None:
    app = f"desk-{uuid4().hex[:8]}"
    client = beside(desk, f"openinference-{framework}", "openinference", "before", app)
    run = desk.record(client, f"{framework}_agent", "sync")
    [own] = runs_of(desk, app)
    trace = desk.tracing.recorded(own["external_id"])
    tools = {"smolagents": 4, "crewai": 3}[framework]
    for recorded in (run.trace, trace):
        assert len(recorded.of_type("model")) == len(desk.model.requests) == 3
        assert len(recorded.of_type("tool")) == tools
    desk.check_replay(TracedRun(output=run.output, trace=trace))
