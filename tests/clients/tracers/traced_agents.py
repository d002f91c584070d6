"""Run an agent with the real tracer in its own environment, and compare what was sent with what was recorded."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.clients.environments import environment
from tests.clients.tracers.recording_server import RecordedTrace, RecordingServer
from tests.clients.tracers.weather_model import ANSWER, recorded_request
from tests.support.servers.provider_server import ProviderServer

_AGENTS: Final = Path(__file__).parent / "agents"
_CALL: Final = {"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}}
_ANSWERS: Final = (
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "assistant", "content": ANSWER},
)


@dataclass(frozen=True, kw_only=True)
class Tracing(RecordingServer):
    """The server that records, and the model that the agents call."""

    model: ProviderServer

    def run(self, environment_name: str, agent: str, **variables: str) -> str:
        """Run an agent; return what it printed."""
        process = subprocess.run(
            [environment(environment_name), _AGENTS / f"{agent}.py"],
            env={
                **os.environ,
                "OPENAI_API_KEY": "none",
                "OPENAI_BASE_URL": f"{self.model.base_url}/v1",
                **variables,
            },
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert process.returncode == 0, process.stderr[-3000:]
        return process.stdout


def check_model_calls(trace: RecordedTrace, model: ProviderServer, *, parameters: dict[str, Any]) -> None:
    """Compare the model steps with the requests that the model received, and with its answers."""
    calls = trace.of_type("model")
    assert len(calls) == len(model.requests)
    for step, exchange in zip(calls, model.requests, strict=True):
        recorded = {name: step["input"][name] for name in ("messages", "tools") if name in step["input"]}
        messages = [{"content": None, **item} for item in recorded["messages"]]
        for message in messages:
            # LangGraph names the tool in its trace, but not in the request to the model.
            message.pop("name", None)
        assert {**recorded, "messages": messages} == recorded_request(exchange.body)
    answers = [step for step in calls if not step["error"]]
    assert [{"content": None, **step["output"]["message"]} for step in answers] == list(_ANSWERS)
    assert parameters.items() <= answers[0]["input"]["parameters"].items()
    for step in answers:
        assert (step["tokens_in"], step["tokens_out"], step["tokens_cached"]) == (42, 9, 16)
        assert "'reasoning" in str(step["attributes"]) or '"reasoning' in str(step["attributes"])
