"""Run a sample agent with the real client library, and read what was recorded of it."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forkpoint.bootstrap import child_environment
from tests.clients.environments import environment
from tests.clients.model_server import ModelServer
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.files.source import Source
from traces.importers.formats.tracing import forkpoint_events

AGENTS = Path(__file__).parent / "agents"


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What an agent printed, its recorded events, and the run that the importer makes of them."""

    folder: Path
    output: str
    events: list[dict[str, Any]]
    run: RecordedRun

    def requests(self) -> list[Any]:
        """Return the recorded request bodies in the order of the calls."""
        return [event["payload"]["request"] for event in self.events if event["event_type"] == "model_called"]

    def steps(self, *types: StepType) -> list[RecordedStep]:
        return [step for step in self.run.steps if step.type in types]


def record(name: str, agent: str, *arguments: str, server: ModelServer, folder: Path) -> Recording:
    """Run an agent in an environment as `forkpoint record` does, and import the one run that it recorded."""
    variables = {
        **{key: value for key, value in os.environ.items() if not key.startswith("FORKPOINT_")},
        "FORKPOINT_TRACES": str(folder),
        "FORKPOINT_APP": "desk",
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "OPENAI_API_BASE": f"{server.url}/v1",
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": server.url,
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": server.url,
        "GEMINI_API_BASE": server.url,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "OPENAI_AGENTS_DISABLE_TRACING": "",
        "CREWAI_DISABLE_TELEMETRY": "true",
        "PYTHONDONTWRITEBYTECODE": "",
    }
    process = subprocess.run(
        [environment(name), AGENTS / f"{agent}.py", *arguments],
        env=child_environment(variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert "forkpoint" not in process.stderr, process.stderr
    [path] = folder.glob("*.jsonl")
    source = Source(name=path.name, data=path.read_bytes())
    [run] = forkpoint_events.parse([source])
    assert source.problems == []
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return Recording(folder=folder, output=process.stdout.strip(), events=events, run=run)
