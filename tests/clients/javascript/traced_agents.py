"""Run an agent in Node, and compare what its model received and answered with what was recorded."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.clients.javascript.environments import WITH_NODE, environment
from tests.clients.model_server import ANSWER, CALLS, ModelServer
from tests.clients.tracers.recording_server import RecordedTrace, RecordingServer
from tests.clients.tracers.weather_model import recorded_request

_AGENTS: Final = Path(__file__).parent / "agents"
_RESULTS: Final = {"get_weather": "21 degrees in {}", "get_time": "noon in {}"}


@dataclass(frozen=True, kw_only=True)
class NodeAgents(RecordingServer):
    """The server that records, and the model that the agents call."""

    model: ModelServer

    def run(self, environment_name: str, agent: str, *, judgements: int = 0, **variables: str) -> RecordedTrace:
        """Run an agent, which prints the id of its trace; return the trace once it is recorded."""
        folder = environment(environment_name)
        # Node looks for packages beside the file.
        for script in ("desk", agent):
            shutil.copy(_AGENTS / f"{script}.mjs", folder)
        process = subprocess.run(
            [WITH_NODE, "node", folder / f"{agent}.mjs"],
            env={
                **os.environ,
                "OPENAI_API_KEY": "none",
                "OPENAI_BASE_URL": f"{self.model.url}/v1",
                "OTEL_EXPORTER_OTLP_ENDPOINT": self.server_url,
                **variables,
            },
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert process.returncode == 0, process.stderr[-3000:]
        return self.recorded(process.stdout.strip(), judgements=judgements)


def check_requests(trace: RecordedTrace, model: ModelServer) -> None:
    """Compare the model steps with the requests that the model received."""
    calls = trace.of_type("model")
    assert len(calls) == len(model.requests)
    for step, (_, body) in zip(calls, model.requests, strict=True):
        # Without the members that are null, such as `refusal`.
        sent = [{name: value for name, value in message.items() if value is not None} for message in body["messages"]]
        request = recorded_request({**body, "messages": sent})
        messages = [{"content": None, **message} for message in step["input"]["messages"]]
        problem = f"{messages} {step['input']['tools']} recorded, {request} sent"
        assert {"messages": messages, "tools": step["input"]["tools"]} == request, problem
        assert step["input"]["parameters"].items() >= {"temperature": 0.2, "max_tokens": 100}.items()


def check_answers(trace: RecordedTrace) -> None:
    """Compare the model steps with the answers of the model: messages, calls and tokens."""
    check_messages(trace)
    calls = trace.of_type("model")
    assert [(step["tokens_in"], step["tokens_out"], step["tokens_cached"]) for step in calls] == [(30, 9, 4)] * 3
    assert all("easoning" in str(step["attributes"]) for step in calls)


def check_messages(trace: RecordedTrace) -> None:
    """Compare the model steps with the messages and calls that the model answered."""
    messages = [step["output"]["message"] for step in trace.of_type("model")]
    assert [message.get("tool_calls", []) for message in messages] == [
        [
            {"id": f"call_{turn}{number}", "name": name, "arguments": {"city": city}}
            for number, (name, city) in enumerate(requests)
        ]
        for turn, requests in enumerate((*CALLS, ()))
    ]
    assert [message["content"] for message in messages] == [None, None, ANSWER]


def check_tools(trace: RecordedTrace) -> None:
    """Compare the tool steps with the calls that the model requested."""
    tools = trace.of_type("tool")
    requests = {
        f"call_{turn}{number}": request for turn, calls in enumerate(CALLS) for number, request in enumerate(calls)
    }
    assert sorted((step["tool_name"], step["input"]["city"]) for step in tools) == sorted(requests.values())
    assert all(step["output"] == _RESULTS[step["tool_name"]].format(step["input"]["city"]) for step in tools)
    assert {step["call_id"]: (step["tool_name"], step["input"]["city"]) for step in tools} == requests
