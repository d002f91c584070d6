"""Run an agent with the real tracer in its own environment, and compare what was sent with what was recorded."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2

from tests.clients.environments import environment
from tests.clients.tracers.weather_model import ANSWER, recorded_request
from tests.support.patience import wait_until
from tests.support.servers.provider_server import ProviderServer

_AGENTS: Final = Path(__file__).parent / "agents"
_CALL: Final = {"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}}
_ANSWERS: Final = (
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "assistant", "content": ANSWER},
)


@dataclass(frozen=True, kw_only=True)
class RecordedTrace:
    """A sealed run with its steps in full."""

    run: dict[str, Any]
    steps: list[dict[str, Any]]
    judgements: list[dict[str, Any]]

    def of_type(self, type: str) -> list[dict[str, Any]]:
        return [step for step in self.steps if step["type"] == type]


@dataclass(frozen=True, kw_only=True)
class Tracing:
    """The server that records, and the model that the agents call."""

    server_url: str
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

    def recorded(self, external_id: str, *, judgements: int = 0) -> RecordedTrace:
        """Return a run that has ended, once it has so many judgements."""

        def summary() -> dict[str, Any] | None:
            response = httpx2.get(f"{self.server_url}/api/v1/runs/{external_id}")
            return response.json() if response.status_code == 200 and response.json()["status"] != "running" else None

        run = wait_until(summary, 30, lambda: external_id)
        statements = wait_until(lambda: self._judgements(run["id"], judgements), 30)
        listing = self._get(f"runs/{run['id']}/steps")["steps"]
        steps = [self._get(f"runs/{run['id']}/steps/{step['sequence_no']}") for step in listing]
        return RecordedTrace(run=run, steps=steps, judgements=statements[0])

    def replay(self, trace: RecordedTrace) -> str:
        """Replay a run without changes, once it is sealed; return the status of the session."""

        def start() -> Any:
            response = httpx2.post(f"{self.server_url}/api/v1/replays", json={"run": trace.run["id"]})
            return response.json() if response.status_code < 300 else None

        session = wait_until(start, 30)

        def end() -> str | None:
            status = str(self._get(f"replays/{session['id']}")["status"])
            return None if status in ("pending", "running") else status

        return wait_until(end, 60)

    def _judgements(self, run_id: str, count: int) -> list[list[dict[str, Any]]]:
        items = self._get(f"runs/{run_id}/judgements")["judgements"]
        return [items] if len(items) >= count else []

    def _get(self, path: str) -> Any:
        return httpx2.get(f"{self.server_url}/api/v1/{path}").raise_for_status().json()


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
