"""Run a sample agent under a real tracer, and read the run that the server recorded of it."""

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2

from tests.clients.environments import environment
from tests.clients.model_server import ModelServer
from tests.clients.otlp.wiretap import Wiretap
from tests.clients.tracers.recording_server import RecordedTrace
from tests.clients.tracers.traced_agents import Tracing
from tests.support.patience import wait_until

_LAUNCH: Final = Path(__file__).parent / "agents/launch.py"
_SWITCHES: Final = {
    "OPENAI_API_KEY": "none",
    "ANTHROPIC_API_KEY": "none",
    "GEMINI_API_KEY": "none",
    "TRACELOOP_API_KEY": "none",
    "TRACELOOP_TELEMETRY": "false",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "OTEL_SERVICE_NAME": "desk",
    "OTEL_METRICS_EXPORTER": "none",
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_LOGS_EXPORTER": "otlp",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
}


@dataclass(frozen=True, kw_only=True)
class Client:
    """A tracer in an environment, the fields that it does not send, and the parameters that it takes from responses."""

    environment: str
    tracer: str
    variables: dict[str, str] = field(default_factory=dict)
    lacks: frozenset[str] = frozenset()
    echoes: frozenset[str] = frozenset()
    tokens_out: int = 9


@dataclass(frozen=True, kw_only=True)
class TracedRun:
    """What an agent printed, and the run with its steps."""

    output: str
    trace: RecordedTrace

    def of_type(self, type: str) -> list[dict[str, Any]]:
        return self.trace.of_type(type)


@dataclass(frozen=True, kw_only=True)
class Desk:
    """The model server, the proxy that retains what a tracer sends, and the server behind it."""

    model: ModelServer
    tap: Wiretap
    tracing: Tracing

    def record(self, client: Client, agent: str, *arguments: str) -> TracedRun:
        """Run an agent; return its only run."""
        addresses = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.tap.url,
            "TRACELOOP_BASE_URL": self.tap.url,
            "OPENAI_BASE_URL": f"{self.model.url}/v1",
            "OPENAI_API_BASE": f"{self.model.url}/v1",
            "ANTHROPIC_BASE_URL": self.model.url,
            "GOOGLE_GEMINI_BASE_URL": self.model.url,
        }
        process = subprocess.run(
            [environment(client.environment), _LAUNCH, client.tracer, agent, *arguments],
            env={**os.environ, **_SWITCHES, **addresses, **client.variables},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert process.returncode == 0, process.stderr[-3000:]
        [trace_id] = {span.trace_id for span in self.tap.spans()}
        return TracedRun(output=process.stdout, trace=self.tracing.recorded(trace_id))

    def check_replay(self, run: TracedRun) -> None:
        """Check that a replay without changes is exact in every step, and makes no call."""
        session = self.tracing.replay_session(run.trace)
        counts = {"live": 0, "exact": session["resolved_steps"], "cached": 0, "simulated": 0}
        assert (session["status"], session["counts"], session["live_calls"]) == ("completed_exact", counts, 0)
        assert session["resolved_steps"] == session["planned_steps"] > 0

    def check_nothing_to_replay(self, run: TracedRun) -> None:
        """Check that a run without a request and an answer is refused for that reason, once it is sealed."""
        url = f"{self.tracing.server_url}/api/v1/replays"

        def refusal() -> str | None:
            code = str(httpx2.post(url, json={"run": run.trace.run["id"]}).json().get("code"))
            return None if code == "source_not_sealed" else code

        assert wait_until(refusal, 30) == "artifact_missing"
